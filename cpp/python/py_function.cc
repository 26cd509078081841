// Calls user functions: attached once per block, row by row, with the element's randomness.
#include "python/py_function.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compute/retries.h"
#include "data/pending.h"
#include "python/bind.h"
#include "python/call_note.h"
#include "python/coroutines.h"
#include "python/element_rng.h"
#include "python/errors.h"
#include "python/free_threads.h"
#include "python/gil.h"
#include "python/pytree.h"
#include "python/rows.h"
#include "python/running_call.h"
#include "python/types.h"
#include "runtime/event_count.h"
#include "runtime/wait.h"

namespace penstock {
namespace {

PyObject* Vectorcall(PyObject* callable, PyObject* const* arguments, size_t count,
                     PyObject* names) {
  return CallPython([&] { return PyObject_Vectorcall(callable, arguments, count, names); });
}

// `rows` without the first `done` ones.
Block Rest(Block rows, int64_t done) {
  PendingBlocks cut;
  int64_t left = rows.rows - done;
  cut.Add(std::move(rows));
  if (done > 0) cut.Take(done);
  return cut.Take(left);
}

// The arguments of one call: leaves as NumPy values. A tuple at the top level is unpacked.
class Arguments {
 public:
  // For the rows of a block, before the first one.
  explicit Arguments(const Block& rows) : own_(rows.own_columns()) {}
  // Sets values() to new references, to be released after the call. With `consume`, moves the
  // leaves out of the row, which is delivered only once: memory without other owners is then
  // writeable.
  bool FromRow(Block& rows, int64_t row, bool consume, const RunningCall& running) {
    Clear();
    const StructureRef structure = rows.structure;
    PyObject* leaves[kInline];
    std::vector<PyObject*> many;
    PyObject** made = leaves;
    size_t count = rows.stacked() ? rows.columns.size() : rows.elements[row].leaves.size();
    if (count > kInline) {
      many.resize(count);
      made = many.data();
    }
    const bool all = running.Changing([&] { return LeafValues(rows, row, consume, made, count); });
    if (!all) return false;
    if (structure->kind() != Structure::Kind::kTuple) {
      values_.push_back(Unflatten(structure, made));
      return values_.back() != nullptr;
    }
    for (const StructureRef& child : structure->children()) {
      values_.push_back(Unflatten(child, made));
      made += child->leaves();
      if (!values_.back()) return false;
    }
    return true;
  }
  void Add(PyObject* value) { values_.push_back(value); }
  void DropLast() {
    Py_DECREF(values_.back());
    values_.pop_back();
  }
  void Clear() {
    for (PyObject* value : values_) Py_XDECREF(value);
    values_.clear();
  }
  // After an interrupted call: returns what FromRow consumed to its row.
  void GiveBack(Block& rows, int64_t row) {
    std::vector<Tensor> leaves;
    const StructureRef whole = rows.elements[row].structure;
    bool spread = whole->kind() == Structure::Kind::kTuple;
    for (size_t i = 0; i < values_.size(); ++i) {
      Flattened flat;
      if (!FlattenLike(spread ? whole->children()[i] : whole, values_[i], &flat)) break;
      for (PyObject* leaf : flat.leaves) {
        leaves.emplace_back();
        if (!ToTensor(leaf, Sharing::kBorrow, &leaves.back())) leaves.pop_back();
      }
    }
    PyErr_Clear();
    if (leaves.size() == rows.elements[row].leaves.size())
      rows.elements[row].leaves = std::move(leaves);
  }
  ~Arguments() { Clear(); }
  Arguments(const Arguments&) = delete;

  // One scalar of a dense column; reuses the object of the previous scalar if possible.
  PyObject* Scalar(const Tensor& column, int64_t row, size_t i) {
    if (reuse_.size() <= i) reuse_.resize(i + 1);
    size_t size = column.dtype().itemsize;
    return MakeScalar(column.dtype(), column.data() + static_cast<size_t>(row) * size, &reuse_[i]);
  }

  PyObject** values() { return values_.data(); }
  size_t size() const { return values_.size(); }

 private:
  static constexpr size_t kInline = 16;

  // False, with an error set and nothing created, if a leaf cannot be converted.
  bool LeafValues(Block& rows, int64_t row, bool consume, PyObject** made, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      made[i] = LeafValue(rows, row, i, consume);
      if (made[i]) continue;
      for (size_t j = 0; j < i; ++j) Py_DECREF(made[j]);
      return false;
    }
    return true;
  }

  PyObject* LeafValue(Block& rows, int64_t row, size_t i, bool consume) {
    if (!rows.stacked()) {
      Tensor& leaf = rows.elements[row].leaves[i];
      // Strings and numbers stay in the row, for error notes. The note about an array does not need
      // its memory.
      const DType dtype = leaf.dtype();
      const bool array = leaf.shape().rank() > 0 && !dtype.is_reference();
      const bool moves = consume && (array || dtype.code == TypeCode::kObject);
      return ToPython(moves ? std::move(leaf) : leaf);
    }
    const Tensor& column = rows.columns[i].items;
    DType dtype = column.dtype();
    if (column.shape().rank() == 1 && !dtype.is_reference()) {
      return Scalar(column, row, i);
    }
    return ToPython(column.Row(row), consume && i < own_.size() && own_[i]);
  }

  const std::vector<bool> own_;  // columns whose memory is not shared
  std::vector<PyObject*> values_;
  std::vector<PyRef> reuse_;  // scalars of the last call, reused if the function kept no reference
};

class PyFunction final : public Function {
 public:
  PyFunction(PyRef callable, std::shared_ptr<const ElementSpec> declared, CallForm form)
      : callable_(std::move(callable)),
        declared_(std::move(declared)),
        awaits_(form.awaits),
        timeout_ns_(form.timeout_ns) {
    if (!form.wants_rng) return;
    rng_name_ = PyRef::Steal(Py_BuildValue("(s)", "rng"));
    if (!rng_name_) throw CurrentPythonError();
  }

  void Map(Block&& rows, const CallInfo& info, std::vector<Block>& out) override {
    Attachment& gil = EnsureAttached();
    const RowPolicy policy = Policy(info);
    if (rows.rows == 1 && !declared_ && !info.slabs && !rng_name_ && IsScalarColumn(rows)) {
      return MapOneScalar(std::move(rows), info, policy, out);
    }
    RowCollector collector(policy, rows.rows, info.slabs, info.first_row, &last_structure_);
    {
      ScopedRandom random(info.random);
      Arguments arguments(rows);
      std::optional<ElementRngs::Lease> rng;
      if (rng_name_) rng.emplace(rngs_);
      const bool scalars = IsScalarColumn(rows) && !rng;
      std::optional<RunningCall> running(std::in_place, info, rows, callable_.get());
      for (int64_t row = 0; row < rows.rows; ++row) {
        running->At(row);
        gil.Yield();
        if (info.progress) info.progress->store(row, std::memory_order_relaxed);
        random.For(rows.key(row));
        PyObject* result = running->Timed([&] {
          PyObject* made =
              scalars ? CallScalar(rows.columns[0], row, arguments)
                      : CallRow(rows, row, arguments, true, rng ? &*rng : nullptr, *running);
          return made && awaits_ ? Await(PyRef::Steal(made)) : made;
        });
        bool added = result && (collector.AddScalar(result, rows, row) ||
                                (IsValue(result, info) && collector.Add(result, rows.origin(row))));
        if (!added && gil.TakeInterrupt()) {
          Py_XDECREF(result);
          collector.Finish(out);
          running.reset();
          if (!rows.stacked()) arguments.GiveBack(rows, row);
          rows = Rest(std::move(rows), row);
          throw Error(ErrorKind::kInterrupted, "");
        }
        if (!added) collector.AddError(UserError(rows, row, info));
        Py_XDECREF(result);
      }
    }
    collector.Finish(out);
  }

  bool Test(const Element& element, const CallInfo& info) override {
    EnsureAttached().Yield();
    Block row = Block::Of(element);
    PyRef result = CallOnce(row, info);
    const std::optional<bool> answer = result ? Answer(result.get(), info) : std::nullopt;
    if (!answer) throw UserError(row, 0, info);
    return *answer;
  }

  DatasetPtr Open(const Element& element, const CallInfo& info) override {
    EnsureAttached().Yield();
    Block row = Block::Of(element);
    PyRef result = CallOnce(row, info);
    if (!result) throw UserError(row, 0, info);
    DatasetPtr dataset = KeepingDataset(result.get(), info.session);
    if (!dataset) {
      PyErr_Format(PyExc_TypeError,
                   "%s: the function must return a Dataset, got %.200R; use map for "
                   "functions that return values",
                   info.stage->kind.c_str(), result.get());
      throw UserError(row, 0, info);
    }
    return dataset;
  }

  bool needs_lock() const override { return true; }
  bool suspends() const override { return awaits_; }
  std::unique_ptr<OngoingCalls> Ongoing(OngoingCalls::Take take, int64_t retries) override;
  FunctionPtr InProcesses(const std::string& stage) override {
    if (awaits_) return nullptr;
    EnsureAttached();
    {
      const std::lock_guard lock(in_processes_lock_);
      if (in_processes_) return in_processes_;
    }
    // Runs Python code, during which another thread may reach this function.
    FunctionPtr made = PickledProcessFunction(
        stage, callable_, {declared_, static_cast<bool>(rng_name_), timeout_ns_});
    const std::lock_guard lock(in_processes_lock_);
    if (!in_processes_) in_processes_ = std::move(made);
    return in_processes_;
  }

 private:
  friend class OngoingCoroutines;

  RowPolicy Policy(const CallInfo& info) const {
    RowPolicy policy;
    policy.stage = info.stage->kind.c_str();
    policy.declared = declared_.get();
    policy.list_as_tuple = true;
    return policy;
  }

  // The result of a predicate; nullopt, with an error set, if it is not a single bool.
  static std::optional<bool> Answer(PyObject* result, const CallInfo& info) {
    if (result == Py_True || result == Py_False) return result == Py_True;
    Tensor value;
    if (!ToTensor(result, Sharing::kCopy, &value)) return std::nullopt;
    if (value.elements() == 1 && value.dtype().code == TypeCode::kBool) return value.value<bool>();
    PyErr_Format(PyExc_TypeError, "%s: the predicate must return one bool, got %R",
                 info.stage->kind.c_str(), result);
    return std::nullopt;
  }

  // False, with an error set, for a coroutine: whether calls may be in progress together must be
  // decided before the first one.
  static bool IsValue(PyObject* result, const CallInfo& info) {
    if (!PyCoro_CheckExact(result)) return true;
    CloseCoroutine(result);
    PyErr_Format(PyExc_TypeError,
                 "%s: the function returned a coroutine; write it as async def, and it is awaited",
                 info.stage->kind.c_str());
    return false;
  }

  // Whether the fast paths for a single scalar apply.
  bool IsScalarColumn(const Block& rows) const {
    return !awaits_ && rows.stacked() && rows.structure == Structure::Leaf() &&
           rows.columns[0].rank() == 0 && !rows.columns[0].dtype().is_reference();
  }

  // New reference, null with an error set. The fast path for a single scalar: creates the scalar
  // and calls.
  PyObject* CallScalar(const Tensor& column, int64_t row, Arguments& arguments) {
    PyObject* value = arguments.Scalar(column, row, 0);
    if (!value) return nullptr;
    PyObject* frame[2] = {nullptr, value};
    PyObject* result =
        Vectorcall(callable_.get(), frame + 1, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
    Py_DECREF(value);
    return result;
  }

  // One scalar in, nearly always one scalar out.
  void MapOneScalar(Block&& rows, const CallInfo& info, const RowPolicy& policy,
                    std::vector<Block>& out) {
    EnsureAttached().Yield();
    if (info.progress) info.progress->store(0, std::memory_order_relaxed);
    ScopedRandom random(info.random);
    random.For(rows.key(0));
    PyRef result;
    {
      const RunningCall running(info, rows, callable_.get());
      PyObject* frame[2] = {nullptr,
                            MakeScalar(rows.columns[0].dtype(), rows.columns[0].items.data())};
      if (frame[1]) {
        result = PyRef::Steal(running.Timed([&] {
          return Vectorcall(callable_.get(), frame + 1, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET,
                            nullptr);
        }));
        Py_DECREF(frame[1]);
      }
    }
    int code = result ? ScalarTypeCode(Py_TYPE(result.get())) : -1;
    if (code >= 0) {
      auto type = static_cast<TypeCode>(code);
      Tensor value = Tensor::ScalarBytes(DType::Of(type), ScalarValue(result.get(), type));
      rows.columns[0] = value.Reshaped({1});
      out.push_back(std::move(rows));
      return;
    }
    if (!result && CurrentAttachment()->TakeInterrupt()) throw Error(ErrorKind::kInterrupted, "");
    RowCollector collector(policy, 1, nullptr, info.first_row, &last_structure_);
    if (!result || !IsValue(result.get(), info) || !collector.Add(result.get(), rows.origin(0))) {
      collector.AddError(UserError(rows, 0, info));
    }
    collector.Finish(out);
  }

  PyObject* CallRow(Block& rows, int64_t row, Arguments& arguments, bool consume,
                    ElementRngs::Lease* rng, const RunningCall& running) {
    if (!arguments.FromRow(rows, row, consume, running)) return nullptr;
    size_t count = arguments.size();
    if (rng) {
      rng->Key(NextOperationKey());
      arguments.Add(Py_NewRef(rng->generator()));
    }
    PyObject* result = Vectorcall(callable_.get(), arguments.values(), count, rng_name_.get());
    if (rng) arguments.DropLast();
    // Otherwise GiveBack may need them, also when a coroutine has only begun.
    if (result && !awaits_) arguments.Clear();
    return result;
  }

  PyRef CallOnce(Block& row, const CallInfo& info) {
    ScopedRandom random(info.random);
    random.For(row.key(0));
    const RunningCall running(info, row, callable_.get());
    Arguments arguments(row);
    std::optional<ElementRngs::Lease> rng;
    if (rng_name_) rng.emplace(rngs_);
    return running.Timed([&] {
      PyRef result =
          PyRef::Steal(CallRow(row, 0, arguments, false, rng ? &*rng : nullptr, running));
      return result && awaits_ ? PyRef::Steal(Await(std::move(result))) : std::move(result);
    });
  }

  // The raised exception, as a failure of this row.
  Error UserError(const Block& rows, int64_t row, const CallInfo& info) {
    if (CurrentAttachment()->TakeInterrupt()) return Error(ErrorKind::kInterrupted, "");
    Error error = CurrentUserError();
    Element element = rows.Row(row);
    const bool tuple = element.structure->kind() == Structure::Kind::kTuple;
    const size_t count = tuple ? element.structure->children().size() : 1;
    error.In(FailedStepOf(info, row, element), element.origin);
    std::string note = CallNote(error, callable_.get(), info.stage->kind.c_str(), count,
                                static_cast<bool>(rng_name_));
    if (!note.empty()) error.Note(std::move(note));
    return error;
  }

  PyRef callable_;
  std::shared_ptr<const ElementSpec> declared_;
  const bool awaits_;         // it returns an awaitable
  const int64_t timeout_ns_;  // for one call in a worker process
  InsteadOfGil in_processes_lock_;
  FunctionPtr in_processes_;  // null until requested
  PyRef rng_name_;            // ("rng",) if the function takes a generator
  ElementRngs rngs_;
  LastStructure last_structure_;
};

// The rows of one Begin, for as long as calls for them are in progress.
struct BegunRows {
  Block rows;  // consumed by the first calls
  CallInfo info;
  Block kept;  // for retries
};

// State shared by the calls of a stage, including those that have ended. It outlives their owner.
struct OngoingShared {
  OngoingCalls::Take take;
  std::vector<OngoingCalls::Ended> ended;  // not taken yet; used on the loop's thread
  int64_t lost = 0;                        // calls whose result found no memory; likewise
  std::atomic<int64_t> left{0};            // begun, and not taken
  EventCount taken;

  void Add(OngoingCalls::Ended call) { ended.push_back(std::move(call)); }
  void TakeEnded() {
    const auto count = static_cast<int64_t>(ended.size()) + lost;
    bool complete = std::exchange(lost, 0) == 0;
    try {
      if (!ended.empty()) take(std::exchange(ended, {}));
    } catch (const std::bad_alloc&) {
      complete = false;
    }
    if (!complete) take({});
    left.fetch_sub(count, std::memory_order_release);  // pairs with the acquire in None
    taken.NotifyAll();
  }
  bool None() const { return left.load(std::memory_order_acquire) == 0; }
};

// Calls of a coroutine function on the event loop.
class OngoingCoroutines final : public OngoingCalls {
 public:
  OngoingCoroutines(PyFunction& function, Take take, int64_t retries)
      : function_(function),
        retries_(retries),
        shared_(std::make_shared<OngoingShared>()),
        coroutines_([shared = shared_] { shared->TakeEnded(); }) {
    shared_->take = std::move(take);
  }

  ~OngoingCoroutines() override {
    if (shared_->None()) return;
    EnsureAttached();
    coroutines_.Cancel();
    WaitUninterrupted(shared_->taken, [this] { return shared_->None(); });
    EnsureAttached();
  }

  void Begin(Block&& rows, const CallInfo& info, int64_t number) override {
    Attachment& gil = EnsureAttached();
    auto begun = std::make_shared<BegunRows>(BegunRows{std::move(rows), info, {}});
    if (retries_ > 0) begun->kept = begun->rows.SliceApart(0, begun->rows.rows);
    if (info.tests) begun->rows.Separate();  // not shared: a test may keep it
    std::vector<Ended> failed;
    int64_t added = 0;
    {
      ScopedRandom random(info.random);
      Arguments arguments(begun->rows);
      RunningCall running(info, begun->rows, function_.callable_.get());
      for (int64_t row = 0; row < begun->rows.rows; ++row) {
        running.At(row);
        gil.Yield();
        random.For(begun->rows.key(row));
        auto call = std::make_unique<Call>(*this, begun, row, number + row, retries_);
        PyRef coroutine = call->Begun(begun->rows, row, arguments, running);
        if (!coroutine) coroutine = call->BegunAgain(function_.UserError(begun->rows, row, info));
        if (coroutine) {
          coroutines_.Add(std::move(call), std::move(coroutine));
          ++added;
        } else {
          failed.push_back({number + row, call->TakeFailure()});
        }
      }
    }
    shared_->left.fetch_add(added, std::memory_order_relaxed);
    if (!coroutines_.Begin()) {  // the process is ending
      PyErr_Clear();
      shared_->left.fetch_sub(added, std::memory_order_relaxed);
    }
    if (!failed.empty()) shared_->take(std::move(failed));
  }

 private:
  class Call final : public CoroutineCall {
   public:
    // `left`: the number of remaining retries.
    Call(OngoingCoroutines& owner, std::shared_ptr<BegunRows> begun, int64_t row, int64_t number,
         int64_t left)
        : owner_(owner),
          function_(owner.function_),
          shared_(owner.shared_),
          begun_(std::move(begun)),
          row_(row),
          number_(number),
          left_(left) {}

    // The coroutine that the function returns for row `row` of `rows`; null with an error set.
    PyRef Begun(Block& rows, int64_t row, Arguments& arguments, const RunningCall& running) {
      if (function_.rng_name_ && !rng_)
        rng_ = std::make_unique<ElementRngs::Lease>(function_.rngs_);
      const bool consume = !begun_->info.tests;  // a tested row may be delivered afterwards
      PyRef coroutine =
          PyRef::Steal(function_.CallRow(rows, row, arguments, consume, rng_.get(), running));
      arguments.Clear();
      DrawFrom(CurrentElementRandom());
      return coroutine;
    }

    // After `error`: the coroutine of a retry, or null, with the last error as the failure.
    PyRef BegunAgain(Error error) {
      CallInfo info = begun_->info;
      info.index += row_;
      ScopedRandom random(info.random);
      while (left_ > 0 && MayRetry(error)) {
        --left_;
        CountRetry(info);
        Block row = begun_->kept.SliceApart(row_, 1);
        Arguments arguments(row);
        const RunningCall running(info, row, function_.callable_.get());
        random.For(row.key(0));
        if (PyRef coroutine = Begun(row, 0, arguments, running)) return coroutine;
        error = function_.UserError(row, 0, info);
      }
      if (owner_.retries_ > 0) NoteTries(error, owner_.retries_);
      failure_.push_back(Block::Of(std::move(error)));
      return {};
    }
    std::vector<Block> TakeFailure() { return std::move(failure_); }

    std::optional<SeenCoroutine> SeenBy(const Session* session) const override {
      const std::lock_guard lock(mutex_);
      if (!begun_ || begun_->info.session != session) return std::nullopt;
      SeenCoroutine seen;
      seen.text = RunningCall::TextOf(*begun_->info.stage, begun_->info.index, begun_->rows, row_);
      seen.since = since_;
      return seen;
    }

    // Runs on the loop's thread, which belongs to Python, so it must not throw.
    void Ended(PyObject* task) noexcept override {
      try {
        if (!AddResult(task)) return;
      } catch (const std::bad_alloc&) {
        ++shared_->lost;
      }
      rng_.reset();
      const std::lock_guard lock(mutex_);
      begun_.reset();
    }

   private:
    // False if the call will be repeated.
    bool AddResult(PyObject* task) {
      OngoingCalls::Ended call{number_, {}};
      if (task) {
        PyRef result = PyRef::Steal(PyObject_CallMethod(task, "result", nullptr));
        if (!result || !Take(result.get(), call)) {
          PyRef again = BegunAgain(function_.UserError(begun_->rows, row_, begun_->info));
          if (again) {
            GoOn(std::move(again));
            return false;
          }
          call.results = TakeFailure();
        }
      }
      shared_->Add(std::move(call));
      return true;
    }

    // False, with an error set, if `result` is not valid.
    bool Take(PyObject* result, OngoingCalls::Ended& call) {
      const CallInfo& info = begun_->info;
      if (info.tests) {
        const std::optional<bool> answer = PyFunction::Answer(result, info);
        if (!answer) return false;
        call.results.push_back(Bools({*answer}));
        call.tested = Block::Of(std::move(begun_->rows.elements[static_cast<size_t>(row_)]));
        return true;
      }
      const RowPolicy policy = function_.Policy(info);
      RowCollector collector(policy, 1, nullptr, 0, &function_.last_structure_);
      if (!collector.Add(result, begun_->rows.origin(row_))) return false;
      collector.Finish(call.results);
      return true;
    }

    // On the loop's thread. The owner waits for the calls it has begun.
    void GoOn(PyRef coroutine) {
      auto next = std::make_unique<Call>(owner_, begun_, row_, number_, left_);
      next->DrawFrom(*this);
      next->rng_ = std::move(rng_);
      if (owner_.coroutines_.Begin(std::move(next), std::move(coroutine))) return;
      PyErr_Clear();  // the process is ending
      shared_->Add({number_, {}});
    }

    OngoingCoroutines& owner_;
    PyFunction& function_;
    std::shared_ptr<OngoingShared> shared_;
    std::shared_ptr<BegunRows> begun_;
    const int64_t row_;
    const int64_t number_;
    const MonoTime since_ = NowNs();
    int64_t left_;
    std::unique_ptr<ElementRngs::Lease> rng_;
    std::vector<Block> failure_;
  };

  PyFunction& function_;
  const int64_t retries_;
  const std::shared_ptr<OngoingShared> shared_;
  Coroutines coroutines_;
};

std::unique_ptr<OngoingCalls> PyFunction::Ongoing(OngoingCalls::Take take, int64_t retries) {
  EnsureAttached();
  return std::make_unique<OngoingCoroutines>(*this, std::move(take), retries);
}

}  // namespace

FunctionPtr MakePyFunction(PyRef callable, std::shared_ptr<const ElementSpec> declared,
                           CallForm form) {
  return std::make_shared<PyFunction>(std::move(callable), std::move(declared), form);
}

}  // namespace penstock
