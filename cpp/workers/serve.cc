// The main loop of a worker process.
#include "workers/serve.h"

#include <limits>
#include <map>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "data/error.h"
#include "workers/channel.h"
#include "workers/shared_heap.h"
#include "workers/wire.h"
#include "workers/worker.h"
#if defined(__linux__)
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#endif
#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace penstock {
namespace {

// This is not the fault of an element. A worker's error is never skipped by a stage.
Error OfLoading(const Error& error) {
  Error failure(ErrorKind::kWorker, "{}", std::string_view(error.message()));
  for (const std::string& note : error.notes()) failure.Note(note);
  if (error.foreign()) failure.Becomes(error.foreign());
  return failure;
}

// A function that could not be created.
class BrokenFunction final : public Function {
 public:
  explicit BrokenFunction(Error error) : error_(std::move(error)) {}
  void Map(Block&& rows, const CallInfo& info, std::vector<Block>& out) override {
    for (int64_t row = 0; row < rows.rows; ++row) {
      const Element element = rows.Row(row);
      Error error = error_;
      error.In(FailedStepOf(info, row, element), element.origin);
      out.push_back(Block::Of(std::move(error)));
    }
  }
  void TestRows(Block&& rows, const CallInfo& info, std::vector<Block>& out) override {
    Map(std::move(rows), info, out);
  }
  bool needs_lock() const override { return true; }

 private:
  const Error error_;
};

// Elements that could not be created.
class BrokenElements final : public ServedElements {
 public:
  explicit BrokenElements(Error error) : error_(std::move(error)) {}
  Block Next(int64_t) override {
    if (!error_) return Block::AtEnd();
    return Block::Of(*std::exchange(error_, std::nullopt));
  }

 private:
  std::optional<Error> error_;
};

class Server {
 public:
  explicit Server(const ServeHooks& hooks)
      : hooks_(hooks), channel_(Worker::kSocketFile), parent_(Worker::kParentHeapFile) {}

  void Run() {
    EndWithParent(channel_.socket());
    channel_.Linger();
    std::string message;
    while (channel_.Receive(message, nullptr) == ChannelStatus::kDone) {
      MessageReader request(message, parent_);
      if (request.kind() == MessageKind::kEnd) return;
      if (request.kind() == MessageKind::kFunction) {
        Define(request);
      } else if (request.kind() == MessageKind::kForget) {
        uint64_t id = 0;
        request.head().UInt(id);
        functions_.erase(id);
      } else if (request.kind() == MessageKind::kOpen) {
        Open(request);
      } else if (!(request.kind() == MessageKind::kMap ? Call(request) : Make(request))) {
        return;
      }
    }
  }

 private:
  void Define(MessageReader& request) {
    uint64_t id = 0;
    request.head().UInt(id);
    const std::string_view payload = request.head().TextView();
    bool has_file = false;
    request.head().Bool(has_file);
    try {
      functions_[id] = hooks_.load(payload, has_file ? channel_.TakeFile() : -1);
    } catch (const Error& error) {
      functions_[id] = std::make_shared<BrokenFunction>(OfLoading(error));
    }
  }

  // False if the other process is gone.
  bool Call(MessageReader& request) {
    CallHeader header;
    header.Visit(request.head());
    std::optional<Slabs> slabs;
    if (auto slab = request.TakeSlab(parent_)) slabs.emplace(std::move(slab));
    HeapTable& table = OwnHeap().table();
    // The function is loaded: from now on, a death is attributed to the current row.
    table.row.store(0, std::memory_order_relaxed);
    CallInfo info{&header.stage, header.random, header.index};
    info.ragged = header.ragged;
    info.progress = &table.row;
    info.slabs = slabs ? &*slabs : nullptr;
    Function& function = *functions_.at(header.function);
    std::vector<Block> results;
    try {
      Block rows = request.TakeBlock();
      if (header.tests) {
        function.TestRows(std::move(rows), info, results);
      } else {
        function.Map(std::move(rows), info, results);
      }
    } catch (const Error& error) {
      results.push_back(Block::Of(error));
    }
    std::vector<Stretch> lent;
    try {
      return channel_.Send(Answer(results, lent)) == ChannelStatus::kDone;
    } catch (const Error&) {  // some rows cannot be serialised
      return channel_.Send(Answer(Sendable(results, info), lent)) == ChannelStatus::kDone;
    }
  }

  void Open(MessageReader& request) {
    order_ = {};
    order_.Visit(request.head());
    made_ = 0;
    try {
      elements_ = hooks_.open(order_, &OwnHeap().table().row);
    } catch (const Error& error) {
      elements_ = std::make_unique<BrokenElements>(OfLoading(error));
    }
  }

  // Sends the next elements, or their end. False if the other process is gone.
  bool Make(MessageReader& request) {
    const bool closes = request.kind() == MessageKind::kClose;
    if (closes) elements_ = nullptr;
    const bool stopped = OwnHeap().table().stop.load(std::memory_order_relaxed) != 0;
    const int64_t left =
        order_.most < 0 ? std::numeric_limits<int64_t>::max() : order_.most - made_;
    Block block;
    if (closes || stopped || left <= 0 || !elements_) {
      block.end = true;
    } else {
      try {
        block = elements_->Next(left);
      } catch (const Error& error) {
        block = Block::Of(error);
      }
    }
    CallInfo info{&order_.stage, {}, order_.skip + made_};
    made_ += block.steps();
    std::vector<Stretch> lent;
    try {
      return channel_.Send(Answer({block}, lent)) == ChannelStatus::kDone;
    } catch (const Error&) {  // some elements cannot be serialised
      return channel_.Send(Answer(Sendable({block}, info), lent)) == ChannelStatus::kDone;
    }
  }

  std::string Answer(const std::vector<Block>& results, std::vector<Stretch>& lent) {
    MessageWriter answer(MessageKind::kAnswer, channel_);
    uint64_t count = results.size();
    answer.head().UInt(count);
    for (const Block& block : results) answer.Put(block);
    return answer.Finish(OwnHeap(), lent);
  }

  // The results, with errors for the rows that cannot be sent.
  std::vector<Block> Sendable(const std::vector<Block>& results, const CallInfo& info) {
    std::vector<Block> sendable;
    int64_t number = 0;
    for (const Block& block : results) {
      for (int64_t i = 0; i < block.rows; ++i, ++number) {
        Block row = block.Slice(i, 1);
        try {
          std::vector<Stretch> lent;
          Answer({row}, lent);
          for (const Stretch& stretch : lent) OwnHeap().Forget(stretch);
        } catch (Error& error) {
          error.In({*info.stage, info.index + number, ""}, row.origin(0));
          row = Block::Of(std::move(error));
        }
        sendable.push_back(std::move(row));
      }
      if (block.end) sendable.push_back(Block::AtEnd());
      if (!block.error) continue;
      ++number;
      sendable.push_back(Block::Of(*block.error));
    }
    return sendable;
  }

  const ServeHooks& hooks_;
  Channel channel_;
  PeerHeap parent_;
  std::map<uint64_t, FunctionPtr> functions_;
  // The elements being made ahead.
  StreamOrder order_;
  std::unique_ptr<ServedElements> elements_;
  int64_t made_ = 0;
};

}  // namespace

void KeepFreedMemory() {
#if defined(__GLIBC__)
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 128 << 20);
#endif
}

void EndWithParent([[maybe_unused]] int socket) {
#if defined(__linux__)
  auto watch = [socket] {
    pollfd closed{socket, POLLRDHUP, 0};
    // Polls repeatedly: a wait keeps a socket open that a function has closed meanwhile.
    constexpr int kLookMs = 500;
    while (poll(&closed, 1, kLookMs) <= 0) {
    }
    _exit(0);
  };
  try {
    std::thread(watch).detach();
  } catch (const std::system_error&) {  // then the process ends after the current call
  }
#endif
}

void Serve(const ServeHooks& hooks) {
  KeepFreedMemory();
#if defined(__linux__)
  // Programs that functions start must not keep the socket open, nor the memory.
  for (int file : {Worker::kSocketFile, Worker::kParentHeapFile, Worker::kOwnHeapFile})
    fcntl(file, F_SETFD, FD_CLOEXEC);
#endif
  UseOwnHeap(Worker::kOwnHeapFile);
  Server(hooks).Run();
}

}  // namespace penstock
