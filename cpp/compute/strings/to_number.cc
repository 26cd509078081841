// to_number and to_hash_bucket_fast: numbers for strings.
#include <bit>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <string>

#include "compute/new_op.h"
#include "compute/operand.h"
#include "compute/real_types.h"
#include "compute/strings/fingerprint.h"
#include "compute/strings/string_items.h"
#include "data/error.h"

namespace penstock {
namespace {

// "0x1.8p3", after its sign.
bool IsHexadecimal(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') &&
         (std::isxdigit(static_cast<unsigned char>(text[2])) || text[2] == '.');
}

// Too large, or too close to zero: infinity, or zero.
template <typename T>
T BeyondRange(std::string_view text) {
  return static_cast<T>(std::strtod(std::string(text).c_str(), nullptr));
}

template <typename T>
bool ParseHexadecimal(std::string_view text, T* value) {
  const bool negative = text.starts_with('-');
  std::string_view digits = text.substr(negative ? 3 : 2);
  const char* end = digits.data() + digits.size();
  auto [stop, problem] = std::from_chars(digits.data(), end, *value, std::chars_format::hex);
  if (stop != end) return false;
  if (problem == std::errc::result_out_of_range) {
    *value = BeyondRange<T>(text);
    return true;
  }
  if (negative) *value = -*value;
  return problem == std::errc{};
}

// The whole of a string as a number, with white space around it: in decimal, and floats in
// hexadecimal too. False when it is none, or an integer beyond the range.
template <typename T>
bool Parse(std::string_view text, T* value) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  if constexpr (std::is_floating_point_v<T>) {
    if (IsHexadecimal(text)) return ParseHexadecimal(text, value);
  }
  const char* end = text.data() + text.size();
  auto [stop, problem] = std::from_chars(text.data(), end, *value);
  if (stop != end || text.empty()) return false;
  if (problem == std::errc{}) return true;
  if constexpr (std::is_floating_point_v<T>) {
    if (problem != std::errc::result_out_of_range) return false;
    *value = BeyondRange<T>(text);
    return true;
  }
  return false;
}

class ToNumber final : public FillOp {
 public:
  explicit ToNumber(const Args& args)
      : dtype_(TypeNamed("strings.to_number", "out_type", args.Text("out_type"))) {
    TypeCode code = dtype_.code;
    bool known = code == TypeCode::kFloat32 || code == TypeCode::kFloat64 ||
                 code == TypeCode::kInt32 || code == TypeCode::kInt64;
    if (!known) {
      throw Error(ErrorKind::kType,
                  "strings.to_number: out_type must be float32, float64, int32 or int64, got {}",
                  dtype_.name());
    }
  }

  bool by_rows(const std::vector<Tensor>&) const override { return true; }

  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    CheckInputs("strings.to_number", inputs, 1);
    StringKind("strings.to_number", "input", inputs[0]);
    return {dtype_, inputs[0].shape()};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey) const override {
    VisitReal(dtype_.code, [&]<typename T>(std::type_identity<T>) {
      constexpr bool kKnown = std::is_same_v<T, float> || std::is_same_v<T, double> ||
                              std::is_same_v<T, int32_t> || std::is_same_v<T, int64_t>;
      if constexpr (kKnown) {
        auto* values = reinterpret_cast<T*>(out.mutable_data());
        for (int64_t i = 0; i < out.elements(); ++i) {
          if (Parse(inputs[0].string(i), &values[i])) continue;
          throw Error(ErrorKind::kInvalidArgument,
                      "strings.to_number: input must hold numbers of {}, got {} as string {}",
                      dtype_.name(), Quoted(inputs[0].string(i)), i);
        }
      }
    });
  }

 private:
  static std::string Quoted(std::string_view text) {
    constexpr size_t kMostShown = 40;
    std::string shown = "'";
    for (char c : text.substr(0, kMostShown)) shown += c >= ' ' && c < 127 ? c : '?';
    return shown + (text.size() > kMostShown ? "...'" : "'");
  }

  const DType dtype_;
};

class ToHashBucket final : public FillOp {
 public:
  explicit ToHashBucket(const Args& args)
      : buckets_(static_cast<uint64_t>(args.IntAtLeast("num_buckets", 1))) {}

  bool by_rows(const std::vector<Tensor>&) const override { return true; }

  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    CheckInputs("strings.to_hash_bucket_fast", inputs, 1);
    StringKind("strings.to_hash_bucket_fast", "input", inputs[0]);
    return {DType::Of(TypeCode::kInt64), inputs[0].shape()};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey) const override {
    auto* buckets = reinterpret_cast<int64_t*>(out.mutable_data());
    const Tensor& strings = inputs[0];
    const bool power = std::has_single_bit(buckets_);  // which spares a division
    for (int64_t i = 0, count = out.elements(); i < count; ++i) {
      const uint64_t hash = Fingerprint64(strings.string(i));
      buckets[i] = static_cast<int64_t>(power ? hash & (buckets_ - 1) : hash % buckets_);
    }
  }

 private:
  const uint64_t buckets_;
};

const RegisterOp strings_to_number_op("strings.to_number", NewOp<ToNumber>);
const RegisterOp strings_to_hash_bucket_fast_op("strings.to_hash_bucket_fast", NewOp<ToHashBucket>);

}  // namespace
}  // namespace penstock
