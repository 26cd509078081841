// Requests some blocks ahead, and ends their producer.
#include "workers/process_stream.h"

#include <utility>
#include <vector>

#include "data/error.h"
#include "runtime/clock.h"
#include "runtime/fork.h"
#include "workers/awaited_call.h"
#include "workers/wire.h"
#include "workers/worker.h"

namespace penstock {
namespace {

// Blocks requested in advance. A block of fast elements takes about a millisecond.
constexpr int kAhead = 4;
constexpr MonoTime kPatienceNs = 500'000'000;

}  // namespace

void StreamOrder::Visit(StateVisitor& visitor) {
  visitor.Text(payload);
  visitor.Text(stage.kind);
  visitor.Text(stage.name);
  visitor.Text(stage.function);
  visitor.Int(skip);
  visitor.Text(state);
  visitor.Int(state_at);
  visitor.Int(most);
  visitor.UInt(random.seed);
  visitor.UInt(random.place.value);
  visitor.UInt(random.path.value);
}

ProcessStream::ProcessStream(StreamOrder order, const CancelToken& cancel, const Session* session,
                             bool fresh)
    : order_(std::move(order)),
      session_(session),
      generation_(ForkGeneration()),
      worker_(ThePool().Take(&cancel, fresh)) {
  worker_.Keep();
  HeapTable& table = worker_->heap().table();
  table.row.store(-1, std::memory_order_relaxed);
  table.stop.store(0, std::memory_order_relaxed);
}

ProcessStream::~ProcessStream() {
  if (ForkGeneration() != generation_) {
    worker_.Leave();
    return;
  }
  if (!begun_ || ended_) return;
  worker_->heap().table().stop.store(1, std::memory_order_relaxed);  // checked between elements
  const MonoTime deadline = NowNs() + kPatienceNs;
  ChannelStatus status = Send(MessageKind::kClose);
  std::string answer;
  for (int left = owed_ + 1; left > 0 && status == ChannelStatus::kDone; --left) {
    status = worker_->channel().Receive(answer, nullptr, deadline);
    // Releases what the answer lends.
    if (status == ChannelStatus::kDone) MessageReader(answer, worker_->heap());
  }
  if (status == ChannelStatus::kDone) {
    worker_->Answered();
  } else {
    worker_.Drop();
  }
}

std::vector<Block> ProcessStream::Next(const CancelToken& cancel, std::optional<Death>& death) {
  ChannelStatus status = begun_ ? ChannelStatus::kDone : Begin();
  while (status == ChannelStatus::kDone && owed_ < kAhead) {
    status = Send(MessageKind::kNext);
    owed_ += status == ChannelStatus::kDone;
  }
  std::string message;
  if (status == ChannelStatus::kDone) {
    // The worker counts elements, not rows of a call.
    const Awaiting awaiting(session_, order_.stage, 0, *worker_);
    status = worker_->channel().Receive(message, &cancel);
  }
  if (status == ChannelStatus::kCancelled) throw Error(ErrorKind::kCancelled, "");
  if (status == ChannelStatus::kInterrupted) throw Error(ErrorKind::kInterrupted, "");
  if (status != ChannelStatus::kDone) {
    ended_ = true;
    death = DeathOf();
    worker_.Drop();
    return {};
  }
  --owed_;
  MessageReader answer(message, worker_->heap());
  uint64_t count = 0;
  answer.head().UInt(count);
  std::vector<Block> blocks;
  for (uint64_t i = 0; i < count; ++i) blocks.push_back(answer.TakeBlock());
  return blocks;
}

ChannelStatus ProcessStream::Send(MessageKind kind) {
  MessageWriter message(kind, worker_->channel());
  return worker_->channel().Send(message.Finish(OwnHeap(), worker_->lent()));
}

ChannelStatus ProcessStream::Begin() {
  begun_ = true;
  MessageWriter message(MessageKind::kOpen, worker_->channel());
  order_.Visit(message.head());
  return worker_->channel().Send(message.Finish(OwnHeap(), worker_->lent()));
}

ProcessStream::Death ProcessStream::DeathOf() {
  const int64_t element = worker_->row();
  const int pid = worker_->pid();
  return {Format("worker process {} {} {}", pid, worker_->HowItEnded(),
                 std::string_view(element < 0 ? "before it began" : "while it made this element")),
          element};
}

}  // namespace penstock
