// SharedHeap and Channel: two threads stand in for two processes, each with its own mappings.
#include "workers/shared_heap.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <thread>

#include "check.h"
#include "workers/channel.h"
#if defined(__linux__)
#include <sys/socket.h>
#include <unistd.h>

namespace penstock {
namespace {

struct Sent {
  Stretch stretch;
  size_t size;
  uint8_t value;
};

bool AllAre(const BufferRef& bytes, size_t size, uint8_t value) {
  return std::all_of(bytes->data(), bytes->data() + size, [&](uint8_t b) { return b == value; });
}

}  // namespace

TEST(memory_is_used_again_only_when_the_other_process_has_let_go) {
  const int file = MakeHeapFile();
  SharedHeap heap(file);
  PeerHeap peer(dup(file));
  const uint8_t* first = nullptr;
  BufferRef view;
  {
    BufferRef buffer = heap.Allocate(5000);
    first = buffer->data();
    buffer->data()[4999] = 7;
    view = peer.View(heap.Lend(*buffer.get()));
  }
  CHECK_EQ(static_cast<int>(view->data()[4999]), 7);
  CHECK(heap.Allocate(5000)->data() != first);
  view = {};
  std::vector<BufferRef> held;
  bool again = false;
  for (int i = 0; i < 3 && !again; ++i) {
    held.push_back(heap.Allocate(5000));
    again = held.back()->data() == first;
  }
  CHECK(again);
  BufferRef lent = heap.Allocate(100);
  const Stretch stretch = heap.Lend(*lent.get());
  const uint8_t* forgotten = lent->data();
  lent = {};
  CHECK(heap.Allocate(100)->data() != forgotten);
  heap.Forget(stretch);  // as if the other process had ended
  held.clear();
  again = false;
  for (int i = 0; i < 6 && !again; ++i) {
    held.push_back(heap.Allocate(100));
    again = held.back()->data() == forgotten;
  }
  CHECK(again);
}

TEST(what_is_lent_stays_as_it_was_while_both_sides_work) {
  constexpr int kRounds = 20000;
  constexpr size_t kMostHeld = 9;
  const int file = MakeHeapFile();
  SharedHeap heap(file);
  PeerHeap peer(dup(file));
  std::mutex mutex;
  std::deque<Sent> queue;
  bool done = false;
  int wrong = 0;
  std::thread reader([&] {
    std::deque<std::pair<BufferRef, Sent>> held;
    for (;;) {
      Sent sent;
      {
        std::lock_guard lock(mutex);
        if (queue.empty() && done) break;
        if (queue.empty()) continue;
        sent = queue.front();
        queue.pop_front();
      }
      held.emplace_back(peer.View(sent.stretch), sent);
      if (held.size() <= kMostHeld) continue;
      auto& [bytes, was] = held.front();
      wrong += !AllAre(bytes, was.size, was.value);
      held.pop_front();
    }
  });
  for (int i = 0; i < kRounds; ++i) {
    const Sent sent{{}, static_cast<size_t>(1 + i * 37 % 9000), static_cast<uint8_t>(i)};
    BufferRef buffer = heap.Allocate(sent.size);
    std::fill_n(buffer->data(), sent.size, sent.value);
    const Stretch stretch = heap.Lend(*buffer.get());
    for (;;) {
      std::lock_guard lock(mutex);
      if (queue.size() > 50) continue;
      queue.push_back({stretch, sent.size, sent.value});
      break;
    }
  }
  {
    std::lock_guard lock(mutex);
    done = true;
  }
  reader.join();
  CHECK_EQ(wrong, 0);
}

TEST(messages_come_whole_however_they_are_cut) {
  int sockets[2];
  CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
  std::thread sender([&] {
    Channel channel(sockets[0]);
    for (size_t i = 0; i < 300; ++i)
      CHECK(channel.Send(std::string(i * i * 7, 'a')) == ChannelStatus::kDone);
  });
  Channel channel(sockets[1]);
  std::string message;
  for (size_t i = 0; i < 300; ++i) {
    CHECK(channel.Receive(message, nullptr) == ChannelStatus::kDone);
    CHECK_EQ(message.size(), i * i * 7);
  }
  sender.join();
  CHECK(channel.Closed());
  CHECK(channel.Receive(message, nullptr) == ChannelStatus::kClosed);
  CHECK(channel.Send("b") == ChannelStatus::kClosed);
}

TEST(a_wait_for_a_message_ends_with_its_time_or_its_run) {
  int sockets[2];
  CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
  Channel here(sockets[0]), there(sockets[1]);
  std::string message;
  CHECK(here.Receive(message, nullptr, NowNs() + 1'000'000) == ChannelStatus::kTimeout);
  CancelToken cancel;
  cancel.Cancel();
  CHECK(here.Receive(message, &cancel) == ChannelStatus::kCancelled);
  CHECK(here.Send(std::string(100 << 20, 'b'), &cancel) == ChannelStatus::kCancelled);
  CHECK(there.Send("late") == ChannelStatus::kDone);
  CHECK(here.Receive(message, &cancel) == ChannelStatus::kDone);
  CHECK_EQ(message, "late");
}

}  // namespace penstock
#endif
