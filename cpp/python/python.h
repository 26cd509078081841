// Python and NumPy for this folder: include this first, and Python.h nowhere else.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define PY_ARRAY_UNIQUE_SYMBOL penstock_ARRAY_API
#ifndef PENSTOCK_IMPORT_ARRAY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include <memory>
#include <utility>

namespace penstock {

// Called once, before any other use of NumPy; false with a Python exception set.
bool ImportNumPy();

// An owned reference. May be destroyed with or without the GIL: without it, the next holder of the
// GIL releases the object (gil.h).
class PyRef {
 public:
  PyRef() = default;
  // Steal takes over a new reference; Borrow adds a reference to an object (needs the GIL).
  static PyRef Steal(PyObject* object) { return PyRef(object); }
  static PyRef Borrow(PyObject* object) {
    Py_XINCREF(object);
    return PyRef(object);
  }
  PyRef(PyRef&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  PyRef& operator=(PyRef&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~PyRef();

  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  explicit PyRef(PyObject* object) : object_(object) {}
  PyObject* object_ = nullptr;
};

// Takes over the reference and wraps it as a shared opaque object for the engine.
std::shared_ptr<void> ToForeign(PyRef object);

}  // namespace penstock
