// References of a run that the garbage collector sees through its iterator.
#pragma once

#include <memory>
#include <mutex>

#include "engine/session.h"
#include "python/free_threads.h"
#include "python/python.h"

namespace penstock {

// An object that belongs to a run (a generator, a dataset that a function has returned) often
// refers to what holds the iterator of that run. The collector takes such a circle for garbage only
// if it can account for every reference to what is in it. So each of these has exactly one owner, a
// ShownRef, which is in its run's list exactly as long as it has the reference, and the iterator
// shows the list to the collector. The reference and the entry change together, attached, and
// nothing in between could start the collector, or let one of another thread begin.
//
// What is in use must not be taken for garbage: a thread holds references of its own to what it
// works with, for as long as it does (Use). While it has none, it looks whether the run is
// cancelled after it has attached and before it touches what the run holds: the collector cancels
// the run of an iterator in a circle before it clears anything.
class ShownRef final {
 public:
  ShownRef() = default;
  // With the GIL, attached. Takes over the reference in `object`, which may be null. `session`:
  // null does not show it, which only delays its end. `kept`: threads of the run may use what
  // belongs to it without a look at the token; see ShownRefs::Keep.
  ShownRef(Session* session, PyRef object, bool kept);
  ShownRef(ShownRef&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  ShownRef& operator=(ShownRef&& other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  // Without the GIL, the reference and its entry in the list are left to the next holder of the
  // GIL.
  ~ShownRef();

  explicit operator bool() const { return node_ != nullptr; }
  // With the GIL: a reference for as long as the object is worked with. Null where the collector
  // has found that it is garbage, and so the run: treat that as cancelled.
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
  // For a session that has not begun.
  static void MakeFor(Session& session);
  // For tp_traverse of the object that owns the session.
  static int Traverse(const Session& session, visitproc visit, void* arg);
  // With the GIL: a reference to each that is `kept`, for as long as the threads of the run may be
  // there. The others end where their threads do: the finally blocks of a generator run there.
  static std::shared_ptr<void> Keep(const Session& session);

 private:
  friend class ShownRef;
  InsteadOfGil mutex_;
  ShownRef::Node* first_ = nullptr;
};

}  // namespace penstock
