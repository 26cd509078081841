// to_number and to_hash_bucket_fast: convert strings to numbers.
#include <bit>
#include <string>

#include "compute/new_op.h"
#include "compute/operand.h"
#include "compute/real_types.h"
#include "compute/strings/fingerprint.h"
#include "compute/strings/number_text.h"
#include "compute/strings/string_items.h"
#include "data/error.h"

namespace penstock {
namespace {

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
          if (ParseNumber(inputs[0].string(i), &values[i])) continue;
          throw Error(ErrorKind::kInvalidArgument,
                      "strings.to_number: input must hold numbers of {}, got {} as string {}",
                      dtype_.name(), QuotedNumber(inputs[0].string(i)), i);
        }
      }
    });
  }

 private:
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
    const bool power = std::has_single_bit(buckets_);  // avoids a division
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
