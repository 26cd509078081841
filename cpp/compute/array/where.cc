// where: selects items from two arrays; and nonzero: the positions of nonzero items.
#include <array>
#include <cstring>

#include "compute/array/axes.h"
#include "compute/array/items_op.h"
#include "compute/cast_items.h"
#include "compute/new_op.h"
#include "compute/operand.h"
#include "compute/promote.h"
#include "data/error.h"

namespace penstock {
namespace {

// Whether each item is true by NumPy's rules.
std::vector<uint8_t> Truth(const char* op, const Tensor& condition) {
  std::vector<uint8_t> truth(static_cast<size_t>(condition.elements()));
  bool numbers = condition.storage() == Storage::kDense &&
                 CastItems(condition.dtype().code, condition.data(), TypeCode::kBool, truth.data(),
                           truth.size());
  if (!numbers) {
    throw Error(ErrorKind::kType, "{}: condition must be booleans or numbers, got {}",
                std::string_view(op), condition.dtype().name());
  }
  return truth;
}

// Iterates over arrays that are broadcast to one shape, item by item.
template <size_t count>
class BroadcastWalk {
 public:
  BroadcastWalk(const Shape& shape, const std::array<std::vector<int64_t>, count>& strides)
      : shape_(shape), strides_(strides) {}

  const std::array<int64_t, count>& places() const { return places_; }

  void Next() {
    for (int axis = shape_.rank() - 1; axis >= 0; --axis) {
      auto a = static_cast<size_t>(axis);
      for (size_t i = 0; i < count; ++i) places_[i] += strides_[i][a];
      if (++at_[a] < shape_[axis]) return;
      for (size_t i = 0; i < count; ++i) places_[i] -= strides_[i][a] * shape_[axis];
      at_[a] = 0;
    }
  }

 private:
  const Shape& shape_;
  const std::array<std::vector<int64_t>, count>& strides_;
  std::array<int64_t, count> places_{};
  std::array<int64_t, kMaxRank> at_{};
};

template <typename Item>
void Choose(const uint8_t* truth, const uint8_t* x, const uint8_t* y, int64_t count, uint8_t* to) {
  auto* yes = reinterpret_cast<const Item*>(x);
  auto* no = reinterpret_cast<const Item*>(y);
  auto* out = reinterpret_cast<Item*>(to);
  for (int64_t i = 0; i < count; ++i) out[i] = truth[i] ? yes[i] : no[i];
}

class Where final : public ItemsOp {
 public:
  // Inputs: x, y, condition.
  explicit Where(const Args& args)
      : values_{"where", "x and y", args.Ints("weak"), args.Has("wrap") && args.Bool("wrap")} {}

  bool by_rows(const std::vector<Tensor>&) const override { return true; }

  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    CheckInputs("where", inputs, 3);
    Shape shape = BroadcastShapes("where", inputs[0].shape(), inputs[1].shape());
    return {values_.TypeOf(inputs, 2), BroadcastShapes("where", inputs[2].shape(), shape)};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey) const override {
    if (out.elements() == 0) return;
    std::vector<uint8_t> truth = Truth("where", inputs[2]);
    Tensor x = values_.Converted(inputs, 0, out.dtype());
    Tensor y = values_.Converted(inputs, 1, out.dtype());
    const Shape& shape = out.shape();
    uint8_t* to = out.mutable_data();
    if (x.shape() == shape && y.shape() == shape && inputs[2].shape() == shape &&
        ChooseAll(truth.data(), x, y, out.elements(), to)) {
      return;
    }
    std::array<std::vector<int64_t>, 3> strides{
        BroadcastStrides("where", x.shape(), shape), BroadcastStrides("where", y.shape(), shape),
        BroadcastStrides("where", inputs[2].shape(), shape)};
    BroadcastWalk<3> walk(shape, strides);
    const size_t item = out.dtype().itemsize;
    for (int64_t i = 0; i < out.elements(); ++i, to += item, walk.Next()) {
      auto [of_x, of_y, of_condition] = walk.places();
      const uint8_t* from = truth[static_cast<size_t>(of_condition)]
                                ? x.data() + static_cast<size_t>(of_x) * item
                                : y.data() + static_cast<size_t>(of_y) * item;
      std::memcpy(to, from, item);
    }
  }

 private:
  size_t items(const std::vector<Tensor>&) const override { return 2; }

  // False for item sizes without a specialised loop.
  static bool ChooseAll(const uint8_t* truth, const Tensor& x, const Tensor& y, int64_t count,
                        uint8_t* to) {
    switch (x.dtype().itemsize) {
      case 1:
        Choose<uint8_t>(truth, x.data(), y.data(), count, to);
        return true;
      case 2:
        Choose<uint16_t>(truth, x.data(), y.data(), count, to);
        return true;
      case 4:
        Choose<uint32_t>(truth, x.data(), y.data(), count, to);
        return true;
      case 8:
        Choose<uint64_t>(truth, x.data(), y.data(), count, to);
        return true;
      default:
        return false;
    }
  }

  const Promotion values_;
};

class Nonzero final : public Op {
 public:
  std::vector<Tensor> Call(const std::vector<Tensor>& inputs, RandomKey) const override {
    CheckInputs("where", inputs, 1);
    const Shape& shape = inputs[0].shape();
    std::vector<uint8_t> truth = Truth("where", inputs[0]);
    int64_t count = 0;
    for (uint8_t is_true : truth) count += is_true;
    Tensor out = Tensor::Make(DType::Of(TypeCode::kInt64), {count, shape.rank()});
    auto* to = reinterpret_cast<int64_t*>(out.mutable_data());
    for (size_t i = 0; i < truth.size(); ++i) {
      if (!truth[i]) continue;
      auto rest = static_cast<int64_t>(i);
      for (int axis = shape.rank(); axis-- > 0; rest /= shape[axis]) to[axis] = rest % shape[axis];
      to += shape.rank();
    }
    return {std::move(out)};
  }
};

const RegisterOp where_op("where", NewOp<Where>);
const RegisterOp nonzero_op("nonzero", NewOp<Nonzero>);

}  // namespace
}  // namespace penstock
