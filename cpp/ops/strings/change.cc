// lower, upper, strip: strings changed one by one.
#include <algorithm>
#include <string>
#include <vector>

#include "ops/new_op.h"
#include "ops/operand.h"
#include "ops/strings/string_items.h"

namespace penstock {
namespace {

class Strip final : public Op {
 public:
  bool by_rows(const std::vector<Tensor>&) const override { return true; }

  std::vector<Tensor> Call(const std::vector<Tensor>& inputs, RandomKey) const override {
    CheckInputs("strings.strip", inputs, 1);
    TypeCode kind = StringKind("strings.strip", "input", inputs[0]);
    std::vector<std::string_view> stripped;
    for (int64_t i = 0; i < inputs[0].elements(); ++i) {
      std::string_view text = inputs[0].string(i);
      while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
      while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
      stripped.push_back(text);
    }
    return {Tensor::Strings(kind, inputs[0].shape(), stripped)};
  }
};

// Of ASCII letters; all other bytes stay.
template <char from, char to>
class ChangeCase final : public Op {
 public:
  bool by_rows(const std::vector<Tensor>&) const override { return true; }

  std::vector<Tensor> Call(const std::vector<Tensor>& inputs, RandomKey) const override {
    constexpr const char* kName = from == 'A' ? "strings.lower" : "strings.upper";
    CheckInputs(kName, inputs, 1);
    TypeCode kind = StringKind(kName, "input", inputs[0]);
    std::vector<std::string> changed;
    for (int64_t i = 0; i < inputs[0].elements(); ++i) {
      changed.emplace_back(inputs[0].string(i));
      for (char& c : changed.back()) {
        if (c >= from && c < from + 26) c = static_cast<char>(c - from + to);
      }
    }
    std::vector<std::string_view> views(changed.begin(), changed.end());
    return {Tensor::Strings(kind, inputs[0].shape(), views)};
  }
};

const RegisterOp strip("strings.strip", NewOp<Strip>);
const RegisterOp lower("strings.lower", NewOp<ChangeCase<'A', 'a'>>);
const RegisterOp upper("strings.upper", NewOp<ChangeCase<'a', 'A'>>);

}  // namespace
}  // namespace penstock
