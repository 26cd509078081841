// CancelToken: one flag that ends a pipeline, or some of its stages, and wakes all that wait there.
#pragma once

#include <memory>

namespace penstock {

class EventCount;

// A handle to a shared flag; copies are the same token. Cancelling a token cancels its descendants,
// never its parent, and cannot be undone. The destruction of a token does not cancel it.
class CancelToken final {
 public:
  class Watch;

  // A new root. Copied only, never moved from: a token is never empty.
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

// While it lives, Cancel() of the token or of an ancestor calls NotifyAll on `event`. After its
// destructor has returned, no Cancel touches the event any more. Waits without a hook rely on it.
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
