// The Python iterator object.
#pragma once

#include "python/free_threads.h"
#include "python/runs.h"

namespace penstock {

// Both the object and its run are used with its ObjectLock.
struct Iter {
  PyObject_HEAD
      // Number of scalars or strings that are ready: the fast path of __next__ reads nothing else.
      int64_t scalars_left;
  const uint8_t* scalar;
  const Tensor* strings;  // null: scalars
  DType dtype;
  int flip;
  PyRef reuse[2];  // two, because the consumer's variable still refers to the last one
  Run* run;
};

// For an object whose subclass skipped __init__, or that was made by __new__ alone.
inline Error NotMade() {
  return Error(ErrorKind::kType,
               "iterator: __init__ was not called; iterators are made by iter(dataset)");
}

// The iterator's __next__: the hot path.
PyObject* IterNext(PyObject* self);
// Whether a run that ran out of memory in the middle of a step can continue from an earlier state
// of its stages. That requires that repeated steps produce the same elements.
bool GoesOn(const Run& run);
// Calls the on_end callback, once, with the number of elements delivered and the seconds spent
// fetching them. An exception from the callback becomes the iterator's error.
void SayEnd(Run& run);
// IsReady: whether __next__ would return without waiting. MakeReady: waits until it would. They
// throw an Error, or the pybind11 form of a Python exception.
bool IsReady(const Iter* it);
void MakeReady(Iter* it, ObjectLock& lock);

}  // namespace penstock
