// Remote files on a runtime that answers in any order: the bytes that several threads read, and how
// waits end.
#include "storage/remote_file.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "check.h"
#include "data/error.h"
#include "runtime/budget.h"
#include "storage/remote.h"

namespace penstock {
namespace {

constexpr int64_t kTotal = (int64_t{40} << 20) + 12345;

uint8_t ByteAt(int64_t offset) {
  return static_cast<uint8_t>(static_cast<uint64_t>(offset) * 2654435761u >> 13);
}

// Answers from its own thread, the last request first.
class Answering final : public RemoteRuntime {
 public:
  void Send(const RemoteRequestPtr& request) override {
    {
      const std::lock_guard lock(mutex_);
      if (!request->dropped()) ++asked_;
      requests_.push_back(request);
    }
    filled_.notify_one();
  }
  void Start(bool answers) {
    answers_ = answers;
    asked_ = 0;
    thread_ = std::thread([this] { Run(); });
  }
  void Stop() {
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(nullptr);
    }
    filled_.notify_one();
    thread_.join();
  }
  int asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  void Run() {
    for (;;) {
      RemoteRequestPtr request;
      {
        std::unique_lock lock(mutex_);
        filled_.wait(lock, [this] { return !requests_.empty(); });
        request = requests_.back();
        requests_.pop_back();
        if (!request) {
          requests_.clear();
          return;
        }
      }
      if (request->dropped() || request->done() || !answers_) continue;
      if (request->url == "http://none/") {
        request->Fail(Error::FromErrno(2, request->url, "cannot read"));
        continue;
      }
      RemoteAnswer answer;
      answer.offset = request->offset;
      answer.total = kTotal;
      const int64_t size = std::clamp<int64_t>(kTotal - request->offset, 0, request->size);
      answer.bytes = Buffer::Allocate(static_cast<size_t>(size));
      for (int64_t i = 0; i < size; ++i) answer.bytes->data()[i] = ByteAt(request->offset + i);
      request->Finish(std::move(answer));
    }
  }

  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<RemoteRequestPtr> requests_;
  int asked_ = 0;
  bool answers_ = true;
  std::thread thread_;
};

class Answers {
 public:
  explicit Answers(bool answers = true) {
    runtime().Start(answers);
    SetRemoteRuntime(runtime());
  }
  ~Answers() { runtime().Stop(); }
  static Answering& runtime() {
    static Answering& answering = *new Answering;
    return answering;
  }
};

// Reads `size` bytes from `offset`; true if all of them are right.
bool ReadsAt(InputFile& file, int64_t offset, size_t size) {
  std::vector<uint8_t> bytes(size);
  size_t filled = 0;
  while (filled < size) {
    size_t got = file.Read(offset + static_cast<int64_t>(filled), &bytes[filled], size - filled);
    if (got == 0) return false;
    filled += got;
  }
  for (size_t i = 0; i < size; i += 97) {
    if (bytes[i] != ByteAt(offset + static_cast<int64_t>(i))) return false;
  }
  return true;
}

TEST(remote_file_is_read_from_begin_to_end) {
  const Answers answers;
  Budget budget(1 << 30);
  auto file = OpenRemote("http://some/", {.budget = &budget});
  CHECK_EQ(file->size(), kTotal);
  constexpr int64_t kStep = 300'000;
  for (int64_t at = 0; at < kTotal; at += kStep) {
    CHECK(ReadsAt(*file, at, static_cast<size_t>(std::min(kStep, kTotal - at))));
  }
  uint8_t byte;
  CHECK_EQ(file->Read(kTotal, &byte, 1), size_t{0});
  CHECK_EQ(Answers::runtime().asked(), 11);
  CHECK(budget.used() > 0);
  file.reset();
  CHECK_EQ(budget.used(), 0);
}

TEST(remote_file_is_read_here_and_there_by_threads) {
  const Answers answers;
  auto file = OpenRemote("http://some/", {.throughout = false});
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    threads.emplace_back([&file, &right, seed] {
      uint64_t state = seed;
      for (int i = 0; i < 50; ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        auto offset = static_cast<int64_t>((state >> 20) % static_cast<uint64_t>(kTotal - 5000));
        if (ReadsAt(*file, offset, 5000)) right.fetch_add(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_EQ(right.load(), 200);
}

TEST(remote_file_wait_ends_with_its_run) {
  const Answers answers(false);
  CancelToken cancel;
  auto file = OpenRemote("http://some/", {.cancel = &cancel});
  std::thread canceller([&cancel] { cancel.Cancel(); });
  bool cancelled = false;
  try {
    file->size();
  } catch (const Error& error) {
    cancelled = error.kind() == ErrorKind::kCancelled;
  }
  canceller.join();
  CHECK(cancelled);
}

TEST(remote_file_failure_is_its_error) {
  const Answers answers;
  auto file = OpenRemote("http://none/", {});
  for (int i = 0; i < 2; ++i) {
    bool missing = false;
    try {
      file->size();
    } catch (const Error& error) {
      missing = error.kind() == ErrorKind::kNotFound;
    }
    CHECK(missing);
  }
}

}  // namespace
}  // namespace penstock
