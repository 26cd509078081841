// The functions that map, filter and flat_map call: native programs, or functions of the foreign
// runtime.
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

// The context of a call.
struct CallInfo {
  const StageLabel* stage;                   // for errors; outlives the call
  StageRandom random;                        // folded with each element's key
  int64_t index = 0;                         // position of the first row at this stage
  Slabs* slabs = nullptr;                    // of the batches that the rows go to; null: no batches
  int64_t first_row = 0;                     // number of the first row in the slabs
  bool ragged = false;                       // results may be in ragged form
  Session* session = nullptr;                // the run, which will hold the result of Open
  SlowLog* slow = nullptr;                   // of the run; null: do not report slow calls
  const CancelToken* cancel = nullptr;       // ends a wait for another process
  std::atomic<int64_t>* progress = nullptr;  // receives the number of the current row
  std::atomic<int32_t>* retries = nullptr;   // counts repeated calls
  bool tests = false;                        // the call is a TestRows, in another process or later
};

// The numbers of the rows for which a mapped native predicate returned True. Nullopt if some
// results are not bools; testing each row individually then finds them.
std::optional<std::vector<int64_t>> PassingRows(const std::vector<Block>& results);

// Rows of these bools: the result of tests.
Block Bools(const std::vector<uint8_t>& held);

// Where a call failed: at row number `row`, which is `element`.
FailedStep FailedStepOf(const CallInfo& info, int64_t row, const Element& element);

// Calls that are in progress without a thread for each. They end on a thread of the function. Used
// by one thread, which must be allowed to call the function.
class OngoingCalls {
 public:
  // The result of call `number`: one row or an error; empty if the call was cancelled.
  struct Ended {
    int64_t number = 0;
    std::vector<Block> results;
    Block tested = {};  // the row, if the call was a test that returned an answer
  };
  // Receives ended calls on any thread, without waiting; empty: a result could not be allocated.
  using Take = std::function<void(std::vector<Ended>)>;

  // Cancels the calls in progress, and waits until they have ended and Take has returned.
  virtual ~OngoingCalls() = default;
  // Begins one call for each row, numbered from `number` on. `info` is for the first row; if its
  // `tests` is set, each result is one bool. If it throws, it has begun none.
  virtual void Begin(Block&& rows, const CallInfo& info, int64_t number) = 0;
};

class Function {
 public:
  virtual ~Function() = default;
  // Appends one result per row of `rows` (which has neither an error nor an end) to `out`, as
  // blocks in order; a failing row becomes the error of a block. Throws only transient errors, and
  // then leaves the rows without a result in `rows`.
  virtual void Map(Block&& rows, const CallInfo& info, std::vector<Block>& out) = 0;
  // Calls the function as a predicate; Open calls it as a reader that turns an element into a
  // dataset.
  virtual bool Test(const Element& element, const CallInfo& info);
  // As Map, with one bool per row.
  virtual void TestRows(Block&& rows, const CallInfo& info, std::vector<Block>& out);
  virtual DatasetPtr Open(const Element& element, const CallInfo& info);
  // The spec of the datasets that Open returns, if it is known in advance.
  virtual MaybeSpec opened_spec() const { return std::nullopt; }
  // Whether its calls run in other processes from the beginning.
  virtual bool has_workers() const { return false; }
  // Whether its calls run, or may later run, in other processes.
  virtual bool may_have_workers() const { return has_workers(); }
  virtual std::vector<WorkerReport> Workers() const { return {}; }
  // Whether Open only opens files, so that it may be called ahead of time.
  virtual bool opens_files() const { return false; }
  // Whether a call needs the lock of the foreign runtime. Selects the lane of threads that runs it.
  virtual bool needs_lock() const = 0;
  // Allocates the memory of batches that results are written to.
  virtual Tensor::Memory slab_memory() const { return &Buffer::Allocate; }
  // Whether its calls wait without a thread, so that any number can be in progress; Ongoing then
  // begins them.
  virtual bool suspends() const { return false; }
  // Begins calls; one that fails is begun again, up to `retries` times.
  virtual std::unique_ptr<OngoingCalls> Ongoing(OngoingCalls::Take take, int64_t retries);
  // The form of the function that runs in worker processes; null if there is none. Throws an Error
  // that names `stage` if the function cannot be sent to them. Call on a thread that may call the
  // function.
  virtual std::shared_ptr<Function> InProcesses(const std::string& stage);
};
using FunctionPtr = std::shared_ptr<Function>;

// Where functions run that can run in worker processes; kOfRun: as the options of the run say.
enum class Executor { kOfRun, kThread, kProcess, kAuto };
// Accepts "thread", "process", "auto" and "".
Executor ExecutorOf(std::string_view name);

// A function as a plan holds it. The form that a run calls is chosen when an iterator is created
// (RunContext::Called, RunContext::Executed).
struct PlannedFunction {
  FunctionPtr usual;
  FunctionPtr debugged = nullptr;  // called by runs in debug mode; null: the same
  Executor executor = Executor::kOfRun;
  // Whether a run with kAuto has switched to worker processes; later runs then begin with them.
  // Null for a function without such a form.
  std::shared_ptr<std::atomic<bool>> gone_over = nullptr;

  explicit operator bool() const { return usual != nullptr; }
};

}  // namespace penstock
