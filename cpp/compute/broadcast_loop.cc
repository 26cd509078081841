// Joins contiguous axes, and copies short repeated rows.
#include "compute/broadcast_loop.h"

#include <algorithm>
#include <cstring>

namespace penstock {
namespace {

constexpr int64_t kShortRow = 64;  // items
constexpr size_t kTileBytes = 4096;

// The first `rank` axes are used; the innermost is the last.
struct Axes {
  int rank = 0;
  std::array<int64_t, kMaxRank> dims{};
  std::array<std::array<intptr_t, kMaxRank>, kMostOperands> strides{};
};

// Joins axes that are contiguous in every operand.
Axes Joined(const Operands& operands, size_t count, const Shape& shape) {
  Axes axes;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == 1) continue;
    bool joined = axes.rank > 0;
    for (size_t i = 0; joined && i < count; ++i) {
      joined = axes.strides[i][axes.rank - 1] == operands[i].strides[axis] * shape[axis];
    }
    if (joined) {
      axes.dims[axes.rank - 1] *= shape[axis];
    } else {
      axes.dims[axes.rank++] = shape[axis];
    }
    for (size_t i = 0; i < count; ++i) {
      axes.strides[i][axes.rank - 1] = operands[i].strides[axis];
    }
  }
  if (axes.rank == 0) axes.dims[axes.rank++] = 1;
  return axes;
}

// The form of an operand on the two inner axes.
enum class Inner {
  kWhole,     // contiguous items, or one item for all
  kRepeated,  // the same row everywhere, on all outer axes
  kOtherwise,
};

Inner InnerOf(const Axes& axes, size_t operand) {
  const auto& strides = axes.strides[operand];
  const int last = axes.rank - 1;
  if (strides[last - 1] == strides[last] * axes.dims[last]) return Inner::kWhole;
  const bool repeated = std::all_of(strides.begin(), strides.begin() + last,
                                    [](intptr_t stride) { return stride == 0; });
  return repeated ? Inner::kRepeated : Inner::kOtherwise;
}

// Copies of repeated rows, which make one axis of the two inner ones.
class Tiles {
 public:
  // False if the operands do not have this form.
  bool Make(const LoopTable::Loop& loop, Operands& operands, Axes& axes) {
    if (axes.rank < 2 || axes.dims[axes.rank - 1] > kShortRow) return false;
    const int64_t length = axes.dims[axes.rank - 1];
    rows_ = axes.dims[axes.rank - 2];
    for (size_t i = 0; i < loop.types.size(); ++i) {
      const Inner inner = InnerOf(axes, i);
      const size_t item = loop.types[i].itemsize;
      if (inner == Inner::kOtherwise || loop.types[i].code >= TypeCode::kComplex64) return false;
      repeated_[i] = inner == Inner::kRepeated;
      if (!repeated_[i]) continue;
      rows_ = std::min(rows_, static_cast<int64_t>(kTileBytes / item) / length);
    }
    if (rows_ < 4) return false;
    for (size_t i = 0; i < loop.types.size(); ++i) {
      if (repeated_[i]) WriteOut(operands[i], axes.strides[i][axes.rank - 1], i, length, loop);
    }
    for (size_t i = 0; i < loop.types.size(); ++i) {
      if (repeated_[i]) axes.strides[i][axes.rank - 1] = loop.types[i].itemsize;
      axes.strides[i][axes.rank - 2] = axes.strides[i][axes.rank - 1];
    }
    axes.dims[axes.rank - 2] *= length;
    --axes.rank;
    most_ = rows_ * length;
    return true;
  }
  // The maximum number of items per call of the loop.
  int64_t most() const { return most_; }
  bool repeated(size_t operand) const { return repeated_[operand]; }

 private:
  void WriteOut(Strided& operand, intptr_t stride, size_t number, int64_t length,
                const LoopTable::Loop& loop) {
    const size_t item = loop.types[number].itemsize;
    char* const tile = tiles_[number].bytes;
    for (int64_t i = 0; i < length; ++i) {
      std::memcpy(tile + static_cast<size_t>(i) * item, operand.data + i * stride, item);
    }
    const size_t all = static_cast<size_t>(rows_ * length) * item;
    for (size_t done = static_cast<size_t>(length) * item; done < all;) {  // doubles each time
      const size_t more = std::min(done, all - done);
      std::memcpy(tile + done, tile, more);
      done += more;
    }
    operand.data = tile;
  }

  struct Tile {
    alignas(64) char bytes[kTileBytes];
  };
  std::array<Tile, kMostOperands> tiles_;
  std::array<bool, kMostOperands> repeated_{};
  int64_t rows_ = 0;
  int64_t most_ = 0;
};

}  // namespace

Strided Broadcast(const uint8_t* data, const Shape& from, size_t item, const Shape& shape) {
  Strided operand{reinterpret_cast<char*>(const_cast<uint8_t*>(data)), {}};
  auto stride = static_cast<intptr_t>(item);
  for (int i = from.rank() - 1, to = shape.rank() - 1; i >= 0; --i, --to) {
    if (from[i] != 1) operand.strides[static_cast<size_t>(to)] = stride;
    stride *= from[i];
  }
  return operand;
}

Tensor WrittenOut(const Strided& operand, DType type, const Shape& shape) {
  Tensor out = Tensor::Make(type, shape);
  const LoopTable::Loop copy{
      [](char** args, const intptr_t* count, const intptr_t* strides, void* size) {
        for (intptr_t i = 0; i < *count; ++i) {
          std::memcpy(args[1] + i * strides[1], args[0] + i * strides[0],
                      *static_cast<const uint32_t*>(size));
        }
      },
      &type.itemsize,
      {type, type}};
  RunBroadcast(copy, {operand, Broadcast(out.data(), shape, type.itemsize, shape)}, shape, false);
  return out;
}

void RunBroadcast(const LoopTable::Loop& loop, const Operands& given, const Shape& shape,
                  bool exact) {
  const size_t count = loop.types.size();
  Operands operands = given;
  Axes axes = Joined(operands, count, shape);
  Tiles tiles;
  const bool tiled = exact && tiles.Make(loop, operands, axes);
  const int last = axes.rank - 1;
  std::array<intptr_t, kMostOperands> inner{};
  for (size_t i = 0; i < count; ++i) inner[i] = axes.strides[i][last];
  std::array<int64_t, kMaxRank> at{};
  for (;;) {
    std::array<char*, kMostOperands> args{};
    for (size_t i = 0; i < count; ++i) args[i] = operands[i].data;
    for (int64_t left = axes.dims[last]; left > 0;) {
      const intptr_t length = tiled ? std::min(left, tiles.most()) : left;
      loop.run(args.data(), &length, inner.data(), loop.data);
      left -= length;
      for (size_t i = 0; i < count && left > 0; ++i) {
        // A loop may have changed the pointers.
        args[i] = operands[i].data;
        if (!tiles.repeated(i)) args[i] += (axes.dims[last] - left) * inner[i];
      }
    }
    int axis = last - 1;
    for (; axis >= 0; --axis) {
      for (size_t i = 0; i < count; ++i) operands[i].data += axes.strides[i][axis];
      if (++at[axis] < axes.dims[axis]) break;
      at[axis] = 0;
      for (size_t i = 0; i < count; ++i)
        operands[i].data -= axes.strides[i][axis] * axes.dims[axis];
    }
    if (axis < 0) return;
  }
}

}  // namespace penstock
