// Walks nested specifications, leaf by leaf.
#include "python/specs.h"

#include <string>

#include "python/errors.h"
#include "python/pytree.h"
#include "python/types.h"

namespace py = pybind11;

namespace penstock {

ElementSpec SpecOfPython(const py::object& nested) {
  Flattened flat;
  if (!Flatten(nested.ptr(), &flat)) throw py::error_already_set();
  ElementSpec spec;
  spec.structure = flat.structure;
  for (PyObject* leaf : flat.leaves) {
    LeafSpec one;
    auto object = py::reinterpret_borrow<py::object>(leaf);
    if (!py::hasattr(object, "shape") || !py::hasattr(object, "dtype")) {
      throw Error(ErrorKind::kType, "signature: a TensorSpec was expected at each leaf, got {}",
                  std::string(py::str(py::repr(object))));
    }
    if (!DTypeOfObject(object.attr("dtype").ptr(), &one.dtype)) throw py::error_already_set();
    py::object shape = object.attr("shape");
    if (shape.is_none()) {
      one.any_rank = true;
    } else {
      std::vector<int64_t> dims;
      for (auto dim : shape) {
        dims.push_back(dim.is_none() ? -1 : PyLong_AsLongLong(dim.ptr()));
        if (PyErr_Occurred()) {
          PyErr_Clear();
          throw Error(ErrorKind::kInvalidArgument,
                      "signature: sizes of axes must be ints of 64 bits, got {}",
                      std::string(py::str(py::repr(dim))));
        }
      }
      one.shape = Shape(dims.data(), dims.size());
    }
    spec.leaves.push_back(one);
  }
  return spec;
}

py::object SpecToPython(const MaybeSpec& spec, const py::object& make_leaf) {
  if (!spec) return py::none();
  std::vector<PyObject*> leaves;
  for (auto& leaf : spec->leaves) {
    py::object shape = py::none();
    if (!leaf.any_rank) {
      py::tuple dims(static_cast<size_t>(leaf.shape.rank()));
      for (int i = 0; i < leaf.shape.rank(); ++i) {
        dims[static_cast<size_t>(i)] =
            leaf.shape[i] < 0 ? py::object(py::none()) : py::object(py::int_(leaf.shape[i]));
      }
      shape = dims;
    }
    py::object dtype = py::reinterpret_steal<py::object>(DTypeToObject(leaf.dtype));
    if (!dtype) throw py::error_already_set();
    leaves.push_back(make_leaf(shape, dtype).release().ptr());
  }
  PyObject* nested = Unflatten(spec->structure, leaves.data());
  if (!nested) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(nested);
}

ElementSpec KnownOfAll(const ElementSpec& first, const KnownShapes& shapes) {
  ElementSpec known = first;
  for (size_t i = 0; i < known.leaves.size(); ++i) {
    Shape& shape = known.leaves[i].shape;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const auto place = static_cast<size_t>(axis);
      const bool said = i < shapes.size() && shapes[i] && place < shapes[i]->size();
      shape[axis] = said ? (*shapes[i])[place].value_or(-1) : -1;
    }
  }
  return known;
}

}  // namespace penstock
