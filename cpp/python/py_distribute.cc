// distribute: workers run the input, in leases of its order.
#include <map>
#include <optional>
#include <string>

#include "data/pending.h"
#include "engine/part_state.h"
#include "engine/pass_iterator.h"
#include "engine/random_access.h"
#include "engine/registry.h"
#include "engine/session.h"
#include "python/errors.h"
#include "python/gil.h"
#include "python/made_rows.h"
#include "python/shown_refs.h"

namespace penstock {
namespace {

class DistributeDataset final : public Dataset, public RandomAccess {
 public:
  DistributeDataset(Args::Foreign work, bool ordered) : work_(std::move(work)), ordered_(ordered) {}
  int64_t cardinality() const override { return input().cardinality(); }
  MaybeSpec spec() const override { return input_spec(); }
  Step At(int64_t index, const RunContext& context) const override {
    return InputAt(*this, index, context);
  }
  Positions InputPositions(const Positions& positions, size_t, const RunContext&) const override {
    return positions;
  }
  Block Gather(const Positions& positions, const RunContext& context) const override {
    return ElementsAt(input(), positions, context);
  }
  bool transparent() const override { return true; }
  bool asynchronous() const override { return true; }
  bool apart() const override { return true; }
  bool reorders(bool) const override { return !ordered_; }

  bool ordered() const { return ordered_; }
  PyObject* work() const { return static_cast<PyObject*>(work_.get()); }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  Args::Foreign work_;  // penstock.distribution.work.Work
  const bool ordered_;
};

// One pass over the order. A Python job (penstock.distribution.job) leases parts of the order to
// workers and collects the results. The iterator has no thread: the thread that pulls it calls
// `take`, which waits without the GIL until a worker answers, for at most a tenth of a second, so
// that this loop notices a cancelled run.
//
// Positions count steps of the input since the job began. A state is a position up to which
// everything was delivered, and the ranges delivered after it.
class DistributeIterator final : public BlockIterator {
 public:
  DistributeIterator(std::shared_ptr<const DistributeDataset> data, const RunContext& context)
      : data_(std::move(data)), context_(context), stats_(data_->Stats(context)) {}

  ~DistributeIterator() override {
    // Without an Attachment, the job is dropped later, and ends its workers then.
    if (!CurrentAttachment() || !job_) return;
    Attachment& gil = EnsureAttached();
    const PyRef job = job_.Use();
    const PyRef done =
        job ? PyRef::Steal(PyObject_CallMethod(job.get(), "close", nullptr)) : PyRef();
    if (!done && PyErr_Occurred() && !gil.TakeInterrupt()) PyErr_Clear();
  }

  std::string state_name() const override { return after_.empty() ? "prefetch" : "distribute"; }

  void VisitState(StateVisitor& visitor) override {
    trail_.VisitState(visitor, all_before_);
    if (visitor.saving() ? after_.empty() : !visitor.has_more()) return;
    std::vector<int64_t> bounds;
    for (auto& [first, last] : after_)
      bounds.insert(bounds.end(), {first - all_before_, last - all_before_});
    visitor.IntsIn(bounds, 1, StateVisitor::kMostCount, "what was delivered before its turn");
    if (visitor.saving()) return;
    visitor.Demand(bounds.size() % 2 == 0, "each of its ranges has an end");
    for (size_t i = 0; i + 1 < bounds.size(); i += 2) {
      visitor.Demand(bounds[i] < bounds[i + 1] && (i == 0 || bounds[i - 1] < bounds[i]),
                     "its ranges are in order");
      after_[bounds[i]] = bounds[i + 1];
    }
    passed_errors_ = true;  // the state does not record whether they did
  }

  std::optional<Error> Discard(int64_t& steps) override {
    if (!job_ && after_.empty() && !ended_ && !Shared()) {
      trail_.Reset(-StepsMore(-trail_.front_position(), steps), trail_.front_blob());
      steps = 0;
      return std::nullopt;
    }
    while (steps > 0) {
      Block block = DoNextBlock(steps);
      if (block.error && block.error->transient()) return std::move(block.error);
      if (block.steps() == 0) steps = 0;
      steps -= std::min(steps, block.steps());
    }
    return std::nullopt;
  }

 protected:
  Block DoNextBlock(int64_t max_rows) override {
    while (waiting_.empty()) {
      if (ended_) return Block::AtEnd();
      if (context_.cancel.cancelled()) return Block::Of(Error(ErrorKind::kCancelled, ""));
      if (auto error = Ask()) return Block::Of(*std::move(error));
    }
    Block block = waiting_.Take(max_rows);
    Deliver(block.steps());
    buffered(waiting_.steps());
    // Results of workers beyond an error are wrong: they skipped it as if it did not exist, and in
    // a batch, for example, later rows took its place.
    if (block.error) Restart();
    return block;
  }

 private:
  // Consumers that share a job all begin at the same position, and skip the steps before their
  // shares.
  bool Shared() const {
    EnsureAttached();
    const PyRef shared = PyRef::Steal(PyObject_GetAttrString(data_->work(), "shared"));
    if (!shared) throw CurrentPythonError();
    return shared.get() == Py_True;
  }

  void buffered(int64_t steps) {
    stats_->buffer_size.store(static_cast<int32_t>(steps), std::memory_order_relaxed);
  }

  // Takes the next lease, if one arrives soon. Returns an error of the job, or a transient one.
  std::optional<Error> Ask() {
    Attachment& gil = EnsureAttached();
    // Attached, and before touching any user object: see ShownRef.
    if (context_.cancel.cancelled()) return Error(ErrorKind::kCancelled, "");
    if (!Begun()) return Failure(gil);
    const PyRef job = job_.Use();
    if (!job) return Error(ErrorKind::kCancelled, "");
    const int64_t start = NowNs();
    const PyRef answer = PyRef::Steal(PyObject_CallMethod(job.get(), "take", "L", received_));
    StageStats::Add(stats_->wait_ns, NowNs() - start);
    if (!answer) return Failure(gil);
    if (answer.get() == Py_None) return std::nullopt;
    if (PyUnicode_Check(answer.get())) {  // "again": the job has lost this consumer
      Restart();
      return std::nullopt;
    }
    long long first = 0, lost = 0;
    PyObject* rows = nullptr;
    if (!PyArg_ParseTuple(answer.get(), "LOL", &first, &rows, &lost)) throw CurrentPythonError();
    StageStats::Set(stats_->retries, static_cast<int32_t>(lost));
    if (rows == Py_None) {
      ended_ = true;
      return std::nullopt;
    }
    const std::shared_ptr<MadeRows> made = MadeRowsOfPython(rows);
    if (!made) throw Error(ErrorKind::kType, "distribute: a worker gave no rows");
    if (std::vector<Block> blocks; OwnBlocks(*made, blocks)) {
      ++received_;
      Add(*made, std::move(blocks), first);
      return std::nullopt;
    }
    return Failure(gil);
  }

  // The blocks of a lease, with separate exception objects for this iterator. The job keeps the
  // lease, and others may share it. A raised exception refers to the frames it left, which refer to
  // the iterator, so the iterator would never be freed. With the GIL; false with an error set.
  bool OwnBlocks(const MadeRows& made, std::vector<Block>& blocks) const {
    for (Block block : made.blocks) {
      block.end = false;  // the job reports the end
      if (block.error && block.error->foreign()) {
        PyRef own =
            PyRef::Steal(PyObject_CallMethod(data_->work(), "own_failure", "O",
                                             static_cast<PyObject*>(block.error->foreign().get())));
        if (!own) return false;
        block.error->Becomes(ToForeign(std::move(own)));
      }
      if (block.rows > 0 || block.error) blocks.push_back(std::move(block));
    }
    return true;
  }

  void Add(const MadeRows& made, std::vector<Block> blocks, int64_t first) {
    for (const auto& [steps, position] : made.marks) {
      trail_.Add(first + steps - position.steps, position.state);
    }
    at_ = first;
    waiting_.Add(std::move(blocks));
    buffered(waiting_.steps());
  }

  static Error Failure(Attachment& gil) {
    if (gil.TakeInterrupt()) return Error(ErrorKind::kInterrupted, "");
    return CurrentPythonError();
  }

  // With the GIL: starts the job at the position of this iterator. False with an error set.
  bool Begun() {
    if (job_ && begun_) return true;
    if (!job_) {
      std::string place;
      StateVisitor saving(&place);
      RandomPlace(context_.place).Visit(saving);
      job_ = ShownRef(context_.session,
                      PyRef::Steal(PyObject_CallMethod(data_->work(), "open", "y#O", place.data(),
                                                       static_cast<Py_ssize_t>(place.size()),
                                                       ordered() ? Py_True : Py_False)),
                      false);
      if (!job_) return false;
      context_.session->NoteThreads();
    }
    Rebase();
    const std::string state =
        PartState(data_->input(), context_, {trail_.front_blob(), -trail_.front_position()});
    const PyRef done = PyRef::Steal(PyList_New(0));
    for (auto& [from, to] : after_) {
      const PyRef range = PyRef::Steal(
          Py_BuildValue("LL", static_cast<long long>(from), static_cast<long long>(to)));
      if (!done || !range || PyList_Append(done.get(), range.get()) < 0) return false;
    }
    const PyRef job = job_.Use();
    if (!done || !job) return false;
    const bool sound = after_.empty() || !passed_errors_;
    const PyRef began = PyRef::Steal(PyObject_CallMethod(job.get(), "begin", "y#OO", state.data(),
                                                         static_cast<Py_ssize_t>(state.size()),
                                                         done.get(), sound ? Py_True : Py_False));
    received_ = 0;
    begun_ = static_cast<bool>(began);
    return begun_;
  }

  bool ordered() const { return data_->ordered() || context_.replayed; }

  // Makes the job restart at the position of this iterator.
  void Restart() {
    passed_errors_ = true;
    waiting_ = PendingBlocks();
    begun_ = false;
  }

  // Positions count from here on.
  void Rebase() {
    std::string text;
    StateVisitor saving(&text);
    trail_.VisitState(saving, all_before_);
    StateVisitor reading{std::string_view(text)};
    const SavedPosition here = SavedPosition::Read(reading);
    std::map<int64_t, int64_t> after;
    for (auto& [first, last] : after_) after[first - all_before_] = last - all_before_;
    after_ = std::move(after);
    trail_.Reset(-here.steps, here.state);
    all_before_ = 0;
  }

  // Records that the next steps of the lease were delivered.
  void Deliver(int64_t steps) {
    if (steps == 0) return;
    const int64_t first = std::exchange(at_, at_ + steps);
    auto next = after_.upper_bound(first);
    const bool more = next != after_.begin() && std::prev(next)->second == first;
    const auto own = more ? std::prev(next) : after_.emplace_hint(next, first, at_);
    own->second = at_;
    if (next != after_.end() && next->first == at_) {
      own->second = next->second;
      after_.erase(next);
    }
    for (auto begin = after_.begin(); begin != after_.end() && begin->first == all_before_;
         begin = after_.begin()) {
      all_before_ = begin->second;
      after_.erase(begin);
    }
    trail_.Prune(all_before_);
  }

  const std::shared_ptr<const DistributeDataset> data_;
  const RunContext context_;
  StageStats* const stats_;
  ShownRef job_;
  bool begun_ = false;
  long long received_ = 0;  // number of leases since the job began
  StateTrail trail_;        // of the input, at positions
  int64_t all_before_ = 0;
  std::map<int64_t, int64_t> after_;  // ranges delivered after it: first, end
  bool passed_errors_ = false;        // these ranges may contain errors
  PendingBlocks waiting_;             // of the lease being delivered
  int64_t at_ = 0;                    // the position of its next step
  bool ended_ = false;
};

IteratorPtr DistributeDataset::MakeIterator(const RunContext& context) const {
  const RunOptions& options = context.session->options();
  if (options.debug || !options.counted) {  // looking at one element needs no workers
    return std::make_unique<PassIterator>(StartInput(context));
  }
  return std::make_unique<DistributeIterator>(
      std::static_pointer_cast<const DistributeDataset>(shared_from_this()), context);
}

const RegisterDataset distribute_stage("distribute",
                                       {.foreign = true,
                                        .timing = true,
                                        .keeps_sizes = true,
                                        .arguments = {{"work", ArgumentForm::kObject}}},
                                       [](const std::vector<DatasetPtr>&,
                                          const Args& args) -> std::shared_ptr<Dataset> {
                                         return std::make_shared<DistributeDataset>(
                                             args.Object("work"), args.Bool("deterministic"));
                                       });

}  // namespace
}  // namespace penstock
