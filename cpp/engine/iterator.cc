// The frame: sampled timing, tracing, counters, and conversion of exceptions to errors.
#include "engine/iterator.h"

#include <cerrno>
#include <new>
#include <string_view>
#include <utility>

#include "engine/out_of_memory.h"
#include "runtime/activity.h"
#include "runtime/blocking.h"
#include "runtime/clock.h"
#include "runtime/trace.h"
#include "runtime/wait.h"

namespace penstock {
namespace {

// Converts the current exception to an Error. A stage that deliberately throws throws an Error and
// stays consistent, except when the system is out of memory.
Error Caught(std::string_view stage) noexcept {
  try {
    throw;
  } catch (Error& error) {
    if (error.os_error() != ENOMEM) return std::move(error);
  } catch (const std::bad_alloc&) {
  } catch (const std::exception& error) {
    try {
      return Error(ErrorKind::kRuntime, "{}", std::string_view(error.what()));
    } catch (const std::bad_alloc&) {  // no memory for the message
    }
  }
  return OutOfMemory(stage);
}

template <typename Answer>
Answer AnswerOf(Error error) {
  if constexpr (std::is_same_v<Answer, Block>)
    return Block::Of(std::move(error));
  else
    return error;
}

// Whether a signal handler has raised. Native stages that pull repeatedly and emit nothing may
// occupy the calling thread for long. So this checks now and then, and also lets other threads
// acquire the foreign lock.
bool Interrupted(MonoTime now) {
  thread_local MonoTime due = 0;
  BlockingHook* hook = GetBlockingHook();
  if (!hook || now < due) return false;
  bool interrupted = hook->Interrupted();
  hook->BeforeWait();
  due = NowNs() + internal::kSignalSliceNs;
  return interrupted;
}

}  // namespace

void Iterator::Attach(const StageLabel* label, const char* trace_name, StageStats* stats,
                      CancelToken run_ends) {
  label_ = label;
  run_ends_ = std::move(run_ends);
  trace_name_ = trace_name;
  stats_ = stats;
}

void Iterator::Count(Step& step) {
  if (std::holds_alternative<Element>(step)) ++steps_;
  stats_->steps.fetch_add(std::holds_alternative<Element>(step), std::memory_order_relaxed);
  if (auto* error = std::get_if<Error>(&step)) {
    stats_->errors.fetch_add(1, std::memory_order_relaxed);
    error->LeftStage(*label_);
  }
}

void Iterator::Count(Block& block) {
  steps_ += block.rows;
  stats_->blocks.fetch_add(1, std::memory_order_relaxed);
  stats_->steps.fetch_add(block.rows, std::memory_order_relaxed);
  if (block.error) {
    stats_->errors.fetch_add(1, std::memory_order_relaxed);
    block.error->LeftStage(*label_);
  }
}

void Iterator::AddCall(int64_t ns, const Step& step) {
  // acquire: pairs with the release in StatsSink::Observe.
  CallTimes* calls = stats_->calls.load(std::memory_order_acquire);
  const auto* element = std::get_if<Element>(&step);
  if (calls && element) calls->Add(ns, 1, element->footprint());
}

void Iterator::AddCall(int64_t ns, const Block& block) {
  CallTimes* calls = stats_->calls.load(std::memory_order_acquire);  // as above
  if (calls) calls->Add(ns, block.rows, block.footprint());
}

// Separate functions, each with a single result variable, so that the result is constructed in the
// caller. They are inlined into one: a CPU predicts the returns of about 16 nested calls, and
// nested stages soon exceed that.
template <typename Answer, typename Call>
[[gnu::always_inline]] inline Answer Iterator::Guarded(Call& call) {
  try {
    return call();
  } catch (...) {
    return AnswerOf<Answer>(Caught(name()));
  }
}

template <typename Answer, typename Call>
[[gnu::always_inline]] inline Answer Iterator::Untimed(Call& call) {
  Answer answer = Guarded<Answer>(call);
  Count(answer);
  return answer;
}

template <typename Answer, typename Call>
Answer Iterator::Timed(Call& call, int64_t start, bool traced) {
  const int64_t index = steps_;
  Answer answer = Guarded<Answer>(call);
  const int64_t end = NowNs();
  timing_.Took(end - start);
  if (!threads_add_busy_) {
    stats_->busy_ns.fetch_add((end - start) * (traced ? 1 : timing_.stands_for()),
                              std::memory_order_relaxed);
  }
  if (traced) Trace::Emit(trace_name_, start, end, index);
  if (!threads_add_busy_) AddCall(end - start, answer);
  Count(answer);
  return answer;
}

template <typename Answer, typename Call>
[[gnu::always_inline]] inline Answer Iterator::Framed(Call call) {
  const InStage here(stats_);
  const bool traced = Trace::enabled();
  if (!traced && !timing_.Due()) return Untimed<Answer>(call);
  const int64_t start = NowNs();
  if (Interrupted(start)) return AnswerOf<Answer>(Error(ErrorKind::kInterrupted, ""));
  return Timed<Answer>(call, start, traced);
}

Step Iterator::Next() {
  return Framed<Step>([this] { return DoNext(); });
}

Block Iterator::NextBlock(int64_t max_rows) {
  return Framed<Block>([this, max_rows] { return DoNextBlock(max_rows); });
}

Block Iterator::DoNextBlock(int64_t) { return Block::Of(DoNext()); }

std::optional<Error> Iterator::Discard(int64_t& steps) {
  auto error = Pass(steps);
  if (!error) steps = 0;
  return error;
}

std::optional<Error> Iterator::Pass(int64_t& steps) {
  for (; steps > 0; --steps) {
    // The input may be infinite, and the number of steps may come from a forged state.
    if (run_ends_ && run_ends_->cancelled()) return Error(ErrorKind::kCancelled, "");
    Step step = Next();
    if (std::holds_alternative<End>(step)) break;
    if (auto* error = std::get_if<Error>(&step); error && error->transient()) return *error;
  }
  return std::nullopt;
}

std::optional<Error> Iterator::PassSound(int64_t& steps) { return Pass(steps); }

}  // namespace penstock
