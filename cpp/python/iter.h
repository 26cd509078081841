// The object of Python's iterator.
#pragma once

#include "python/free_threads.h"
#include "python/runs.h"

namespace penstock {

// Used with its ObjectLock, as its run.
struct Iter {
  PyObject_HEAD
      // A run of scalars or strings that is ready: handed out without looking at anything else.
      int64_t scalars_left;
  const uint8_t* scalar;
  const Tensor* strings;  // null: scalars
  DType dtype;
  int flip;
  PyRef reuse[2];  // two, because the consumer's variable still holds the last one
  Run* run;
};

// A subclass has skipped __init__, or it was made by __new__ alone.
inline Error NotMade() {
  return Error(ErrorKind::kType,
               "iterator: __init__ was not called; iterators are made by iter(dataset)");
}

// Its __next__: the hot path.
PyObject* IterNext(PyObject* self);
// Whether a run that ran out of memory in the middle of a step can continue from an earlier state
// of its stages. Repeated steps must produce the same elements.
bool GoesOn(const Run& run);
// Calls what is to be called once at the end, with how many elements there were and the seconds of
// waiting for them; what that raises is the iterator's error.
void SayEnd(Run& run);
// Whether it would return without waiting, and waiting until it would. Throw an Error, or what
// pybind11 makes of a Python exception.
bool IsReady(const Iter* it);
void MakeReady(Iter* it, ObjectLock& lock);

}  // namespace penstock
