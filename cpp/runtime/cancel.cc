// The tree of cancel flags, and the waits that a cancel must end.
#include "runtime/cancel.h"

#include <atomic>
#include <mutex>

#include "runtime/event_count.h"
#include "runtime/fork.h"

namespace penstock {

// One mutex for a root and all its descendants: cancelling walks the tree under it, once in a
// pipeline's life. A leaf, except for the EventCount's own mutex.
struct CancelToken::Tree {
  std::mutex mutex;
  const uint64_t generation = ForkGeneration();

  // In a fork child, another thread may have held the mutex: then there are no locks, links or
  // wake-ups.
  bool inherited() const { return generation != ForkGeneration(); }
};

// The links are raw: a state unlinks itself when its last handle is destroyed, so nothing of a dead
// child remains in its parent. Its own children move up to its parent.
struct CancelToken::State {
  explicit State(std::shared_ptr<Tree> its_tree) : tree(std::move(its_tree)) {}
  ~State();
  void Link(State* its_parent);
  void Unlink();
  void CancelOne();
  State* NextIn(const State* root);

  const std::shared_ptr<Tree> tree;
  std::atomic<bool> cancelled{false};
  // Under tree->mutex:
  State* parent = nullptr;
  State* first_child = nullptr;
  State* previous = nullptr;  // siblings
  State* next = nullptr;
  Watch* watches = nullptr;
};

CancelToken::State::~State() {
  if (tree->inherited()) return;
  const std::lock_guard lock(tree->mutex);
  State* const heir = parent;
  if (heir != nullptr) Unlink();
  while (State* child = first_child) {
    child->Unlink();
    if (heir != nullptr) child->Link(heir);
  }
}

void CancelToken::State::Link(State* its_parent) {
  parent = its_parent;
  next = parent->first_child;
  if (next != nullptr) next->previous = this;
  parent->first_child = this;
}

void CancelToken::State::Unlink() {
  (previous != nullptr ? previous->next : parent->first_child) = next;
  if (next != nullptr) next->previous = previous;
  parent = previous = next = nullptr;
}

void CancelToken::State::CancelOne() {
  cancelled.store(true, std::memory_order_release);  // pairs with acquire in cancelled()
  for (Watch* watch = watches; watch != nullptr; watch = watch->next_) watch->event_.NotifyAll();
}

// The next state in a pre-order walk over root's descendants; null at its end. No recursion and no
// allocation: a tree may be deep, and Cancel must not fail.
CancelToken::State* CancelToken::State::NextIn(const State* root) {
  if (first_child != nullptr) return first_child;
  for (State* state = this; state != root; state = state->parent) {
    if (state->next != nullptr) return state->next;
  }
  return nullptr;
}

CancelToken::CancelToken() : state_(std::make_shared<State>(std::make_shared<Tree>())) {}

bool CancelToken::cancelled() const {
  return state_->cancelled.load(std::memory_order_acquire);  // pairs with release in CancelOne
}

void CancelToken::Cancel() const {
  if (state_->tree->inherited()) {
    state_->cancelled.store(true, std::memory_order_release);  // pairs with acquire in cancelled()
    return;
  }
  const std::lock_guard lock(state_->tree->mutex);
  if (cancelled()) return;
  for (State* s = state_.get(); s != nullptr; s = s->NextIn(state_.get())) s->CancelOne();
}

CancelToken CancelToken::Child() const {
  if (state_->tree->inherited()) {
    CancelToken fresh;
    if (cancelled()) fresh.Cancel();
    return fresh;
  }
  auto child = std::make_shared<State>(state_->tree);
  const std::lock_guard lock(state_->tree->mutex);
  child->Link(state_.get());
  // relaxed: no other thread has the child yet, and passing it to one synchronises.
  child->cancelled.store(cancelled(), std::memory_order_relaxed);
  return CancelToken(std::move(child));
}

CancelToken::Watch::Watch(const CancelToken& token, EventCount& event)
    : token_(token), event_(event) {
  State& state = *token_.state_;
  if (state.tree->inherited()) return;
  // If registered before a Cancel locks the mutex, Cancel notifies. If after, the next waiter sees
  // the flag, because this lock follows Cancel's unlock.
  const std::lock_guard lock(state.tree->mutex);
  next_ = state.watches;
  if (next_ != nullptr) next_->previous_ = this;
  state.watches = this;
}

CancelToken::Watch::~Watch() {
  State& state = *token_.state_;
  if (state.tree->inherited()) return;
  const std::lock_guard lock(state.tree->mutex);
  (previous_ != nullptr ? previous_->next_ : state.watches) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
}

}  // namespace penstock
