// getitem: NumPy's basic indexing, with numbers, slices, an ellipsis and new axes.
#include <algorithm>
#include <cstring>
#include <limits>

#include "compute/array/join_runs.h"
#include "compute/cast_items.h"
#include "compute/new_op.h"
#include "compute/operand.h"
#include "compute/real_types.h"

namespace penstock {
namespace {

// The kind of an entry of the index. Traced numbers are inputs.
enum Part : int64_t { kNumber, kSlice, kEllipsis, kNewAxis };
constexpr int64_t kAbsent = std::numeric_limits<int64_t>::min();

// The items taken along one axis of the input.
struct IndexedAxis {
  int64_t begin, step, count;
};

class GetItem final : public CropOp {
 public:
  // parts: five numbers for each entry of the index: its kind, `traced`, and the number itself, or
  // start, stop and step of a slice. Each of the last three is kAbsent if missing, or an input if
  // its bit in `traced` is set.
  explicit GetItem(const Args& args) : parts_(args.Ints("parts")) {}

  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    return {inputs[0].dtype(), TakenOf(inputs).shape};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey) const override {
    CopyTaken(inputs[0], TakenOf(inputs), out.mutable_data());
  }

  // A prefix of rows becomes a view; everything else is copied.
  std::vector<Tensor> Call(const std::vector<Tensor>& inputs, RandomKey) const override {
    const Tensor& x = inputs[0];
    Taken taken = TakenOf(inputs);
    if (taken.last < 0) return {x.Reshaped(taken.shape)};
    if (x.buffer() && IsPrefix(taken)) return {Prefix(x, taken)};
    if (x.storage() != Storage::kDense) return {Strings(x, taken.axes, taken.shape)};
    Tensor out = Tensor::Make(x.dtype(), taken.shape);
    CopyTaken(x, taken, out.mutable_data());
    return {std::move(out)};
  }

  // x[number] and x[start:stop] for each row. Throws if some row lacks that number. The caller then
  // processes the rows individually, so that only that row fails.
  std::optional<Column> CallRagged(const std::vector<Column>& inputs, int64_t rows) const override {
    if (inputs.size() != 1 || parts_.size() != kWidth) return std::nullopt;
    const Column& input = inputs[0];
    const bool number = parts_[0] == kNumber;
    const bool slice = parts_[0] == kSlice && (parts_[4] == kAbsent || parts_[4] == 1);
    if (!(number || slice) || input.rank() == 0 || input.dtype().code == TypeCode::kObject) {
      return std::nullopt;
    }
    const Tensor items = input.Flat();
    std::vector<int64_t> ends{0};
    std::vector<ItemRun> runs;
    for (int64_t row = 0; row < rows; ++row) {
      const auto [begin, size] = input.RangeOf(row);
      const IndexedAxis taken =
          number ? NumberAxis(parts_[2], 0, Shape{size}) : SliceAxis(parts_[2], parts_[3], 1, size);
      runs.push_back({&items, begin + taken.begin, taken.count});
      ends.push_back(ends.back() + taken.count);
    }
    Shape shape = items.shape();
    shape[0] = ends.back();
    Tensor taken = JoinRuns(items.dtype(), shape, runs);
    if (number) return Column(std::move(taken));
    if (input.ragged()) return Column(std::move(taken), std::move(ends));
    shape[0] = rows > 0 ? shape[0] / rows : 0;
    return Column(taken.Reshaped(shape.Prepend(rows)));
  }

  // image[top:bottom, left:right]: only slices, and all channels.
  std::optional<Region> RegionOf(const std::vector<Tensor>& inputs, RandomKey) const override {
    if (inputs[0].shape().rank() != 3) return std::nullopt;
    Taken taken = TakenOf(inputs);
    if (!taken.slices || taken.last > 1 || taken.shape.elements() == 0) return std::nullopt;
    const IndexedAxis &y = taken.axes[0], &x = taken.axes[1];
    if (y.step != 1 || x.step != 1) return std::nullopt;
    return Region{y.begin, x.begin, y.count, x.count};
  }

 private:
  static constexpr size_t kWidth = 5;

  // The items that an index takes from its array.
  struct Taken {
    std::vector<IndexedAxis> axes;  // of the array
    Shape shape;                    // of the result
    int last = -1;                  // the last axis that is not taken completely
    bool slices = true;             // no axis is removed or added
  };

  Taken TakenOf(const std::vector<Tensor>& inputs) const {
    const Tensor& x = inputs[0];
    Taken taken;
    std::vector<IndexedAxis>& axes = taken.axes;
    std::vector<int64_t> dims;
    size_t next = 1;  // the next input
    int64_t named = 0;
    for (size_t p = 0; p < parts_.size(); p += kWidth) {
      named += parts_[p] == kNumber || parts_[p] == kSlice;
      taken.slices = taken.slices && parts_[p] != kNumber && parts_[p] != kNewAxis;
    }
    if (named > x.shape().rank()) {
      throw Error(ErrorKind::kInvalidArgument,
                  "getitem: too many indices: the array has shape {}, but {} axes were indexed",
                  x.shape().ToString(), named);
    }
    bool whole = false;  // the ellipsis has been processed
    auto keep = [&](int64_t count) {
      for (; count > 0; --count) {
        int64_t size = x.shape()[static_cast<int>(axes.size())];
        axes.push_back({0, 1, size});
        dims.push_back(size);
      }
    };
    for (size_t p = 0; p < parts_.size(); p += kWidth) {
      auto number = [&](int i) {
        bool traced = parts_[p + 1] >> i & 1;
        return traced ? Number(inputs[next++]) : parts_[p + 2 + static_cast<size_t>(i)];
      };
      auto axis = static_cast<int>(axes.size());
      if (parts_[p] == kNumber) {
        axes.push_back(NumberAxis(number(0), axis, x.shape()));
      } else if (parts_[p] == kSlice) {
        int64_t start = number(0), stop = number(1), step = number(2);
        axes.push_back(SliceAxis(start, stop, step, x.shape()[axis]));
        dims.push_back(axes.back().count);
      } else if (parts_[p] == kEllipsis) {
        keep(x.shape().rank() - named);
        whole = true;
      } else {
        dims.push_back(1);
      }
    }
    if (!whole) keep(x.shape().rank() - static_cast<int64_t>(axes.size()));
    taken.shape = Shape(dims.data(), dims.size());
    for (int i = 0; i < x.shape().rank(); ++i) {
      if (axes[i].count != x.shape()[i] || axes[i].step != 1) taken.last = i;
    }
    return taken;
  }

  static int64_t Number(const Tensor& tensor) {
    if (!IsInteger(tensor.dtype().code) || tensor.shape().rank() > 0) {
      throw Error(
          ErrorKind::kType,
          "getitem: an index must be one integer, got {} of shape {}; take several rows with "
          "np.take or ps.gather, choose items with np.where, or drop @ps.native",
          tensor.dtype().name(), tensor.shape().ToString());
    }
    int64_t value;
    CastItems(tensor.dtype().code, tensor.data(), TypeCode::kInt64, &value, 1);
    // Larger than any array; must become neither an index from the end nor kAbsent.
    if (tensor.dtype().code == TypeCode::kUInt64 && value < 0) {
      return std::numeric_limits<int64_t>::max();
    }
    return std::max(value, kAbsent + 1);
  }

  static IndexedAxis NumberAxis(int64_t index, int axis, const Shape& shape) {
    int64_t size = shape[axis];
    if (index < -size || index >= size) {
      throw Error(ErrorKind::kInvalidArgument,
                  "getitem: index {} is out of bounds for axis {} with size {}", index, axis, size);
    }
    return {index < 0 ? index + size : index, 1, 1};
  }

  // As Python's slice.indices.
  static IndexedAxis SliceAxis(int64_t start, int64_t stop, int64_t step, int64_t size) {
    if (step == kAbsent) step = 1;
    if (step == 0) throw Error(ErrorKind::kInvalidArgument, "getitem: slice step cannot be zero");
    int64_t low = step < 0 ? -1 : 0, high = step < 0 ? size - 1 : size;
    auto clip = [&](int64_t at, int64_t otherwise) {
      if (at == kAbsent) return otherwise;
      return std::clamp(at < 0 ? at + size : at, low, high);
    };
    int64_t begin = clip(start, step < 0 ? high : low), end = clip(stop, step < 0 ? low : high);
    int64_t distance = step < 0 ? begin - end : end - begin;
    int64_t width = step < 0 ? -step : step;
    return {begin, step, distance <= 0 ? 0 : (distance - 1) / width + 1};
  }

  static bool IsPrefix(const Taken& taken) {
    bool one = taken.axes[taken.last].step == 1;
    for (int i = 0; i < taken.last; ++i) one = one && taken.axes[i].count == 1;
    return one;
  }

  static Tensor Prefix(const Tensor& x, const Taken& taken) {
    int64_t before = 0, rows = 1, inner = 1;
    for (int i = 0; i < x.shape().rank(); ++i) {
      if (i > taken.last) {
        inner *= x.shape()[i];
      } else {
        before = before * x.shape()[i] + taken.axes[i].begin;
        rows *= x.shape()[i];
      }
    }
    int64_t count = taken.axes[taken.last].count;
    return x.Reshaped({rows, inner}).Rows(before, count).Reshaped(taken.shape);
  }

  static void CopyTaken(const Tensor& x, const Taken& taken, uint8_t* to) {
    if (taken.shape.elements() == 0) return;
    if (taken.last < 0) {
      std::memcpy(to, x.data(), x.nbytes());
    } else {
      Copy(x, taken.axes, 0, taken.last, x.data(), to);
    }
  }

  static void Copy(const Tensor& x, const std::vector<IndexedAxis>& axes, int axis, int last,
                   const uint8_t* from, uint8_t*& to) {
    auto stride = static_cast<int64_t>(x.dtype().itemsize);
    for (int i = axis + 1; i < x.shape().rank(); ++i) stride *= x.shape()[i];
    const IndexedAxis& taken = axes[axis];
    from += taken.begin * stride;
    if (axis == last && taken.step == 1) {
      std::memcpy(to, from, static_cast<size_t>(taken.count * stride));
      to += taken.count * stride;
      return;
    }
    for (int64_t i = 0; i < taken.count; ++i, from += taken.step * stride) {
      if (axis == last) {
        std::memcpy(to, from, static_cast<size_t>(stride));
        to += stride;
      } else {
        Copy(x, axes, axis + 1, last, from, to);
      }
    }
  }

  // Copies items of a tensor of strings individually.
  static Tensor Strings(const Tensor& x, const std::vector<IndexedAxis>& axes, const Shape& shape) {
    const int64_t count = shape.elements();
    std::vector<std::string_view> items;
    std::vector<int64_t> at(axes.size());
    for (int64_t n = 0; n < count; ++n) {
      int64_t item = 0;
      for (size_t i = 0; i < axes.size(); ++i) {
        item = item * x.shape()[static_cast<int>(i)] + axes[i].begin + at[i] * axes[i].step;
      }
      items.push_back(x.string(item));
      for (size_t i = axes.size(); i-- > 0;) {
        if (++at[i] < axes[i].count) break;
        at[i] = 0;
      }
    }
    return Tensor::Strings(x.dtype().code, shape, items);
  }

  const std::vector<int64_t> parts_;
};

const RegisterOp getitem_op("getitem", NewOp<GetItem>);

}  // namespace
}  // namespace penstock
