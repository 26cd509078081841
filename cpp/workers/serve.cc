// The loop of a worker process.
#include "workers/serve.h"

#include <map>
#include <optional>
#include <thread>

#include "data/error.h"
#include "workers/channel.h"
#include "workers/shared_heap.h"
#include "workers/wire.h"
#include "workers/worker.h"
#if defined(__linux__)
#include <poll.h>
#include <unistd.h>
#endif
#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace penstock {
namespace {

// A function that could not be made.
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
  bool needs_lock() const override { return true; }

 private:
  const Error error_;
};

class Server {
 public:
  explicit Server(const std::function<FunctionPtr(std::string_view)>& load)
      : load_(load), channel_(Worker::kSocketFile), parent_(Worker::kParentHeapFile) {}

  void Run() {
    EndWithParent(channel_.socket());
    std::string message;
    while (channel_.Receive(message, nullptr) == ChannelStatus::kDone) {
      MessageReader request(message, parent_);
      if (request.kind() == MessageKind::kFunction) {
        Define(request);
      } else if (request.kind() == MessageKind::kForget) {
        uint64_t id = 0;
        request.head().UInt(id);
        functions_.erase(id);
      } else if (!Call(request)) {
        return;
      }
    }
  }

 private:
  void Define(MessageReader& request) {
    uint64_t id = 0;
    request.head().UInt(id);
    const std::string_view payload = request.head().TextView();
    try {
      functions_[id] = load_(payload);
    } catch (const Error& error) {
      functions_[id] = std::make_shared<BrokenFunction>(error);
    }
  }

  // False when the other process has gone.
  bool Call(MessageReader& request) {
    CallHeader header;
    header.Visit(request.head());
    std::optional<Slabs> slabs;
    if (auto slab = request.TakeSlab(parent_)) slabs.emplace(std::move(slab));
    HeapTable& table = OwnHeap().table();
    // The function is there: from now on its rows are to blame for an end.
    table.row.store(0, std::memory_order_relaxed);
    CallInfo info{&header.stage, header.random, header.index};
    info.ragged = header.ragged;
    info.progress = &table.row;
    info.slabs = slabs ? &*slabs : nullptr;
    Function& function = *functions_.at(header.function);
    std::vector<Block> results;
    try {
      function.Map(request.TakeBlock(), info, results);
    } catch (const Error& error) {
      results.push_back(Block::Of(error));
    }
    std::vector<Stretch> lent;
    try {
      return channel_.Send(Answer(results, lent)) == ChannelStatus::kDone;
    } catch (const Error&) {  // some rows have no form in which they can be sent
      return channel_.Send(Answer(Sendable(results, info), lent)) == ChannelStatus::kDone;
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
      if (!block.error) continue;
      ++number;
      sendable.push_back(Block::Of(*block.error));
    }
    return sendable;
  }

  const std::function<FunctionPtr(std::string_view)>& load_;
  Channel channel_;
  PeerHeap parent_;
  std::map<uint64_t, FunctionPtr> functions_;
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
  std::thread([socket] {
    pollfd closed{socket, POLLRDHUP, 0};
    // Again and again: a wait keeps a socket open that a function has closed meanwhile.
    constexpr int kLookMs = 500;
    while (poll(&closed, 1, kLookMs) <= 0) {
    }
    _exit(0);
  }).detach();
#endif
}

void Serve(const std::function<FunctionPtr(std::string_view payload)>& load) {
  KeepFreedMemory();
  UseOwnHeap(Worker::kOwnHeapFile);
  Server(load).Run();
}

}  // namespace penstock
