// Copies each row into the corner of its area in the batch, and fills the rest of the area.
#include "data/padder.h"

#include <algorithm>
#include <cstring>

#include "runtime/blocking.h"

namespace penstock {
namespace {

// Iterates over one row of the batch in order, and reports runs, as long as possible, of items to
// copy and of padding.
class Corner {
 public:
  // The shapes include the axis of rows.
  Corner(const Shape& whole, const Shape& part) : axes_(std::max(whole.rank() - 1, 1)) {
    for (int i = 0; i < axes_; ++i) {
      bool real = i + 1 < whole.rank();
      whole_[i] = real ? whole[i + 1] : 1;
      part_[i] = real ? part[i + 1] : 1;
    }
    int64_t whole_items = 1, part_items = 1;
    for (int i = axes_ - 1; i >= 0; --i) {
      whole_stride_[i] = whole_items;
      part_stride_[i] = part_items;
      whole_items *= whole_[i];
      part_items *= part_[i];
    }
    whole_items_ = whole_items;
    part_items_ = part_items;
    // All later axes have the same size, so they are copied in one run.
    while (flat_ > 0 && whole_[flat_] == part_[flat_]) --flat_;
  }

  int64_t whole_items() const { return whole_items_; }
  int64_t part_items() const { return part_items_; }

  // Calls copy(to, from, items) and fill(to, items) in the order of `to`.
  template <typename Copy, typename Fill>
  void Run(int64_t to, int64_t from, Copy& copy, Fill& fill, int axis = 0) const {
    if (part_items_ == 0) {
      fill(to, whole_items_);
    } else if (axis == flat_) {
      copy(to, from, part_[axis] * part_stride_[axis]);
      Rest(to, axis, fill);
    } else {
      for (int64_t i = 0; i < part_[axis]; ++i) {
        Run(to + i * whole_stride_[axis], from + i * part_stride_[axis], copy, fill, axis + 1);
      }
      Rest(to, axis, fill);
    }
  }

 private:
  template <typename Fill>
  void Rest(int64_t to, int axis, Fill& fill) const {
    int64_t left = (whole_[axis] - part_[axis]) * whole_stride_[axis];
    if (left > 0) fill(to + part_[axis] * whole_stride_[axis], left);
  }

  int axes_;
  int flat_ = axes_ - 1;
  int64_t whole_[kMaxRank] = {}, part_[kMaxRank] = {};
  int64_t whole_stride_[kMaxRank] = {}, part_stride_[kMaxRank] = {};
  int64_t whole_items_ = 1, part_items_ = 1;
};

// Fills memory with copies of an item.
void Repeat(uint8_t* to, const uint8_t* item, size_t itemsize, int64_t count) {
  size_t bytes = static_cast<size_t>(count) * itemsize;
  bool alike = std::all_of(item, item + itemsize, [&](uint8_t byte) { return byte == item[0]; });
  if (alike) {
    std::memset(to, item[0], bytes);
    return;
  }
  constexpr size_t kMost = 4096;  // copied from the L1 cache
  std::memcpy(to, item, itemsize);
  for (size_t done = itemsize; done < bytes;) {
    size_t next = std::min({done, bytes - done, std::max(kMost / itemsize * itemsize, itemsize)});
    std::memcpy(to + done, to, next);
    done += next;
  }
}

}  // namespace

void Padder::Begin(const Structure* structure, const std::vector<DType>& dtypes) {
  if (structure == structure_ && dtypes == dtypes_ && !unmatched_) return;
  unmatched_.reset();
  try {
    leaves_ = rules_->Match(structure, dtypes);
  } catch (const Error& error) {
    // The padding value may have a different dtype than the empty lists so far.
    if (!open() || error.kind() != ErrorKind::kType) throw;
    unmatched_ = error;
    leaves_ = PaddingRules(stage(), nullptr, nullptr, nullptr).Match(structure, dtypes);
  }
  structure_ = structure;
  dtypes_ = dtypes;
}

std::optional<std::string> Padder::Misfit(size_t leaf, const Tensor& column) const {
  Shape came = column.shape().WithoutFirst();
  const LeafPadding& rule = leaves_[leaf];
  if (column.dtype().code == TypeCode::kObject && came.rank() > 0 && column.elements() > 0) {
    return "is an array of opaque objects, which cannot be padded; make numbers or strings of them "
           "in a map first";
  }
  if (!rule.any_rank) {
    bool fits = came.rank() == rule.shape.rank();
    for (int d = 0; fits && d < came.rank(); ++d)
      fits = rule.shape[d] < 0 || came[d] <= rule.shape[d];
    if (fits) return std::nullopt;
    return Format(
        "has shape {}, padded_shapes allows {}; give a larger one, or cut the elements in "
        "a map first",
        came.ToString(), rule.shape.ToString());
  }
  if (stretches().empty()) return std::nullopt;
  Shape began = columns(stretches().front())[leaf].shape(0);
  if (came.rank() == began.rank()) return std::nullopt;
  return Format("has shape {}, the batch began with {}; the numbers of axes must be equal",
                came.ToString(), began.ToString());
}

Tensor Padder::Join(size_t leaf) {
  if (unmatched_) throw *unmatched_;
  const LeafPadding& rule = leaves_[leaf];
  std::vector<Shape> shapes;
  bool equal = true;
  for (const Stretch& stretch : stretches()) {
    shapes.push_back(columns(stretch)[leaf].Cover(stretch.rows));
    equal = equal && !columns(stretch)[leaf].ragged();
  }
  Shape shape = shapes.front();
  shape[0] = rows();
  for (int d = 1; d < shape.rank(); ++d) {
    int64_t fixed = rule.any_rank ? -1 : rule.shape[d - 1];
    int64_t most = fixed;
    for (const Shape& column : shapes) {
      if (fixed < 0) most = std::max(most, column[d]);
    }
    shape[d] = most;
    for (const Shape& column : shapes) equal = equal && column[d] == most;
  }
  if (!dtype(leaf).is_reference()) return JoinDense(leaf, shape);
  for (const Stretch& stretch : stretches()) {
    equal = equal && columns(stretch)[leaf].items.storage() == Storage::kObjects;
  }
  if (!equal) return JoinStrings(leaf, shape);
  return JoinItems(leaf, shape);  // nothing is padded: the references are moved
}

// Copies the rows of a stretch to the batch, starting at row `to`; item indices as in Corner.
template <typename Copy, typename Fill>
void Padder::CopyRows(const Stretch& stretch, size_t leaf, const Shape& shape, int64_t to,
                      Copy& copy, Fill& fill) {
  const Column& column = columns(stretch)[leaf];
  Shape part = column.items.shape();
  if (!column.ragged()) {
    Corner corner(shape, part);
    for (int64_t i = 0; i < stretch.rows && corner.whole_items() > 0; ++i) {
      corner.Run((to + i) * corner.whole_items(), i * corner.part_items(), copy, fill);
    }
    return;
  }
  part = part.Prepend(1);
  for (int64_t i = 0; i < stretch.rows; ++i) {
    const int64_t row = to + i;
    const auto [begin, count] = column.RangeOf(i);
    part[1] = count;
    if (shape.rank() == 2 && part[1] > 0) {  // the most common case
      copy(row * shape[1], begin, part[1]);
      if (part[1] < shape[1]) fill(row * shape[1] + part[1], shape[1] - part[1]);
      continue;
    }
    Corner corner(shape, part);
    if (corner.whole_items() == 0) return;
    int64_t item = part[1] > 0 ? corner.part_items() / part[1] : 0;
    corner.Run(row * corner.whole_items(), begin * item, copy, fill);
  }
}

Tensor Padder::JoinDense(size_t leaf, const Shape& shape) {
  const size_t size = dtype(leaf).itemsize;
  Tensor batch = Tensor::Make(dtype(leaf), shape);
  LeaveForeignLockToCopy(batch.nbytes());
  std::vector<uint8_t> item(size, 0);
  if (const auto& value = leaves_[leaf].value) std::memcpy(item.data(), value->data(), size);
  uint8_t* out = batch.mutable_data();
  const uint8_t* in = nullptr;
  auto copy = [&](int64_t to, int64_t from, int64_t items) {
    std::memcpy(out + static_cast<size_t>(to) * size, in + static_cast<size_t>(from) * size,
                static_cast<size_t>(items) * size);
  };
  auto fill = [&](int64_t to, int64_t items) {
    Repeat(out + static_cast<size_t>(to) * size, item.data(), size, items);
  };
  int64_t row = 0;
  for (const Stretch& stretch : stretches()) {
    in = columns(stretch)[leaf].items.data();
    CopyRows(stretch, leaf, shape, row, copy, fill);
    row += stretch.rows;
  }
  return batch;
}

// The padding is one string that all padded items refer to.
Tensor Padder::JoinStrings(size_t leaf, const Shape& shape) {
  std::string_view padding = leaves_[leaf].value ? leaves_[leaf].value->string() : "";
  size_t bytes = padding.size();
  for (const Stretch& stretch : stretches()) {
    const Tensor& column = columns(stretch)[leaf];
    for (int64_t i = 0; i < column.elements(); ++i) bytes += column.string(i).size();
  }
  // Sized as an array of spans, so that an absurd shape is an error.
  Shape doubled = shape;
  doubled[0] *= 2;
  Tensor numbers = Tensor::Make(DTypeOf<int64_t>(), doubled);
  LeaveForeignLockToCopy(bytes + numbers.nbytes());
  BufferRef text = Buffer::Allocate(bytes);
  auto* span = reinterpret_cast<int64_t*>(numbers.mutable_data());
  auto end = static_cast<int64_t>(padding.size());
  if (end) std::memcpy(text->data(), padding.data(), padding.size());
  const Tensor* column = nullptr;
  auto copy = [&](int64_t to, int64_t from, int64_t items) {
    for (int64_t i = 0; i < items; ++i) {
      std::string_view item = column->string(from + i);
      if (!item.empty()) std::memcpy(text->data() + end, item.data(), item.size());
      span[2 * (to + i)] = end;
      span[2 * (to + i) + 1] = end += static_cast<int64_t>(item.size());
    }
  };
  auto fill = [&](int64_t to, int64_t items) {
    for (int64_t i = to; i < to + items; ++i) {
      span[2 * i] = 0;
      span[2 * i + 1] = static_cast<int64_t>(padding.size());
    }
  };
  int64_t row = 0;
  for (const Stretch& stretch : stretches()) {
    column = &columns(stretch)[leaf].items;
    CopyRows(stretch, leaf, shape, row, copy, fill);
    row += stretch.rows;
  }
  TypeCode code = dtype(leaf).code;
  if (code == TypeCode::kObject) {  // all are empty: only the padding shows the type
    code = leaves_[leaf].value ? leaves_[leaf].value->dtype().code : TypeCode::kText;
  }
  return Tensor::Packed(code, shape, numbers.take_buffer(), std::move(text));
}

}  // namespace penstock
