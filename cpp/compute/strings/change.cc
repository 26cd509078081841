// lower, upper, strip: change each string.
#include <vector>

#include "compute/new_op.h"
#include "compute/operand.h"
#include "compute/strings/string_items.h"

namespace penstock {
namespace {

class Strip final : public Op {
 public:
  bool by_rows(const std::vector<Tensor>&) const override { return true; }

  std::vector<Tensor> Call(const std::vector<Tensor>& inputs, RandomKey) const override {
    CheckInputs("strings.strip", inputs, 1);
    TypeCode kind = StringKind("strings.strip", "input", inputs[0]);
    const int64_t count = inputs[0].elements();
    std::vector<std::string_view> stripped;
    stripped.reserve(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
      std::string_view text = inputs[0].string(i);
      while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
      while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
      stripped.push_back(text);
    }
    return {Tensor::Strings(kind, inputs[0].shape(), stripped)};
  }
};

// Changes ASCII letters; all other bytes stay.
template <char from, char to>
class ChangeCase final : public Op {
 public:
  bool by_rows(const std::vector<Tensor>&) const override { return true; }

  std::vector<Tensor> Call(const std::vector<Tensor>& inputs, RandomKey) const override {
    constexpr const char* kName = from == 'A' ? "strings.lower" : "strings.upper";
    CheckInputs(kName, inputs, 1);
    TypeCode kind = StringKind(kName, "input", inputs[0]);
    std::vector<std::string_view> strings(static_cast<size_t>(inputs[0].elements()));
    for (size_t i = 0; i < strings.size(); ++i) {
      strings[i] = inputs[0].string(static_cast<int64_t>(i));
    }
    Tensor changed = Tensor::Strings(kind, inputs[0].shape(), strings);
    uint8_t* bytes = changed.mutable_data();
    for (size_t i = 0, size = changed.buffer()->size(); i < size; ++i) {
      const bool letter = static_cast<uint8_t>(bytes[i] - from) < 26;
      bytes[i] = static_cast<uint8_t>(bytes[i] + (letter ? to - from : 0));
    }
    return {std::move(changed)};
  }
};

const RegisterOp strings_strip_op("strings.strip", NewOp<Strip>);
const RegisterOp strings_lower_op("strings.lower", NewOp<ChangeCase<'A', 'a'>>);
const RegisterOp strings_upper_op("strings.upper", NewOp<ChangeCase<'a', 'A'>>);

}  // namespace
}  // namespace penstock
