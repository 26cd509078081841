// CancelToken: a flag that ends a pipeline or some of its stages, and wakes all their waits.
#pragma once

#include <memory>

namespace penstock {

class EventCount;

// A handle to a shared flag; copies are the same token. Cancelling a token cancels its descendants
// but not its parent, and cannot be undone. Destroying a token does not cancel it.
class CancelToken final {
 public:
  class Watch;

  // A new root. Copyable but not movable: a token is never empty.
  CancelToken();
  CancelToken(const CancelToken&) = default;
  CancelToken& operator=(const CancelToken&) = default;

  bool cancelled() const;  // one acquire load
  void Cancel() const;     // idempotent; wakes every Watch below
  CancelToken Child() const;

 private:
  struct Tree;
  struct State;
  explicit CancelToken(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

// While alive, Cancel() on the token or an ancestor calls NotifyAll on `event`. After the
// destructor has returned, no Cancel accesses the event. Waits without a hook rely on this.
class CancelToken::Watch final {
 public:
  Watch(const CancelToken& token, EventCount& event);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  friend class CancelToken;
  CancelToken token_;
  EventCount& event_;
  Watch* previous_ = nullptr;  // list of the token's watches, under the tree's mutex
  Watch* next_ = nullptr;
};

}  // namespace penstock
