// References of a run that the garbage collector sees through the run's iterator.
#pragma once

#include <memory>
#include <mutex>

#include "engine/session.h"
#include "python/free_threads.h"
#include "python/python.h"

namespace penstock {

// An object that belongs to a run (a generator, a dataset returned by a function) often refers to
// the object that holds the iterator of that run. The collector frees such a cycle only if it can
// account for every reference to its objects. So each of these objects has exactly one owner, a
// ShownRef. It is in its run's list exactly as long as it holds the reference, and the iterator
// shows the list to the collector. The reference and the entry change together, attached; nothing
// in between can start a collection, or let another thread start one.
//
// An object in use must not be taken for garbage: a thread holds its own reference to the object it
// is working with (Use). When a thread holds none, it attaches, and then checks whether the run was
// cancelled before it touches any of the run's objects: the collector cancels the run of an
// iterator in a cycle before it clears anything.
class ShownRef final {
 public:
  ShownRef() = default;
  // With the GIL, attached. Takes over the reference in `object`, which may be null. A null
  // `session` hides it from the collector, which only delays its destruction. `kept`: threads of
  // the run may use objects that belong to it without checking the token; see ShownRefs::Keep.
  ShownRef(Session* session, PyRef object, bool kept);
  ShownRef(ShownRef&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  ShownRef& operator=(ShownRef&& other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  // Without the GIL, leaves the reference and its list entry to the next holder of the GIL.
  ~ShownRef();

  explicit operator bool() const { return node_ != nullptr; }
  // With the GIL: a reference for as long as the caller works with the object. Null if the
  // collector has found the object, and therefore the run, to be garbage: treat that as cancelled.
  PyRef Use() const;

 private:
  struct Node;
  friend class ShownRefs;
  static void Release(void* node);
  Node* node_ = nullptr;
};

// The list of a run.
class ShownRefs final {
 public:
  // For a session that has not started.
  static void MakeFor(Session& session);
  // For tp_traverse of the object that owns the session.
  static int Traverse(const Session& session, visitproc visit, void* arg);
  // With the GIL: a reference to each `kept` object, for as long as threads of the run may be using
  // it. The other objects are released by their own threads, where the finally blocks of a
  // generator run.
  static std::shared_ptr<void> Keep(const Session& session);

 private:
  friend class ShownRef;
  InsteadOfGil mutex_;
  ShownRef::Node* first_ = nullptr;
};

}  // namespace penstock
