// Functions shared by operations on regions of images.
#include "compute/image/region.h"

#include <cstring>

#include "compute/cast_items.h"
#include "compute/real_types.h"
#include "data/error.h"

namespace penstock {

std::vector<int64_t> IntegersFrom(const Operand& operand, const std::vector<Tensor>& inputs,
                                  size_t first, size_t count) {
  std::vector<int64_t> values;
  for (size_t i = first; i < inputs.size(); ++i) {
    const Tensor& tensor = inputs[i];
    if (!IsInteger(tensor.dtype().code)) {
      throw Error(ErrorKind::kType, "{}: {} must be integers, got {}", std::string_view(operand.op),
                  std::string_view(operand.argument), tensor.dtype().name());
    }
    size_t before = values.size();
    values.resize(before + static_cast<size_t>(tensor.elements()));
    CastItems(tensor.dtype().code, tensor.data(), TypeCode::kInt64, values.data() + before,
              values.size() - before);
  }
  if (values.size() != count) {
    throw Error(ErrorKind::kInvalidArgument, "{}: {} must be {} integers altogether, got {}",
                std::string_view(operand.op), std::string_view(operand.argument), count,
                values.size());
  }
  return values;
}

void CopyRegion(const Tensor& images, const Region& region, Tensor& out, int64_t y, int64_t x) {
  const Shape& from = images.shape();
  const Shape& to = out.shape();
  int first = from.rank() - 3;
  if (images.elements() == 0 || out.elements() == 0) return;
  const int64_t pixel = from[first + 2] * images.dtype().itemsize;
  const int64_t in_row = from[first + 1] * pixel, out_row = to[first + 1] * pixel;
  const int64_t count = first ? from[0] : 1;
  for (int64_t n = 0; n < count; ++n) {
    const uint8_t* in = images.data() + (n * from[first] + region.y) * in_row + region.x * pixel;
    uint8_t* row = out.mutable_data() + (n * to[first] + y) * out_row + x * pixel;
    if (in_row == out_row && region.width * pixel == in_row) {
      std::memcpy(row, in, static_cast<size_t>(region.height * in_row));
      continue;
    }
    for (int64_t i = 0; i < region.height; ++i, in += in_row, row += out_row) {
      std::memcpy(row, in, static_cast<size_t>(region.width * pixel));
    }
  }
}

Shape ResizedShape(const Shape& images, int64_t height, int64_t width) {
  Shape shape = images;
  shape[shape.rank() - 3] = height;
  shape[shape.rank() - 2] = width;
  return shape;
}

}  // namespace penstock
