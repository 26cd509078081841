// Separable resampling with filters: rows first, on contiguous memory, then columns.
#include <algorithm>
#include <vector>

#include "compute/cast_items.h"
#include "compute/image/resize.h"

namespace penstock {
namespace {

// The number of values of a row that are summed together: their sums stay in the L1 cache.
constexpr int64_t kStrip = 2048;

// Weighted sums of rows of `values` items each.
class RowFilter {
 public:
  RowFilter(TypeCode type, int64_t values)
      : type_(type),
        itemsize_(DType::Of(type).itemsize),
        values_(values),
        loops_(ResizeLoopsOf(ChosenInstructionSet())),
        convert_(FindCast(type, TypeCode::kFloat32)),
        converted_(static_cast<size_t>(std::min(values, kStrip))) {}

  // `in` is the image.
  void Run(const uint8_t* in, const FilterSpan& span, const float* weights, float* sum) {
    std::fill(sum, sum + values_, 0.0f);
    for (int64_t begin = 0; begin < values_; begin += kStrip) {
      const int64_t count = std::min(kStrip, values_ - begin);
      for (int64_t k = 0; k < span.count; ++k) {
        Add(in + ((span.first + k) * values_ + begin) * itemsize_, weights[k], count, sum + begin);
      }
    }
  }

 private:
  void Add(const uint8_t* in, float weight, int64_t count, float* sum) {
    if (type_ == TypeCode::kUInt8) {
      loops_.add_bytes(in, weight, count, sum);
    } else if (type_ == TypeCode::kFloat32) {
      loops_.add_floats(reinterpret_cast<const float*>(in), weight, count, sum);
    } else {
      convert_(in, converted_.data(), static_cast<size_t>(count));
      loops_.add_floats(converted_.data(), weight, count, sum);
    }
  }

  const TypeCode type_;
  const int64_t itemsize_, values_;
  const ResizeLoops& loops_;
  const CastLoop convert_;
  std::vector<float> converted_;
};

// Processes images sequentially, row by row.
class Filtered final : public Rows {
 public:
  Filtered(const uint8_t* in, TypeCode type, const ImageBatch& from, Filter rows, Filter columns)
      : in_(in),
        image_(from.height * from.width * from.channels * DType::Of(type).itemsize),
        out_row_(static_cast<int64_t>(columns.spans.size()) * from.channels),
        channels_(from.channels),
        rows_(std::move(rows)),
        columns_(std::move(columns)),
        filter_rows_(type, from.width * from.channels),
        filter_columns_(ResizeLoopsOf(ChosenInstructionSet()).FilterOf(from.channels)),
        sum_(static_cast<size_t>(from.width * from.channels + kSpareFloats)),
        result_(static_cast<size_t>(out_row_ + kSpareFloats)) {}

  void Next(Tensor& made) override {
    auto* out = reinterpret_cast<float*>(made.mutable_data());
    for (int64_t rows = made.shape()[0]; rows > 0; --rows) {
      if (next_ == rows_.spans.size()) {
        next_ = 0;
        in_ += image_;
      }
      const FilterSpan& span = rows_.spans[next_++];
      filter_rows_.Run(in_, span, rows_.weights.data() + span.weights, sum_.data());
      filter_columns_(sum_.data(), columns_.spans.data(),
                      static_cast<int64_t>(columns_.spans.size()), columns_.weights.data(),
                      channels_, result_.data());
      out = std::copy_n(result_.data(), out_row_, out);
    }
  }

 private:
  const uint8_t* in_;
  const int64_t image_;  // bytes per image
  const int64_t out_row_, channels_;
  const Filter rows_, columns_;
  RowFilter filter_rows_;
  const ResizeLoops::FilterColumns filter_columns_;
  std::vector<float> sum_, result_;  // with spare floats, unlike the output
  size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Rows> FilteredRows(const Tensor& images, const ImageBatch& from, Filter rows,
                                   Filter columns, const Region& region) {
  rows.spans = Stretch(rows.spans, region.y, region.height);
  columns.spans = Stretch(columns.spans, region.x, region.width);
  return std::make_unique<Filtered>(images.data(), images.dtype().code, from, std::move(rows),
                                    std::move(columns));
}

}  // namespace penstock
