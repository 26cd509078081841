// CancelToken: which tokens a cancel reaches, lifetimes, and waits that a cancel ends.
#include "runtime/cancel.h"

#include <optional>
#include <thread>
#include <vector>

#include "check.h"
#include "runtime/wait.h"

namespace penstock {
namespace {

TEST(CancelToken_copies_are_the_same_token) {
  const CancelToken a;
  CancelToken b = a;
  const CancelToken c = std::move(b);
  CHECK(!a.cancelled());
  c.Cancel();
  c.Cancel();
  CHECK(a.cancelled() && b.cancelled());
}

TEST(CancelToken_cancels_descendants_and_never_ancestors) {
  const CancelToken root;
  const CancelToken left = root.Child();
  const CancelToken right = root.Child();
  const CancelToken leaf = left.Child();
  left.Cancel();
  CHECK(left.cancelled() && leaf.cancelled());
  CHECK(!root.cancelled() && !right.cancelled());
  root.Cancel();
  CHECK(root.cancelled() && right.cancelled());
}

TEST(CancelToken_child_of_a_cancelled_token_is_cancelled) {
  const CancelToken root;
  root.Cancel();
  CHECK(root.Child().Child().cancelled());
}

TEST(CancelToken_reaches_grandchildren_of_a_dead_child) {
  const CancelToken root;
  std::optional<CancelToken> middle = root.Child();
  const CancelToken a = middle->Child();
  const CancelToken b = middle->Child();
  middle.reset();
  const CancelToken c = b.Child();
  root.Cancel();
  CHECK(a.cancelled() && b.cancelled() && c.cancelled());
}

TEST(CancelToken_children_outlive_the_root) {
  std::optional<CancelToken> root(std::in_place);
  const CancelToken a = root->Child();
  const CancelToken b = a.Child();
  root.reset();
  a.Cancel();
  CHECK(a.cancelled() && b.cancelled());
}

TEST(CancelToken_deep_chain_needs_no_stack) {
  const CancelToken root;
  std::vector<CancelToken> chain{root};
  for (int i = 0; i < 50'000; ++i) chain.push_back(chain.back().Child());
  root.Cancel();
  CHECK(chain.back().cancelled());
  std::optional<CancelToken> last(chain.back());
  chain.clear();
  last.reset();
}

TEST(CancelToken_watch_is_notified_until_it_dies) {
  EventCount event;
  const CancelToken root;
  const CancelToken child = root.Child();
  {
    const CancelToken::Watch watch(child, event);
    const CancelToken::Watch second(child, event);
    const uint32_t key = event.PrepareWait();
    root.Cancel();
    CHECK(event.Wait(key, kNoDeadline) == EventCount::Wake::kNotified);
  }
  const CancelToken other;
  {
    const CancelToken::Watch watch(other, event);
  }
  const uint32_t key = event.PrepareWait();
  other.Cancel();
  CHECK(event.Wait(key, 0) == EventCount::Wake::kTimeout);
}

// The waiter has no deadline and no hook, so only the Watch can end the wait, whenever Cancel
// comes.
TEST(CancelToken_ends_a_wait_at_any_moment) {
  for (int round = 0; round < 2'000; ++round) {
    EventCount event;
    const CancelToken root;
    std::atomic<bool> started{false};
    WaitStatus status = WaitStatus::kReady;
    std::thread waiter([&, token = root.Child()] {
      const CancelToken::Watch watch(token, event);
      started.store(true, std::memory_order_release);
      status = WaitUntil(event, token, [] { return false; });
    });
    if (round % 2 == 0) {  // the other rounds race with the registration too
      while (!started.load(std::memory_order_acquire)) std::this_thread::yield();
    }
    if (round % 3 == 0) std::this_thread::yield();
    root.Cancel();
    waiter.join();
    if (status != WaitStatus::kCancelled) CHECK(false);
  }
}

// Several threads create and destroy children and watches while the root is cancelled.
TEST(CancelToken_tree_changes_while_it_is_cancelled) {
  for (int round = 0; round < 200; ++round) {
    const CancelToken root;
    std::atomic<int> ready{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&] {
        EventCount event;
        ready.fetch_add(1, std::memory_order_release);
        while (!root.cancelled()) {
          std::optional<CancelToken> child = root.Child();
          const CancelToken grandchild = child->Child();
          const CancelToken::Watch watch(grandchild, event);
          child.reset();
          const CancelToken copy = grandchild;
          if (copy.cancelled() && !root.cancelled()) CHECK(false);
        }
        CHECK(root.Child().cancelled());
      });
    }
    while (ready.load(std::memory_order_acquire) < 3) std::this_thread::yield();
    root.Cancel();
    for (std::thread& t : threads) t.join();
  }
}

TEST(CancelToken_many_dead_children_leave_the_parent_usable) {
  const CancelToken root;
  for (int i = 0; i < 100'000; ++i) (void)root.Child();
  const CancelToken child = root.Child();
  root.Cancel();
  CHECK(child.cancelled());
}

}  // namespace
}  // namespace penstock
