// as_string: formats numbers as C's printf does.
#include <cstdio>
#include <string>

#include "compute/cast_items.h"
#include "compute/new_op.h"
#include "compute/operand.h"
#include "compute/real_types.h"
#include "data/error.h"

namespace penstock {
namespace {

class AsString final : public Op {
 public:
  // width: fill and width of every number; precision: of a float, the part after them; letter: f, e
  // or g.
  explicit AsString(const Args& args)
      : width_(args.Text("width")),
        precision_(args.Text("precision")),
        letter_(args.Text("letter")) {}

  bool by_rows(const std::vector<Tensor>&) const override { return true; }

  std::vector<Tensor> Call(const std::vector<Tensor>& inputs, RandomKey) const override {
    CheckInputs("strings.as_string", inputs, 1);
    const Tensor& x = inputs[0];
    TypeCode code = x.dtype().code;
    if (x.storage() != Storage::kDense || code > TypeCode::kFloat64) {
      throw Error(ErrorKind::kType, "strings.as_string: input must be numbers, got {}",
                  x.dtype().name());
    }
    const auto count = static_cast<size_t>(x.elements());
    std::vector<std::string> texts;
    if (code == TypeCode::kBool) {
      for (size_t i = 0; i < count; ++i) texts.push_back(x.data()[i] ? "true" : "false");
    } else if (code == TypeCode::kUInt64) {
      texts = Formatted<unsigned long long>(x, TypeCode::kUInt64, "llu");
    } else if (IsInteger(code)) {
      texts = Formatted<long long>(x, TypeCode::kInt64, "lld");
    } else {
      texts = Formatted<double>(x, TypeCode::kFloat64, precision_ + letter_);
    }
    std::vector<std::string_view> views(texts.begin(), texts.end());
    return {Tensor::Strings(TypeCode::kBytes, x.shape(), views)};
  }

 private:
  template <typename T>
  std::vector<std::string> Formatted(const Tensor& x, TypeCode as,
                                     const std::string& ending) const {
    static_assert(sizeof(T) == 8);
    std::vector<T> values(static_cast<size_t>(x.elements()));
    CastItems(x.dtype().code, x.data(), as, values.data(), values.size());
    const std::string format = "%" + width_ + ending;
    std::vector<std::string> texts;
    for (T value : values) {
      int size = std::snprintf(nullptr, 0, format.c_str(), value);
      std::string text(static_cast<size_t>(size) + 1, '\0');
      std::snprintf(text.data(), text.size(), format.c_str(), value);
      text.pop_back();
      texts.push_back(std::move(text));
    }
    return texts;
  }

  const std::string width_, precision_, letter_;
};

const RegisterOp strings_as_string_op("strings.as_string", NewOp<AsString>);

}  // namespace
}  // namespace penstock
