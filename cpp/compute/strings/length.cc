// length and substr: lengths of strings, and substrings.
#include <algorithm>

#include "compute/array/axes.h"
#include "compute/cast_items.h"
#include "compute/new_op.h"
#include "compute/operand.h"
#include "compute/real_types.h"
#include "compute/strings/string_items.h"
#include "data/error.h"

namespace penstock {
namespace {

class Length final : public FillOp {
 public:
  explicit Length(const Args& args)
      : characters_(UnitIsCharacter("strings.length", args.Text("unit"))) {}

  bool by_rows(const std::vector<Tensor>&) const override { return true; }

  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    CheckInputs("strings.length", inputs, 1);
    StringKind("strings.length", "input", inputs[0]);
    return {DType::Of(TypeCode::kInt32), inputs[0].shape()};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey) const override {
    auto* lengths = reinterpret_cast<int32_t*>(out.mutable_data());
    for (int64_t i = 0; i < out.elements(); ++i) {
      std::string_view text = inputs[0].string(i);
      lengths[i] = static_cast<int32_t>(characters_ ? CountCharacters(text)
                                                    : static_cast<int64_t>(text.size()));
    }
  }

 private:
  const bool characters_;
};

class Substr final : public Op {
 public:
  // Inputs: strings, positions, lengths; broadcast against each other.
  explicit Substr(const Args& args)
      : characters_(UnitIsCharacter("strings.substr", args.Text("unit"))) {}

  bool by_rows(const std::vector<Tensor>&) const override { return true; }

  std::vector<Tensor> Call(const std::vector<Tensor>& inputs, RandomKey) const override {
    constexpr const char* kName = "strings.substr";
    CheckInputs(kName, inputs, 3);
    TypeCode kind = StringKind(kName, "input", inputs[0]);
    Shape shape = inputs[0].shape();
    for (int i : {1, 2}) shape = BroadcastShapes(kName, shape, inputs[i].shape());
    std::vector<int64_t> positions = Broadcast("pos", inputs[1], shape);
    std::vector<int64_t> lengths = Broadcast("len", inputs[2], shape);
    std::vector<int64_t> numbers = Places(inputs[0].shape(), shape);
    std::vector<std::string_view> parts(numbers.size());
    for (size_t i = 0; i < numbers.size(); ++i) {
      parts[i] = Part(inputs[0].string(numbers[i]), positions[i], lengths[i]);
    }
    return {Tensor::Strings(kind, shape, parts)};
  }

 private:
  // For each item of `shape`, the index of the item of `from` that is broadcast to it.
  static std::vector<int64_t> Places(const Shape& from, const Shape& shape) {
    std::vector<int64_t> strides = BroadcastStrides("strings.substr", from, shape);
    std::vector<int64_t> places(static_cast<size_t>(shape.elements()));
    for (size_t i = 0; i < places.size(); ++i) {
      auto rest = static_cast<int64_t>(i);
      for (int axis = shape.rank(); axis-- > 0; rest /= shape[axis]) {
        places[i] += rest % shape[axis] * strides[static_cast<size_t>(axis)];
      }
    }
    return places;
  }

  static std::vector<int64_t> Broadcast(const char* argument, const Tensor& numbers,
                                        const Shape& shape) {
    int64_t count = numbers.elements();
    std::vector<int64_t> values =
        Operand{"strings.substr", argument}.Integers(numbers.Reshaped({count}), count);
    std::vector<int64_t> places = Places(numbers.shape(), shape);
    for (int64_t& place : places) place = values[static_cast<size_t>(place)];
    return places;
  }

  std::string_view Part(std::string_view text, int64_t position, int64_t length) const {
    int64_t size = characters_ ? CountCharacters(text) : static_cast<int64_t>(text.size());
    if (position < -size || position > size) {
      throw Error(ErrorKind::kInvalidArgument,
                  "strings.substr: pos must lie in [{}, {}] for a string of {}, got {}", -size,
                  size, size, position);
    }
    if (length < 0 && characters_) {
      throw Error(ErrorKind::kInvalidArgument,
                  "strings.substr: len must be >= 0 with unit UTF8_CHAR, got {}", length);
    }
    if (position < 0) position += size;
    // For a negative number of bytes, TensorFlow returns the rest; for one of characters, nothing.
    length = length < 0 ? size - position : std::min(length, size - position);
    if (!characters_) {
      return text.substr(static_cast<size_t>(position), static_cast<size_t>(length));
    }
    size_t begin = CharacterBegin(text, position);
    return text.substr(begin, CharacterBegin(text.substr(begin), length));
  }

  const bool characters_;
};

const RegisterOp strings_length_op("strings.length", NewOp<Length>);
const RegisterOp strings_substr_op("strings.substr", NewOp<Substr>);

}  // namespace
}  // namespace penstock
