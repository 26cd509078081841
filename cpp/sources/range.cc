// range: integers in steps, of any numeric type.
#include <cstring>
#include <limits>

#include "pipeline/registry.h"
#include "pipeline/session.h"

namespace penstock {
namespace {

template <typename T>
void Fill(void* out, int64_t start, int64_t step, int64_t rows) {
  T* to = static_cast<T*>(out);
  for (int64_t i = 0; i < rows; ++i) to[i] = static_cast<T>(start + i * step);
}

using FillFunction = void (*)(void*, int64_t, int64_t, int64_t);

FillFunction FillOf(const LeafSpec& leaf) {
  switch (leaf.dtype.code) {
    case TypeCode::kInt8:
      return Fill<int8_t>;
    case TypeCode::kInt16:
      return Fill<int16_t>;
    case TypeCode::kInt32:
      return Fill<int32_t>;
    case TypeCode::kInt64:
      return Fill<int64_t>;
    case TypeCode::kUInt8:
      return Fill<uint8_t>;
    case TypeCode::kUInt16:
      return Fill<uint16_t>;
    case TypeCode::kUInt32:
      return Fill<uint32_t>;
    case TypeCode::kUInt64:
      return Fill<uint64_t>;
    case TypeCode::kFloat32:
      return Fill<float>;
    case TypeCode::kFloat64:
      return Fill<double>;
    default:
      throw Error(ErrorKind::kType, "range: output_type must be an integer or float type, got {}",
                  leaf.dtype.name());
  }
}

class RangeDataset final : public Dataset, public Indexed {
 public:
  RangeDataset(int64_t start, int64_t stop, int64_t step, ElementSpec spec)
      : start_(start), step_(step), spec_(std::move(spec)), fill_(FillOf(spec_.leaves[0])) {
    if (step == 0) throw Error(ErrorKind::kInvalidArgument, "range: step must not be 0");
    // Unsigned: the distance between two int64 may not fit one.
    uint64_t distance = step > 0 ? static_cast<uint64_t>(stop) - static_cast<uint64_t>(start)
                                 : static_cast<uint64_t>(start) - static_cast<uint64_t>(stop);
    uint64_t stride =
        step > 0 ? static_cast<uint64_t>(step) : uint64_t{0} - static_cast<uint64_t>(step);
    bool empty = step > 0 ? start >= stop : start <= stop;
    uint64_t size = empty ? 0 : (distance - 1) / stride + 1;
    if (size > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      throw Error(ErrorKind::kInvalidArgument,
                  "range: fewer than 2^63 elements were expected, got {}", size);
    }
    size_ = static_cast<int64_t>(size);
  }

  int64_t cardinality() const override { return size_; }
  MaybeSpec spec() const override { return spec_; }
  const Indexed* indexed() const override { return this; }
  int64_t size() const override { return size_; }

  Block Rows(int64_t first, int64_t rows) const override {
    Block block;
    block.rows = rows;
    if (rows == 1) {  // inside the tensor: no memory to be had
      uint8_t item[16];
      fill_(item, start_ + first * step_, step_, 1);
      block.columns.push_back(Tensor::ScalarBytes(spec_.leaves[0].dtype, item).Reshaped({1}));
    } else {
      block.columns.push_back(Tensor::Make(spec_.leaves[0].dtype, {rows}));
      fill_(block.columns[0].mutable_data(), start_ + first * step_, step_, rows);
    }
    block.first.key = static_cast<uint64_t>(first);
    block.first.index = first;
    return block;
  }

  Block Gather(const int64_t* indices, int64_t rows) const override {
    Block block;
    block.rows = rows;
    block.columns.push_back(Tensor::Make(spec_.leaves[0].dtype, {rows}));
    uint8_t* to = block.columns[0].mutable_data();
    block.keys.assign(indices, indices + rows);
    for (int64_t i = 0; i < rows; ++i) {
      fill_(to + i * spec_.leaves[0].dtype.itemsize, start_ + indices[i] * step_, step_, 1);
    }
    return block;
  }

 protected:
  IteratorPtr MakeIterator(const RunContext&) const override;

 private:
  int64_t start_;
  int64_t step_;
  ElementSpec spec_;
  FillFunction fill_;
  int64_t size_;
};

IteratorPtr RangeDataset::MakeIterator(const RunContext&) const {
  return MakeRowIterator(shared_from_this(), *this);
}

const RegisterDataset registration(
    "range", [](const std::vector<DatasetPtr>&, const Args& args) -> std::shared_ptr<Dataset> {
      return std::make_shared<RangeDataset>(args.Int("start"), args.Int("stop"), args.Int("step"),
                                            args.Spec("output_type"));
    });

}  // namespace
}  // namespace penstock
