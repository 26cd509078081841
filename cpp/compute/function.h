// What map, filter and flat_map call: a native program or a function of the foreign runtime.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/block.h"
#include "data/random.h"
#include "data/slab.h"
#include "data/spec.h"
#include "runtime/stage_label.h"
#include "runtime/stats.h"

namespace penstock {

class CancelToken;
class SlowLog;
class Dataset;
class Session;
using DatasetPtr = std::shared_ptr<const Dataset>;

// What a call knows about its position.
struct CallInfo {
  const StageLabel* stage;                   // for errors; outlives the call
  StageRandom random;                        // folded with each element's key
  int64_t index = 0;                         // position of the first row at this stage
  Slabs* slabs = nullptr;                    // of the batches that the rows join; null: none
  int64_t first_row = 0;                     // the number of the first row in the slabs
  bool ragged = false;                       // results may come in ragged form
  Session* session = nullptr;                // the run; for Open, which will hold what it returns
  SlowLog* slow = nullptr;                   // of the run; null: nothing is slow
  const CancelToken* cancel = nullptr;       // ends a wait for another process
  std::atomic<int64_t>* progress = nullptr;  // is given the row that is being worked on
  std::atomic<int32_t>* retries = nullptr;   // counts calls that are made again
  bool tests = false;                        // the call is a TestRows, in another process or later
};

// The numbers of the rows for which a native predicate, mapped, has returned True; nullopt when
// some results are no bools: testing each row alone then shows which.
std::optional<std::vector<int64_t>> PassingRows(const std::vector<Block>& results);

// Rows of these bools: what tests result in.
Block Bools(const std::vector<uint8_t>& held);

// Where a call failed: at its row number `row`, which is `element`.
FailedStep FailedStepOf(const CallInfo& info, int64_t row, const Element& element);

// Calls that have begun and end by themselves, on a thread of the function's own, without a thread
// for each. Used by one thread, which may call the function.
class OngoingCalls {
 public:
  // The result of the call with a number, one row or an error; nothing when it was cancelled.
  struct Ended {
    int64_t number = 0;
    std::vector<Block> results;
    Block tested = {};  // the row, when the call was a test, and has an answer
  };
  // Takes the ended calls, from any thread, without waiting; empty: memory ran out for one.
  using Take = std::function<void(std::vector<Ended>)>;

  // Cancels the calls in progress, and waits until they have ended and Take has returned.
  virtual ~OngoingCalls() = default;
  // One call for each row; the first has this number, the others follow. `info` is for the first
  // row; when it says that the calls are tests, each result is one bool. When it throws it has
  // begun none.
  virtual void Begin(Block&& rows, const CallInfo& info, int64_t number) = 0;
};

class Function {
 public:
  virtual ~Function() = default;
  // One result per row of `rows` (which has no error and no end): they are appended to `out` as
  // blocks in order, a failing row as the error of a block. Throws only transient errors, and then
  // leaves in `rows` those without a result.
  virtual void Map(Block&& rows, const CallInfo& info, std::vector<Block>& out) = 0;
  // As a predicate, and as a reader that turns an element into a dataset.
  virtual bool Test(const Element& element, const CallInfo& info);
  // As Map, with one bool per row.
  virtual void TestRows(Block&& rows, const CallInfo& info, std::vector<Block>& out);
  virtual DatasetPtr Open(const Element& element, const CallInfo& info);
  // The spec of the datasets that Open returns, when it is known beforehand.
  virtual MaybeSpec opened_spec() const { return std::nullopt; }
  // Whether other processes make its calls from the beginning, and those that do.
  virtual bool has_workers() const { return false; }
  // Whether other processes make its calls, or may come to.
  virtual bool may_have_workers() const { return has_workers(); }
  virtual std::vector<WorkerReport> Workers() const { return {}; }
  // Whether Open does nothing but open files, so that it may be called ahead of its turn.
  virtual bool opens_files() const { return false; }
  // Whether a call needs the lock of the foreign runtime: decides which lane of threads runs it.
  virtual bool needs_lock() const = 0;
  // Where the memory of the batches should come from that results are written to.
  virtual Tensor::Memory slab_memory() const { return &Buffer::Allocate; }
  // Whether its calls wait without a thread, so that any number can be in progress at a time;
  // Ongoing makes what begins them.
  virtual bool suspends() const { return false; }
  // A call that fails is begun again, up to `retries` times.
  virtual std::unique_ptr<OngoingCalls> Ongoing(OngoingCalls::Take take, int64_t retries);
  // The same as worker processes call it; null where there is no such form. Throws an Error, which
  // names `stage`, for what cannot be sent to them. On a thread that may call it.
  virtual std::shared_ptr<Function> InProcesses(const std::string& stage);
};
using FunctionPtr = std::shared_ptr<Function>;

// Who calls functions that worker processes can call; kOfRun: what the options of the run say.
enum class Executor { kOfRun, kThread, kProcess, kAuto };
// Of "thread", "process", "auto" and "".
Executor ExecutorOf(std::string_view name);

// A function as a plan holds it. Which form a run calls is chosen when an iterator is made
// (RunContext::Called, RunContext::Executed).
struct PlannedFunction {
  FunctionPtr usual;
  FunctionPtr debugged = nullptr;  // what a run calls that is debugged; null: the same
  Executor executor = Executor::kOfRun;
  // Whether a run with kAuto has gone over to worker processes: the next one begins with them. Null
  // for a function without such a form.
  std::shared_ptr<std::atomic<bool>> gone_over = nullptr;

  explicit operator bool() const { return usual != nullptr; }
};

}  // namespace penstock
