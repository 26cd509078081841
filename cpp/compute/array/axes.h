// Reads the arguments and inputs that give axes and sizes to operations on arrays.
#pragma once

#include <cstdint>
#include <vector>

#include "data/tensor.h"

namespace penstock {

// Whether these name the only axis of an array with one axis. For a number without axes, NumPy
// takes them as no axes.
bool IsOnlyAxis(const std::vector<int64_t>& axes);

// An axis counted from the front; an Error that names operation and argument when there is no such
// axis.
int NormalAxis(const char* op, const char* argument, int64_t axis, int rank);

// Which axes are named: one flag for each axis. An Error when one is named twice.
std::vector<bool> NamedAxes(const char* op, const std::vector<int64_t>& axes, int rank);

// A shape of these sizes; an Error when its items could not be counted.
Shape ShapeOfSizes(const char* op, const char* argument, const std::vector<int64_t>& sizes);

// A shape from an input of integers, shape (rank,) or one of them alone, each >= `least`.
Shape ShapeFrom(const char* op, const char* argument, const Tensor& sizes, int64_t least);

// The distance in items from one item to the next along each axis of an array that is broadcast to
// `shape`: 0 along axes where it is repeated. An Error when it cannot be broadcast.
std::vector<int64_t> BroadcastStrides(const char* op, const Shape& from, const Shape& shape);

// `shape` and `other` broadcast against each other, by NumPy's rules.
Shape BroadcastShapes(const char* op, const Shape& shape, const Shape& other);

}  // namespace penstock
