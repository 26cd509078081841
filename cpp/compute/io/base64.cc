// io.encode_base64 and decode_base64: RFC 4648, with the alphabet for URLs and file names.
#include <algorithm>
#include <array>

#include "compute/new_op.h"
#include "compute/operand.h"
#include "data/error.h"

namespace penstock {
namespace {

constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr uint8_t kNone = 0xFF;
constexpr uint8_t kNoDigit = 0xC0;  // bits that are clear in all 64 values

constexpr std::array<uint8_t, 256> Values() {
  std::array<uint8_t, 256> values{};
  for (uint8_t& value : values) value = kNone;
  for (uint8_t i = 0; i < 64; ++i) values[static_cast<uint8_t>(kDigits[i])] = i;
  return values;
}
constexpr std::array<uint8_t, 256> kValues = Values();

std::string Encoded(std::string_view bytes, bool pad) {
  const size_t whole = bytes.size() / 3, rest = bytes.size() % 3;
  std::string text(4 * whole + (rest ? rest + 1 : 0), '\0');
  const char* from = bytes.data();
  char* to = text.data();
  auto put = [&](size_t count) {
    uint32_t group = 0;
    for (size_t i = 0; i < 3; ++i) {
      group = group << 8 | (i < count ? static_cast<uint8_t>(from[i]) : 0u);
    }
    for (size_t i = 0; i <= count; ++i) to[i] = kDigits[group >> (18 - 6 * i) & 63];
  };
  for (size_t i = 0; i < whole; ++i, from += 3, to += 4) put(3);
  if (rest) put(rest);
  if (rest && pad) text.append(3 - rest, '=');
  return text;
}

[[noreturn]] void FailAt(std::string_view digits, size_t at) {
  while (kValues[static_cast<uint8_t>(digits[at])] != kNone) ++at;
  throw Error(ErrorKind::kInvalidArgument,
              "decode_base64: letters, digits, - and _ were expected, got the byte {} at {}",
              static_cast<uint8_t>(digits[at]), at);
}

std::string Decoded(std::string_view text) {
  std::string_view digits = text;
  if (text.size() % 4 == 0) {
    for (int i = 0; i < 2 && !digits.empty() && digits.back() == '='; ++i) digits.remove_suffix(1);
  }
  if (digits.size() % 4 == 1) {
    throw Error(ErrorKind::kInvalidArgument,
                "decode_base64: {} characters are no whole number of bytes", digits.size());
  }
  std::string bytes(digits.size() * 3 / 4, '\0');
  char* to = bytes.data();
  for (size_t at = 0; at < digits.size(); at += 4) {
    const size_t count = std::min<size_t>(4, digits.size() - at);
    uint32_t group = 0;
    uint8_t wrong = 0;
    for (size_t i = 0; i < 4; ++i) {
      const uint8_t value = i < count ? kValues[static_cast<uint8_t>(digits[at + i])] : uint8_t{0};
      wrong |= value;
      group = group << 6 | value;
    }
    if (wrong & kNoDigit) FailAt(digits, at);
    for (size_t i = 0; i + 1 < count; ++i) *to++ = static_cast<char>(group >> (16 - 8 * i) & 0xFF);
  }
  return bytes;
}

// Converts each string to another one.
class Base64 : public Op {
 public:
  explicit Base64(const char* name) : name_(name) {}
  bool by_rows(const std::vector<Tensor>&) const final { return true; }

  std::vector<Tensor> Call(const std::vector<Tensor>& inputs, RandomKey) const final {
    CheckInputs(name_, inputs, 1);
    const Tensor& input = inputs[0];
    TypeCode code = input.dtype().code;
    if (code != TypeCode::kBytes && code != TypeCode::kText) {
      throw Error(ErrorKind::kType, "{}: input must be bytes or str, got {}",
                  std::string_view(name_), input.dtype().name());
    }
    std::vector<std::string> made;
    std::vector<std::string_view> views;
    for (int64_t i = 0; i < input.elements(); ++i) made.push_back(One(input.string(i)));
    views.assign(made.begin(), made.end());
    return {Tensor::Strings(TypeCode::kBytes, input.shape(), views)};
  }

 private:
  virtual std::string One(std::string_view string) const = 0;

  const char* name_;
};

class EncodeBase64 final : public Base64 {
 public:
  explicit EncodeBase64(const Args& args) : Base64("encode_base64"), pad_(args.Bool("pad")) {}

 private:
  std::string One(std::string_view string) const override { return Encoded(string, pad_); }

  const bool pad_;
};

class DecodeBase64 final : public Base64 {
 public:
  DecodeBase64() : Base64("decode_base64") {}

 private:
  std::string One(std::string_view string) const override { return Decoded(string); }
};

const RegisterOp io_encode_base64_op("io.encode_base64", NewOp<EncodeBase64>);
const RegisterOp io_decode_base64_op("io.decode_base64", NewOp<DecodeBase64>);

}  // namespace
}  // namespace penstock
