// io.decode_raw: reads the bytes of strings as numbers.
#include <algorithm>
#include <bit>
#include <cstring>

#include "compute/new_op.h"
#include "compute/operand.h"
#include "compute/real_types.h"
#include "data/error.h"

namespace penstock {
namespace {

class DecodeRaw final : public FillOp {
 public:
  explicit DecodeRaw(const Args& args)
      : dtype_(TypeNamed("decode_raw", "out_type", args.Text("out_type"))),
        swap_(args.Bool("little_endian") != (std::endian::native == std::endian::little)),
        fixed_length_(args.Int("fixed_length", -1)) {
    bool whole = fixed_length_ % static_cast<int64_t>(dtype_.itemsize) == 0;
    if (args.Has("fixed_length") && (fixed_length_ < 1 || !whole)) {
      throw Error(ErrorKind::kInvalidArgument,
                  "decode_raw: fixed_length must be a multiple of {} for {}, and not 0, got {}",
                  dtype_.itemsize, dtype_.name(), fixed_length_);
    }
  }

  bool by_rows(const std::vector<Tensor>&) const override { return true; }

  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    CheckInputs("decode_raw", inputs, 1);
    const Tensor& strings = inputs[0];
    bool empty = strings.dtype().code == TypeCode::kObject && strings.elements() == 0;
    if (strings.dtype().code != TypeCode::kBytes && !empty) {
      throw Error(ErrorKind::kType, "decode_raw: input_bytes must be bytes, got {}",
                  strings.dtype().name());
    }
    std::vector<int64_t> dims(strings.shape().dims().begin(), strings.shape().dims().end());
    dims.push_back(Length(strings) / dtype_.itemsize);
    return {dtype_, Shape(dims.data(), dims.size())};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey) const override {
    const Tensor& strings = inputs[0];
    auto length = static_cast<size_t>(Length(strings));
    uint8_t* to = out.mutable_data();
    for (int64_t i = 0; i < strings.elements(); ++i, to += length) {
      std::string_view bytes = strings.string(i).substr(0, length);
      if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
      std::fill(to + bytes.size(), to + length, uint8_t{0});
    }
    if (swap_) Swap(out);
    if (dtype_.code == TypeCode::kBool) {
      for (uint8_t* at = out.mutable_data(); at < to; ++at) *at = *at != 0;
    }
  }

 private:
  // The number of bytes to read from each string.
  int64_t Length(const Tensor& strings) const {
    if (fixed_length_ > 0) return fixed_length_;
    size_t length = strings.elements() ? strings.string(0).size() : 0;
    for (int64_t i = 1; i < strings.elements(); ++i) {
      if (strings.string(i).size() == length) continue;
      throw Error(ErrorKind::kInvalidArgument,
                  "decode_raw: input_bytes must be as long each, got {} and {} bytes; give "
                  "fixed_length to cut and pad them",
                  length, strings.string(i).size());
    }
    if (length % dtype_.itemsize) {
      throw Error(ErrorKind::kInvalidArgument,
                  "decode_raw: input_bytes must have a multiple of {} bytes for {}, got {}",
                  dtype_.itemsize, dtype_.name(), length);
    }
    return static_cast<int64_t>(length);
  }

  void Swap(Tensor& out) const {
    bool complex = !IsReal(dtype_.code);
    size_t size = dtype_.itemsize / (complex ? 2 : 1);
    uint8_t* end = out.mutable_data() + out.nbytes();
    for (uint8_t* at = out.mutable_data(); at < end; at += size) std::reverse(at, at + size);
  }

  const DType dtype_;
  const bool swap_;
  const int64_t fixed_length_;  // -1: the length of the strings
};

const RegisterOp io_decode_raw_op("io.decode_raw", NewOp<DecodeRaw>);

}  // namespace
}  // namespace penstock
