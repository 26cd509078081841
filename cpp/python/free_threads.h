// Replaces the guarantees of the GIL in free-threaded Python. Empty in builds with a GIL.
#pragma once

#include <mutex>

#include "python/gil.h"
#include "python/python.h"

namespace penstock {

#if defined(Py_GIL_DISABLED)

// Protects state that the GIL protects in other builds. A leaf lock: its holder never calls Python
// APIs that wait or run code. So a thread that is stopped for the collector or a fork never holds
// it, and other threads may wait for it while attached.
using InsteadOfGil = std::mutex;

// Gives the methods of one object what the GIL would: mutual exclusion, except where the holder
// waits, runs Python code, or releases the lock.
class ObjectLock final {
 public:
  explicit ObjectLock(PyObject* object) : object_(object) {
    PyCriticalSection_Begin(&section_, object_);
  }
  ~ObjectLock() { PyCriticalSection_End(&section_); }
  ObjectLock(const ObjectLock&) = delete;
  ObjectLock& operator=(const ObjectLock&) = delete;

  // Releases the lock for a scope. The thread is attached when the scope ends.
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

// Whether the caller's reference is the only one, so that no other thread can reach the object. A
// reference count of 1 is not enough: references of other threads may be counted elsewhere, or not
// at all.
inline bool IsUnique(PyObject* object) {
#if PY_VERSION_HEX >= 0x030E0000
  return PyUnstable_Object_IsUniquelyReferenced(object);
#else  // the equivalent before 3.14
  return _Py_IsOwnedByCurrentThread(object) &&
         _Py_atomic_load_uint32_relaxed(&object->ob_ref_local) == 1 &&
         _Py_atomic_load_ssize_acquire(&object->ob_ref_shared) == 0;
#endif
}

// Whether the collector has determined that the object is garbage and may now be finalizing it: it
// decides while all threads are stopped, and then resumes them. For callers that have just taken
// what may be the only reference; the collector sees that reference in its next run.
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
  ~ObjectLock() {}  // not trivial, which avoids warnings about unused locks
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
