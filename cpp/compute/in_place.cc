// The effect of the operators +=, *= and so on, with NumPy's semantics: an array keeps its type and
// shape; a scalar is replaced by the result.
#include "compute/cast_items.h"
#include "compute/elementwise.h"

namespace penstock {
namespace {

// Ranks types in the order of NumPy's "same_kind" casts; -1 for types that are not numbers.
int OrderOf(TypeCode code) {
  if (code == TypeCode::kBool) return 0;
  if (code >= TypeCode::kUInt8 && code <= TypeCode::kUInt64) return 1;
  if (code >= TypeCode::kInt8 && code <= TypeCode::kInt64) return 2;
  if (code >= TypeCode::kFloat16 && code <= TypeCode::kLongDouble) return 3;
  if (code >= TypeCode::kComplex64 && code <= TypeCode::kCLongDouble) return 4;
  return -1;
}

class InPlace final : public FillOp {
 public:
  InPlace(std::shared_ptr<const Op> op, std::string name, bool stays_array)
      : op_(std::move(op)), name_(std::move(name)), stays_array_(stays_array) {}

  bool by_rows(const std::vector<Tensor>& inputs) const override {
    const Shape& shape = inputs[0].shape();
    if (shape.rank() == 0 || !op_->by_rows(inputs)) return false;
    // Rows that are scalars take the result's type.
    if (shape.rank() == 1) return op_->fill()->Output(inputs).dtype == inputs[0].dtype();
    // The second axis may have been added because rows have fewer axes than the other input.
    return shape[1] != 1 || inputs[1].shape().rank() < shape.rank();
  }
  bool row_local() const override { return op_->row_local(); }
  bool keeps_means() const override { return op_->keeps_means(); }

  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    LeafSpec made = op_->fill()->Output(inputs);
    const DType type = inputs[0].dtype();
    const Shape& shape = inputs[0].shape();
    if (shape.rank() == 0 && !stays_array_) return made;
    if (made.dtype != type) {
      const int from = OrderOf(made.dtype.code);
      if (from < 0 || from > OrderOf(type.code)) {
        throw Error(ErrorKind::kType,
                    "{} in place: the result is {}, which does not fit into an array of {}; write "
                    "x = x / y for x /= y, or cast first",
                    name_, made.dtype.name(), type.name());
      }
    }
    if (made.shape != shape) {
      throw Error(ErrorKind::kInvalidArgument,
                  "{} in place: the result has shape {}, which does not fit into an array of shape "
                  "{}; write x = x + y for x += y",
                  name_, made.shape.ToString(), shape.ToString());
    }
    return {type, shape};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey key) const override {
    const LeafSpec spec = op_->fill()->Output(inputs);
    if (spec.dtype == out.dtype()) return op_->fill()->Run(inputs, out, key);
    Tensor made = Tensor::Make(spec.dtype, spec.shape);
    op_->fill()->Run(inputs, made, key);
    CastItems(spec.dtype.code, made.data(), out.dtype().code, out.mutable_data(),
              static_cast<size_t>(made.elements()));
  }

 private:
  const std::shared_ptr<const Op> op_;
  const std::string name_;
  const bool stays_array_;
};

}  // namespace

std::unique_ptr<const Op> MakeInPlace(std::shared_ptr<const Op> op, std::string name,
                                      bool stays_array) {
  return std::make_unique<InPlace>(std::move(op), std::move(name), stays_array);
}

}  // namespace penstock
