// Types and shapes of elements, from and to Python.
#pragma once

#include <pybind11/pybind11.h>

#include <optional>
#include <vector>

#include "data/spec.h"

namespace penstock {

// From nested objects with `shape` (None, or a sequence of int and None) and `dtype`.
ElementSpec SpecOfPython(const pybind11::object& nested);

// Nested `make_leaf(shape, dtype)` results; None when it is not known yet.
pybind11::object SpecToPython(const MaybeSpec& spec, const pybind11::object& make_leaf);

// The shapes of leaves, in their order, as far as they are known of all elements; nullopt: unknown.
using KnownShapes = std::vector<std::optional<std::vector<std::optional<int64_t>>>>;

// What is known of all elements: dtypes and numbers of axes, which are taken to be those of the
// first one, and sizes that are among `shapes`.
ElementSpec KnownOfAll(const ElementSpec& first, const KnownShapes& shapes);

}  // namespace penstock
