// Reads arguments and inputs that specify axes and sizes of arrays.
#pragma once

#include <cstdint>
#include <vector>

#include "data/tensor.h"

namespace penstock {

// Whether these name the only axis of a one-dimensional array. For a number without axes, NumPy
// treats that as no axes.
bool IsOnlyAxis(const std::vector<int64_t>& axes);

// Normalises an axis to count from the front. Throws an Error that names operation and argument if
// the axis does not exist.
int NormalAxis(const char* op, const char* argument, int64_t axis, int rank);

// One flag for each axis: whether it is named. Throws an Error if an axis is named twice.
std::vector<bool> NamedAxes(const char* op, const std::vector<int64_t>& axes, int rank);

// A shape of these sizes. Throws an Error if the number of its items would overflow.
Shape ShapeOfSizes(const char* op, const char* argument, const std::vector<int64_t>& sizes);

// A shape from an input of integers, either shape (rank,) or a single one, each >= `least`.
Shape ShapeFrom(const char* op, const char* argument, const Tensor& sizes, int64_t least);

// The distance in items between neighbours along each axis of an array that is broadcast to
// `shape`: 0 along axes where it is repeated. Throws an Error if it cannot be broadcast.
std::vector<int64_t> BroadcastStrides(const char* op, const Shape& from, const Shape& shape);

// `shape` and `other` broadcast against each other, by NumPy's rules.
Shape BroadcastShapes(const char* op, const Shape& shape, const Shape& other);

}  // namespace penstock
