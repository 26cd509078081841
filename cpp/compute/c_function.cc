// c_function: a compiled function of the user, given by its address.
#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "compute/new_op.h"
#include "compute/operand.h"
#include "compute/real_types.h"

namespace penstock {
namespace {

// operands: pointers to the items of each input, then of the output, all C-contiguous. sizes: the
// value of each name in the signature, in order of first appearance. Returns 0 on success.
using CKernel = int32_t (*)(void* const* operands, const int64_t* sizes);

// A type and the sizes of its axes: a number, or ~i for name number i.
struct Declared {
  DType dtype;
  std::vector<int64_t> sizes;
};

// "float32[h, w, 3], int64 -> float32[h, w]"
class Signature {
 public:
  explicit Signature(const std::string& text) : text_(text) {
    if (!Taken("->")) {
      do {
        inputs_.push_back(Operand());
      } while (Taken(","));
      if (!Taken("->")) Fail("'->' or ','");
    }
    size_t bound = names_.size();
    output_ = Operand();
    if (names_.size() > bound) Fail("a size of an input instead of a new name");
    Skip();
    if (at_ != text_.size()) Fail("the end");
  }

  const std::vector<Declared>& inputs() const { return inputs_; }
  const Declared& output() const { return output_; }
  const std::vector<std::string>& names() const { return names_; }

 private:
  void Skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool Taken(std::string_view token) {
    Skip();
    if (text_.compare(at_, token.size(), token) != 0) return false;
    at_ += token.size();
    return true;
  }
  std::string Word() {
    Skip();
    size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      ++at_;
    return text_.substr(begin, at_ - begin);
  }
  Declared Operand() {
    std::string type = Word();
    if (type.empty()) Fail("a type");
    Declared declared{TypeNamed("cfunction", "signature", type), {}};
    if (!Taken("[")) return declared;
    do {
      declared.sizes.push_back(Size());
    } while (Taken(","));
    if (!Taken("]")) Fail("']' or ','");
    if (declared.sizes.size() > kMaxRank) Fail("at most 8 axes");
    return declared;
  }
  int64_t Size() {
    std::string word = Word();
    if (word.empty() || word.size() > 18) Fail("a name or a number");
    if (std::ranges::all_of(word, [](unsigned char c) { return std::isdigit(c); }))
      return std::stoll(word);
    if (std::isdigit(static_cast<unsigned char>(word[0]))) Fail("a name or a number");
    auto found = std::find(names_.begin(), names_.end(), word);
    auto number = found - names_.begin();
    if (found == names_.end()) names_.push_back(word);
    return ~number;
  }
  [[noreturn]] void Fail(std::string_view expected) const {
    throw Error(ErrorKind::kInvalidArgument,
                "cfunction: signature: {} was expected at '{}'; write it as "
                "'float32[h, w, 3], int64 -> float32[h, w]'",
                expected, text_.substr(std::min(at_, text_.size())));
  }

  const std::string text_;
  size_t at_ = 0;
  std::vector<std::string> names_;
  std::vector<Declared> inputs_;
  Declared output_;
};

class CFunction final : public FillOp {
 public:
  explicit CFunction(const Args& args)
      : kernel_(reinterpret_cast<CKernel>(static_cast<uintptr_t>(args.Int("address")))),
        signature_(args.Text("signature")) {
    if (!kernel_) throw Error(ErrorKind::kInvalidArgument, "cfunction: the address is null");
  }

  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    std::vector<int64_t> sizes = SizesOf(inputs);
    const Declared& output = signature_.output();
    std::vector<int64_t> dims;
    for (int64_t size : output.sizes) dims.push_back(size < 0 ? sizes[~size] : size);
    return {output.dtype, Shape(dims.data(), dims.size())};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey) const override {
    std::vector<int64_t> sizes = SizesOf(inputs);
    std::vector<void*> operands;
    for (const Tensor& input : inputs) operands.push_back(const_cast<uint8_t*>(input.data()));
    operands.push_back(out.mutable_data());
    if (int32_t code = kernel_(operands.data(), sizes.data())) {
      throw Error(ErrorKind::kRuntime, "cfunction: the function returned {}; 0 was expected", code);
    }
  }

 private:
  // Checks the inputs; returns the value of each name.
  std::vector<int64_t> SizesOf(const std::vector<Tensor>& inputs) const {
    CheckInputs("cfunction", inputs, signature_.inputs().size());
    std::vector<int64_t> sizes(signature_.names().size(), -1);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Declared& declared = signature_.inputs()[i];
      const Shape& shape = inputs[i].shape();
      if (inputs[i].dtype() != declared.dtype) {
        throw Error(ErrorKind::kType, "cfunction: argument {} must be {}, got {}", i,
                    declared.dtype.name(), inputs[i].dtype().name());
      }
      bool fits = static_cast<size_t>(shape.rank()) == declared.sizes.size();
      for (int axis = 0; fits && axis < shape.rank(); ++axis) {
        int64_t wanted = declared.sizes[static_cast<size_t>(axis)];
        int64_t& size = wanted < 0 ? sizes[static_cast<size_t>(~wanted)] : wanted;
        if (size < 0) size = shape[axis];
        fits = size == shape[axis];
      }
      if (!fits) {
        throw Error(ErrorKind::kInvalidArgument,
                    "cfunction: argument {} does not fit the signature, its shape is {}", i,
                    shape.ToString());
      }
    }
    return sizes;
  }

  const CKernel kernel_;
  const Signature signature_;
};

const RegisterOp c_function_op("c_function", NewOp<CFunction>);

}  // namespace
}  // namespace penstock
