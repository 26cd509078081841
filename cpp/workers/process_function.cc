// Sends rows to a worker, returns results, and recovers when the worker dies in between.
#include "workers/process_function.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "runtime/activity.h"
#include "runtime/blocking.h"
#include "runtime/clock.h"
#include "runtime/slow_log.h"
#include "workers/awaited_call.h"
#include "workers/pool.h"
#include "workers/wire.h"
#if defined(__linux__)
#include <fcntl.h>
#include <unistd.h>
#endif

namespace penstock {
namespace {

class ProcessFunction final : public Function {
 public:
  ProcessFunction(std::string payload, KeptFile file, int64_t timeout_ns)
      : payload_(std::make_shared<const std::string>(std::move(payload))),
        file_(std::move(file)),
        timeout_ns_(timeout_ns),
        id_(++last_id_) {}

  void Map(Block&& rows, const CallInfo& info, std::vector<Block>& out) override {
    int64_t done = 0;
    try {
      Map(rows, 0, rows.rows, info, out, done);
    } catch (const Error& error) {
      if (!error.transient()) throw;
      rows = rows.Slice(done, rows.rows - done);
      throw;
    }
  }

  void TestRows(Block&& rows, const CallInfo& info, std::vector<Block>& out) override {
    CallInfo test = info;
    test.tests = true;
    Map(std::move(rows), test, out);
  }

  bool Test(const Element& element, const CallInfo& info) override {
    std::vector<Block> answer;
    TestRows(Block::Of(element), info, answer);
    if (answer.at(0).error) throw *answer[0].error;
    return answer[0].columns.at(0).items.value<bool>();
  }

  bool has_workers() const override { return true; }
  std::vector<WorkerReport> Workers() const override { return ThePool().Reports(id_); }
  bool needs_lock() const override { return true; }
  Tensor::Memory slab_memory() const override { return &AllocateForWorkers; }

 private:
  // The end of a worker, and the row it was working on.
  struct Death {
    std::string how;
    int64_t row;  // -1: it had not begun
  };

  // Rows [begin, end) of `rows`. `done` rows have a result, or an error instead.
  void Map(const Block& rows, int64_t begin, int64_t end, const CallInfo& info,
           std::vector<Block>& out, int64_t& done) {
    if (begin == end) return;
    const Does answers(Doing::kWorker);
    const bool all = begin == 0 && end == rows.rows;
    const Block some = all ? Block() : rows.Slice(begin, end - begin);
    // A row sent alone is written directly into its batch.
    Target target;
    if (info.slabs && rows.rows == 1) target = TargetOf(info);
    std::vector<Block> results;
    std::optional<Death> death;
    try {
      death = Call(all ? rows : some, info, begin, target, [&](MessageReader& answer) {
        uint64_t blocks = 0;
        answer.head().UInt(blocks);
        for (uint64_t i = 0; i < blocks; ++i) results.push_back(answer.TakeBlock(target.at));
      });
    } catch (const Error& error) {  // the row cannot be sent, or there is no process
      if (error.transient()) throw;
      if (end - begin > 1) {
        for (int64_t row = begin; row < end; ++row) Map(rows, row, row + 1, info, out, done);
        return;
      }
      const Element element = rows.Row(begin);
      Error failure = error;
      failure.In(FailedStepOf(info, begin, element), element.origin);
      out.push_back(Block::Of(std::move(failure)));
      done = end;
      return;
    }
    if (!death) {
      if (info.slabs && rows.rows == 1 && !results.empty()) Learn(results.back());
      for (Block& block : results) out.push_back(std::move(block));
      done = end;
      return;
    }
    // Repeat the rows before the one it was working on, but not that row: it may be the reason.
    const int64_t had = begin + std::clamp<int64_t>(death->row, 0, end - begin - 1);
    Map(rows, begin, had, info, out, done);
    out.push_back(Block::Of(ErrorAt(*death, rows, had, info)));
    done = had + 1;
    Map(rows, had + 1, end, info, out, done);
  }

  static Error ErrorAt(const Death& death, const Block& rows, int64_t row, const CallInfo& info) {
    Error error(ErrorKind::kWorker, "{}: {}", info.stage->kind, death.how);
    const Element element = rows.Row(row);
    error.In(FailedStepOf(info, row, element), element.origin);
    return error;
  }

  // Where to write a result of the same form as the last one.
  struct Target {
    SlabRows at;
    ElementSpec row;
  };

  Target TargetOf(const CallInfo& info) {
    Target target;
    {
      std::lock_guard lock(form_mutex_);
      if (!form_) return target;
      target.row = *form_;
    }
    target.at = info.slabs->Row(info.first_row);
    return target;
  }

  void Learn(const Block& result) {
    if (result.rows != 1) return;
    Element row = result.Row(0);
    std::lock_guard lock(form_mutex_);
    if (!SlabRows::AreWorthwhile(row.leaves))
      form_.reset();
    else if (ElementSpec form = ElementSpec::Of(row); !form_ || *form_ != form)
      form_ = std::move(form);
  }

  // Makes a worker answer. A worker that dies before it has begun is replaced, up to a limit; the
  // last replacement is a new process, because all idle workers may be about to end. If a worker
  // that has never answered dies, only workers that are already running are taken.
  template <typename Read>
  std::optional<Death> Call(const Block& rows, const CallInfo& info, int64_t first,
                            const Target& target, Read read) {
    constexpr int kTries = 3;
    std::optional<Death> death;
    bool may_start = true;
    for (int i = 0; i < kTries; ++i) {
      LeaveForeignLock();
      WorkerPool::Lease worker = may_start ? ThePool().Take(info.cancel, i + 1 == kTries)
                                           : ThePool().TakeStarted(info.cancel);
      if (!worker) break;
      worker->heap().table().row.store(-1, std::memory_order_relaxed);
      std::string message;
      ChannelStatus status = Ask(rows, info, first, target, *worker);
      const bool asked = status == ChannelStatus::kDone;
      if (asked) status = Answer(*worker, info, first, rows.rows, message);
      if (status == ChannelStatus::kDone) {
        MessageReader answer(message, worker->heap());
        worker->Answered();
        read(answer);
        return std::nullopt;
      }
      if (status == ChannelStatus::kCancelled || status == ChannelStatus::kInterrupted) {
        if (asked)
          worker->owes = true;
        else
          worker.Drop();  // it has received half a message
        throw Error(
            status == ChannelStatus::kCancelled ? ErrorKind::kCancelled : ErrorKind::kInterrupted,
            "");
      }
      death = DeathOf(status, *worker);
      if (!worker->tried()) may_start = false;
      worker.Drop();
      if (death->row >= 0) break;
    }
    return death;
  }

  ChannelStatus Ask(const Block& rows, const CallInfo& info, int64_t first, const Target& target,
                    Worker& worker) {
    auto send = [&](MessageWriter& message, std::span<const int> files = {}) {
      return worker.channel().Send(message.Finish(OwnHeap(), worker.lent()), info.cancel, files);
    };
    for (uint64_t gone : worker.ForgetEnded()) {
      MessageWriter forget(MessageKind::kForget, worker.channel());
      forget.head().UInt(gone);
      const ChannelStatus sent = send(forget);
      if (sent != ChannelStatus::kDone) return sent;
    }
    if (worker.Learn(id_, payload_)) {
      MessageWriter function(MessageKind::kFunction, worker.channel());
      uint64_t id = id_;
      std::string payload = *payload_;
      function.head().UInt(id);
      function.head().Text(payload);
      bool has_file = file_ != nullptr;
      function.head().Bool(has_file);
      const ChannelStatus sent =
          send(function, has_file ? std::span(file_.get(), 1) : std::span<const int>());
      if (sent != ChannelStatus::kDone) return sent;
    }
    worker.account()->AddCalls(rows.rows);
    MessageWriter call(MessageKind::kMap, worker.channel());
    CallHeader header{id_, *info.stage, info.random, info.index + first, info.ragged, info.tests};
    header.Visit(call.head());
    call.Put(target.at, target.row);
    call.Put(rows);
    worker.writes_to = target.at.slab;
    return send(call);
  }

  ChannelStatus Answer(Worker& worker, const CallInfo& info, int64_t first, int64_t rows,
                       std::string& message) {
    const int64_t limit = info.slow ? info.slow->limit_ns() : 0;
    const MonoTime start = limit ? NowNs() : 0;
    ChannelStatus status;
    {
      const Awaiting awaiting(info.session, *info.stage, info.index + first, worker);
      status = Receive(worker, info, message);
    }
    if (limit == 0 || status != ChannelStatus::kDone) return status;
    if (const int64_t took = NowNs() - start; took > limit) {
      info.slow->Note(Format("{}, {} in worker process {}", info.stage->text(),
                             ElementsText(info.index + first, rows), worker.pid()),
                      took);
    }
    return status;
  }

  // A worker receives several rows in one message only if they are fast.
  static std::string ElementsText(int64_t first, int64_t rows) {
    if (rows == 1) return Format("element {}", first);
    return Format("one of the elements {} to {}", first, first + rows - 1);
  }

  ChannelStatus Receive(Worker& worker, const CallInfo& info, std::string& message) {
    if (timeout_ns_ == 0) return worker.channel().Receive(message, info.cancel);
    for (int64_t row = -1;;) {
      const auto status = worker.channel().Receive(message, info.cancel, NowNs() + timeout_ns_);
      if (status != ChannelStatus::kTimeout) return status;
      // The limit applies to a single row: as long as the worker moves from row to row, the wait
      // continues. Starting and importing have no limit.
      const int64_t now = worker.row();
      if (now >= 0 && std::exchange(row, now) == now) return status;
    }
  }

  Death DeathOf(ChannelStatus status, Worker& worker) const {
    const int64_t row = worker.row();
    if (status == ChannelStatus::kTimeout) {
      return {Format("a worker process was expected to be done with this element within {} s "
                     "(worker_timeout) and was not; it was ended",
                     static_cast<double>(timeout_ns_) / 1e9),
              row};
    }
    const int pid = worker.pid();
    const std::string how = worker.HowItEnded();
    const std::string_view when =
        row < 0 ? "before it took this element" : "while it had this element";
    // The worker's stderr may explain more, for example that a library got no thread.
    const std::string_view advice =
        row < 0 && !worker.tried()
            ? "; if it lacks processes, threads, files or memory, use fewer workers, raise the "
              "limit (ulimit -u, -n, -v), or executor='thread'"
        : how.find("SIGKILL") != how.npos ? "; the system does that where memory runs out"
                                          : "";
    return {Format("worker process {} {} {}{}", pid, how, when, advice), row};
  }

  const std::shared_ptr<const std::string> payload_;
  const KeptFile file_;  // may be null
  const int64_t timeout_ns_;
  const uint64_t id_;
  std::mutex form_mutex_;  // a leaf lock
  MaybeSpec form_;         // of the last result, if it is worth a slab
  inline static std::atomic<uint64_t> last_id_{0};
};

}  // namespace

KeptFile KeepFile(int file) {
  if (file < 0) return nullptr;
#if defined(__linux__)
  const int copy = fcntl(file, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) throw Error::FromErrno(errno, "", "worker processes: the arrays of a function");
  return KeptFile(new int(copy), [](const int* kept) {
    close(*kept);
    delete kept;
  });
#else
  return nullptr;
#endif
}

BufferRef AllocateForWorkers(size_t size) { return OwnHeap().Allocate(size); }

FunctionPtr MakeProcessFunction(std::string payload, KeptFile file, int64_t timeout_ns) {
  return std::make_shared<ProcessFunction>(std::move(payload), std::move(file), timeout_ns);
}

}  // namespace penstock
