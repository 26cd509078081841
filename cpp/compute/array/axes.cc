// Checks axes and sizes, and broadcasts shapes.
#include "compute/array/axes.h"

#include <algorithm>

#include "compute/operand.h"
#include "data/error.h"

namespace penstock {

bool IsOnlyAxis(const std::vector<int64_t>& axes) {
  return axes.size() == 1 && (axes[0] == 0 || axes[0] == -1);
}

int NormalAxis(const char* op, const char* argument, int64_t axis, int rank) {
  if (rank == 0) {
    throw Error(ErrorKind::kInvalidArgument, "{}: {} {} is not an axis of a number, which has none",
                std::string_view(op), std::string_view(argument), axis);
  }
  if (axis < -rank || axis >= rank) {
    throw Error(ErrorKind::kInvalidArgument, "{}: {} must lie in [{}, {}), got {}",
                std::string_view(op), std::string_view(argument), -rank, rank, axis);
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::vector<bool> NamedAxes(const char* op, const std::vector<int64_t>& axes, int rank) {
  std::vector<bool> named(static_cast<size_t>(rank));
  for (int64_t axis : axes) {
    auto found = static_cast<size_t>(NormalAxis(op, "axis", axis, rank));
    if (named[found]) {
      throw Error(ErrorKind::kInvalidArgument, "{}: axis must name no axis twice, got {} again",
                  std::string_view(op), axis);
    }
    named[found] = true;
  }
  return named;
}

Shape ShapeOfSizes(const char* op, const char* argument, const std::vector<int64_t>& sizes) {
  constexpr int64_t kMostItems = int64_t{1} << 56;  // the number of bytes must not overflow
  int64_t items = 1;
  for (int64_t size : sizes) {
    if (size > 0 && items > kMostItems / size) {
      throw Error(ErrorKind::kInvalidArgument, "{}: {} makes an array of more than {} items",
                  std::string_view(op), std::string_view(argument), kMostItems);
    }
    if (size > 0) items *= size;
  }
  return {sizes.data(), sizes.size()};
}

Shape ShapeFrom(const char* op, const char* argument, const Tensor& sizes, int64_t least) {
  const bool one = sizes.shape().rank() == 0;  // a single size, not in a list
  int64_t count = one ? 1 : sizes.shape().rank() == 1 ? sizes.shape()[0] : 0;
  std::vector<int64_t> dims =
      Operand{op, argument}.Integers(one ? sizes.Reshaped({1}) : sizes, count);
  for (int64_t size : dims) {
    if (size < least) {
      throw Error(ErrorKind::kInvalidArgument, "{}: {} must hold sizes >= {}, got {}",
                  std::string_view(op), std::string_view(argument), least, size);
    }
  }
  return ShapeOfSizes(op, argument, dims);
}

std::vector<int64_t> BroadcastStrides(const char* op, const Shape& from, const Shape& shape) {
  std::vector<int64_t> strides(static_cast<size_t>(shape.rank()));
  int64_t stride = 1;
  for (int i = from.rank() - 1, to = shape.rank() - 1; i >= 0; --i, --to) {
    if (to < 0 || (from[i] != 1 && from[i] != shape[to])) {
      throw Error(ErrorKind::kInvalidArgument, "{}: shape {} cannot be broadcast to {}",
                  std::string_view(op), from.ToString(), shape.ToString());
    }
    if (from[i] != 1) strides[static_cast<size_t>(to)] = stride;
    stride *= from[i];
  }
  return strides;
}

Shape BroadcastShapes(const char* op, const Shape& shape, const Shape& other) {
  Shape wide = shape.rank() >= other.rank() ? shape : other;
  const Shape& narrow = shape.rank() >= other.rank() ? other : shape;
  for (int a = narrow.rank() - 1, b = wide.rank() - 1; a >= 0; --a, --b) {
    if (wide[b] == 1) {
      wide[b] = narrow[a];
    } else if (narrow[a] != 1 && narrow[a] != wide[b]) {
      throw Error(ErrorKind::kInvalidArgument, "{}: shapes {} and {} cannot be broadcast together",
                  std::string_view(op), shape.ToString(), other.ToString());
    }
  }
  return wide;
}

}  // namespace penstock
