// What takes over where a free-threaded Python has no GIL. In builds with one it is empty.
#pragma once

#include <mutex>

#include "python/gil.h"
#include "python/python.h"

namespace penstock {

#if defined(Py_GIL_DISABLED)

// Over state that the GIL guards where there is one. A leaf lock, held while nothing of Python is
// called that waits or runs code: a thread that is stopped for the collector or a fork never has
// it, so that whoever wants it may wait attached.
using InsteadOfGil = std::mutex;

// What the GIL gives the methods of an object: while one thread is in them no other one is, but for
// the times when it waits, runs code of Python, or has let go.
class ObjectLock final {
 public:
  explicit ObjectLock(PyObject* object) : object_(object) {
    PyCriticalSection_Begin(&section_, object_);
  }
  ~ObjectLock() { PyCriticalSection_End(&section_); }
  ObjectLock(const ObjectLock&) = delete;
  ObjectLock& operator=(const ObjectLock&) = delete;

  // Lets go of it for a scope, at the end of which the thread is attached.
  class Released final {
   public:
    Released(ObjectLock& lock, Attachment& attachment) : lock_(lock), attachment_(attachment) {
      PyCriticalSection_End(&lock_.section_);
    }
    ~Released() {
      attachment_.Attach();
      PyCriticalSection_Begin(&lock_.section_, lock_.object_);
    }
    Released(const Released&) = delete;
    Released& operator=(const Released&) = delete;

   private:
    ObjectLock& lock_;
    Attachment& attachment_;
  };

 private:
  PyObject* object_;
  PyCriticalSection section_;
};

// Whether the caller's reference is the only one, so that no other thread can get at the object. A
// count of 1 does not say so: others may be counted by other threads, or not at all.
inline bool IsUnique(PyObject* object) {
#if PY_VERSION_HEX >= 0x030E0000
  return PyUnstable_Object_IsUniquelyReferenced(object);
#else  // the same
  return _Py_IsOwnedByCurrentThread(object) &&
         _Py_atomic_load_uint32_relaxed(&object->ob_ref_local) == 1 &&
         _Py_atomic_load_ssize_acquire(&object->ob_ref_shared) == 0;
#endif
}

// Whether the collector has found the object to be garbage, which it may just be finalizing: it
// decides while all threads are stopped, and then lets them run. For who has taken a reference, and
// would be the only one to have it: the collector sees that reference the next time.
inline bool IsCondemned(PyObject* object) {
#if PY_VERSION_HEX < 0x030F0000
  constexpr uint8_t kUnreachable = 1 << 2;  // pycore_gc.h
  return _Py_atomic_load_uint8_relaxed(&object->ob_gc_bits) & kUnreachable;
#else
  return PyObject_GC_IsFinalized(object);
#endif
}

#else

class InsteadOfGil final {
 public:
  void lock() {}
  void unlock() {}
};

class ObjectLock final {
 public:
  explicit ObjectLock(PyObject*) {}
  ~ObjectLock() {}  // not trivial: a lock that is only made is in use
  ObjectLock(const ObjectLock&) = delete;
  ObjectLock& operator=(const ObjectLock&) = delete;

  class Released final {
   public:
    Released(ObjectLock&, Attachment& attachment) : attachment_(attachment) {}
    ~Released() { attachment_.Attach(); }
    Released(const Released&) = delete;
    Released& operator=(const Released&) = delete;

   private:
    Attachment& attachment_;
  };
};

inline bool IsUnique(PyObject* object) { return Py_REFCNT(object) == 1; }

inline bool IsCondemned(PyObject*) { return false; }

#endif

}  // namespace penstock
