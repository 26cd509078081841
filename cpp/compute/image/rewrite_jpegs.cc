#include "compute/image/rewrite_jpegs.h"

#include "compute/image/jpeg_header.h"
#include "compute/operand.h"

namespace penstock {

std::vector<Tensor> RewriteJpegs(const char* op, const std::vector<Tensor>& inputs,
                                 std::string (*rewrite)(std::string_view jpeg)) {
  CheckInputs(op, inputs, 1);
  const Tensor& contents = inputs[0];
  if (contents.dtype().code != TypeCode::kBytes) {
    throw Error(ErrorKind::kType, "{}: contents must be bytes, got {}", std::string_view(op),
                contents.dtype().name());
  }
  const auto count = static_cast<size_t>(contents.elements());
  std::vector<std::string> rewritten(count);
  std::vector<std::string_view> items(count);
  for (size_t i = 0; i < count; ++i) {
    items[i] = contents.string(static_cast<int64_t>(i));
    if (StartsAsJpeg(items[i])) rewritten[i] = rewrite(items[i]);
    if (!rewritten[i].empty()) items[i] = rewritten[i];
  }
  return {Tensor::Strings(TypeCode::kBytes, contents.shape(), items)};
}

}  // namespace penstock
