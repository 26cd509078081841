// Converts types and shapes of elements from and to Python.
#pragma once

#include <pybind11/pybind11.h>

#include <optional>
#include <vector>

#include "data/spec.h"

namespace penstock {

// Converts nested objects with `shape` (None, or a sequence of int and None) and `dtype`.
ElementSpec SpecOfPython(const pybind11::object& nested);

// Nested results of `make_leaf(shape, dtype)`; None if the spec is not known yet.
pybind11::object SpecToPython(const MaybeSpec& spec, const pybind11::object& make_leaf);

// The shapes of leaves, in order, as far as they hold for all elements; nullopt: unknown.
using KnownShapes = std::vector<std::optional<std::vector<std::optional<int64_t>>>>;

// The spec of all elements: dtypes and numbers of axes are assumed to be those of the first
// element; sizes are kept only if they are in `shapes`.
ElementSpec KnownOfAll(const ElementSpec& first, const KnownShapes& shapes);

}  // namespace penstock
