// generator: the values of a Python iterable, which is created again for each iterator.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <string>

#include "data/block_size.h"
#include "data/empty_list.h"
#include "data/pending.h"
#include "engine/registry.h"
#include "engine/session.h"
#include "python/coroutines.h"
#include "python/errors.h"
#include "python/free_threads.h"
#include "python/generator.h"
#include "python/gil.h"
#include "python/rows.h"
#include "python/running_call.h"
#include "python/shown_refs.h"
#include "python/types.h"
#include "runtime/blocking.h"
#include "runtime/clock.h"
#include "workers/process_stream.h"

namespace penstock {
namespace {

class GeneratorDataset final : public Dataset {
 public:
  // For a generator that runs in a worker process.
  struct Served {
    int64_t skip = 0;
    std::string state;  // of the iterable, after `state_at` values; empty: none
    int64_t state_at = 0;
    StageRandom random;  // of the stage in the consuming process
    std::atomic<int64_t>* progress = nullptr;
  };
  GeneratorDataset(std::string name, Args::Foreign callable, Args::Foreign arguments,
                   MaybeSpec declared, bool opaque, int64_t length, Executor executor,
                   Args::Foreign setup, Served served)
      : name_(std::move(name)),
        callable_(std::move(callable)),
        arguments_(std::move(arguments)),
        declared_(std::move(declared)),
        opaque_(opaque),
        length_(length),
        executor_(executor),
        setup_(std::move(setup)),
        served_(std::move(served)) {}
  int64_t cardinality() const override { return length_; }
  MaybeSpec spec() const override { return declared_ ? declared_ : probed_spec(); }

  RowPolicy policy() const {
    RowPolicy policy;
    policy.stage = name_.c_str();
    policy.declared = declared_ ? &*declared_ : nullptr;
    policy.copy = true;
    policy.opaque = opaque_;
    return policy;
  }
  const Served& served() const { return served_; }
  // Records that a pass had values; thread-safe.
  void HadValues() const { had_values_.store(true, std::memory_order_relaxed); }
  void EndedWithoutValues(Session& session) const {
    // relaxed: these flags publish no other data.
    if (!had_values_.load(std::memory_order_relaxed)) return;
    if (warned_.exchange(true, std::memory_order_relaxed)) return;
    session.Warn(name_ +
                 ": this pass has no values, but an earlier one had some: the generator function "
                 "seems to return the same iterator, which is exhausted; make a new one in each "
                 "call");
  }
  // The bytes from which worker processes create the generator.
  std::string Payload() const {
    EnsureAttached();
    {
      const std::lock_guard lock(payload_lock_);
      if (!payload_.empty()) return payload_;
    }
    std::string made = MakePayload();
    const std::lock_guard lock(payload_lock_);
    if (payload_.empty()) payload_ = std::move(made);
    return payload_;
  }
  // Needs the GIL. Returns an iterator, or penstock.coroutines.Values; null with an error set.
  // Restores `state` into the iterable unless it is empty. Sets `stream` to the
  // penstock.stream_states.Stream that saves such states, if the iterable has any.
  PyRef Open(const std::string& state, PyRef& stream) const {
    // The generator of a worker process runs in this process for debugging.
    if (setup_ && !PyRef::Steal(PyObject_CallMethod(Setup(), "here", nullptr))) return {};
    PyRef made = PyRef::Steal(CallPython(
        [&] { return PyObject_CallObject(static_cast<PyObject*>(callable_.get()), Arguments()); }));
    if (!made) return {};
    if (IsAsync(made.get())) {
      PyRef module = PyRef::Steal(PyImport_ImportModule("penstock.coroutines"));
      return module ? PyRef::Steal(PyObject_CallMethod(module.get(), "Values", "O", made.get()))
                    : PyRef();
    }
    if (!state.empty() || KeepsState(made.get())) {
      return OpenStream(made, state, Py_None, stream);
    }
    PyRef iterator = PyRef::Steal(CallPython([&] { return PyObject_GetIter(made.get()); }));
    if (iterator && iterator.get() != made.get() && KeepsState(iterator.get())) {
      return OpenStream(made, state, iterator.get(), stream);
    }
    if (!iterator && PyErr_ExceptionMatches(PyExc_TypeError)) {
      PyErr_Clear();
      PyErr_Format(PyExc_TypeError,
                   "%s: the generator function must return an iterable, got %.200R", name_.c_str(),
                   made.get());
    }
    return iterator;
  }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  PyObject* Arguments() const { return static_cast<PyObject*>(arguments_.get()); }
  PyObject* Setup() const { return static_cast<PyObject*>(setup_.get()); }
  // Runs Python code, during which another thread may request the payload too.
  std::string MakePayload() const {
    PyRef module = PyRef::Steal(PyImport_ImportModule("functools"));
    PyRef arguments = PyRef::Steal(Py_BuildValue("(O)", callable_.get()));
    arguments = PyRef::Steal(arguments ? PySequence_Concat(arguments.get(), Arguments()) : nullptr);
    PyRef partial = PyRef::Steal(
        module && arguments ? PyObject_GetAttrString(module.get(), "partial") : nullptr);
    PyRef bound =
        PyRef::Steal(partial ? PyObject_CallObject(partial.get(), arguments.get()) : nullptr);
    if (!bound) throw CurrentPythonError();
    auto declared = declared_ ? std::make_shared<const ElementSpec>(*declared_) : nullptr;
    return PickledGenerator(name_, bound, Setup(), std::move(declared), opaque_);
  }
  // Whether the object has the methods state_dict and load_state_dict.
  static bool KeepsState(PyObject* thing) {
    if (PyGen_CheckExact(thing) || PyList_CheckExact(thing)) return false;
    for (const char* method : {"state_dict", "load_state_dict"}) {
      const PyRef found = PyRef::Steal(PyObject_GetAttrString(thing, method));
      if (!found) PyErr_Clear();
      if (!found || !PyCallable_Check(found.get())) return false;
    }
    return true;
  }
  static PyRef OpenStream(const PyRef& iterable, const std::string& state, PyObject* iterator,
                          PyRef& stream) {
    PyRef module = PyRef::Steal(PyImport_ImportModule("penstock.stream_states"));
    if (!module) return {};
    stream = PyRef::Steal(CallPython([&] {
      return PyObject_CallMethod(module.get(), "Stream", "Oy#O", iterable.get(), state.data(),
                                 static_cast<Py_ssize_t>(state.size()), iterator);
    }));
    if (!stream) return {};
    return PyRef::Steal(PyObject_GetAttrString(stream.get(), "iterator"));
  }
  static bool IsAsync(PyObject* made) {
    const PyAsyncMethods* methods = Py_TYPE(made)->tp_as_async;
    return methods && methods->am_aiter && !Py_TYPE(made)->tp_iter;
  }

  std::string name_;
  Args::Foreign callable_;
  Args::Foreign arguments_;
  MaybeSpec declared_;
  bool opaque_;
  int64_t length_;
  Executor executor_;
  Args::Foreign setup_;  // Python Setup that its worker calls once; may be null
  Served served_;
  mutable InsteadOfGil payload_lock_;
  mutable std::string payload_;  // empty until requested
  mutable std::atomic<bool> had_values_{false};
  mutable std::atomic<bool> warned_{false};  // about a pass without values
};

class GeneratorIterator final : public BlockIterator {
 public:
  // `ragged`: the consumer accepts blocks in ragged form.
  GeneratorIterator(std::shared_ptr<const GeneratorDataset> data, const RunContext& context)
      : data_(std::move(data)),
        session_(*context.session),
        cancel_(context.cancel),
        takes_ragged_(context.ragged && !data_->policy().opaque),
        random_(data_->served().progress ? data_->served().random : data_->Randomness(context)),
        draws_{.stage = random_, .active = true},
        own_state_(data_->served().state),
        own_at_(data_->served().state_at),
        asked_(own_at_),
        to_skip_(data_->served().skip - own_at_) {}

  ~GeneratorIterator() override {
    // Closing a generator runs its finally blocks: here if this thread may, otherwise on the next
    // thread that holds the GIL.
    if (!CurrentAttachment() || !iterator_) return;
    EnsureAttached();
    const PyRef values = iterator_.Use();
    if (values && IsAsync(values)) CloseAsync(values);
  }

  void VisitState(StateVisitor& visitor) override {
    // The position is a number of values. A restored iterator loads the state that the iterable had
    // after `own_at_` values, and requests the others. Without such a state, it requests all of
    // them.
    if (visitor.saving()) SaveOwnState();
    int64_t asked = asked_ + to_skip_ - waiting_.steps();
    visitor.Count(asked, "values asked for");
    bool ended = ended_ && !cut_short_;  // calling the generator again yields the rest
    visitor.Bool(ended);
    VisitOwnState(visitor, asked, own_state_, own_at_);
    if (visitor.saving()) return;
    ended_ = ended;
    asked_ = own_at_;
    to_skip_ = asked - own_at_;
  }
  static void VisitOwnState(StateVisitor& visitor, int64_t asked, std::string& state, int64_t& at) {
    visitor.Text(state);
    visitor.Count(at, "values before the state of the iterable", asked);
    visitor.Demand(!state.empty() || at == 0, "values before a state need that state");
  }

  std::optional<Error> Discard(int64_t& steps) override {
    to_skip_ = StepsMore(to_skip_, std::exchange(steps, 0));
    return std::nullopt;
  }

 protected:
  Block DoNextBlock(int64_t max_rows) override {
    if (!waiting_.empty()) return waiting_.Take(max_rows);
    if (ended_) return Block::AtEnd();
    max_rows = std::min(max_rows, kMostBlockRows);
    Attachment& gil = EnsureAttached();
    // Attached, and before touching any user object: see ShownRef.
    if (cancel_.cancelled()) return Block::Of(Error(ErrorKind::kCancelled, ""));
    PyRef values;  // declared before the objects that refer to it
    std::optional<RunningCall> running(std::in_place, data_->label(), asked_, nullptr);
    if (!iterator_) {
      Progress();
      PyRef stream;
      iterator_ =
          ShownRef(&session_, Drawing([&] { return data_->Open(own_state_, stream); }), false);
      if (stream) stream_ = ShownRef(&session_, std::move(stream), false);
      if (!iterator_) {
        Error error = Failure();
        ended_ = !error.transient();
        return Block::Of(std::move(error));
      }
    }
    values = iterator_.Use();
    if (!values) return Block::Of(Error(ErrorKind::kCancelled, ""));
    running->Calls(values.get());
    while (to_skip_ > 0) {
      // The values may be infinite, and the number may come from a forged state.
      if (cancel_.cancelled()) return Block::Of(Error(ErrorKind::kCancelled, ""));
      if (to_skip_ % kMostBlockRows == 0) {  // no Python code may run that checks signals
        if (gil.Interrupted()) return Block::Of(Error(ErrorKind::kInterrupted, ""));
        EnsureAttached();
      }
      gil.Yield();
      Progress();
      PyRef value = running->Timed([&] { return Drawing([&] { return NextValue(values); }); });
      if (!value && !PyErr_Occurred()) {
        if (cut_short_) return Block::Of(CutShort());
        if (asked_ == 0) data_->EndedWithoutValues(session_);
        return AtEnd();
      }
      if (!value && gil.TakeInterrupt()) {
        cut_short_ = true;
        return Block::Of(Error(ErrorKind::kInterrupted, ""));
      }
      if (value && !structure_) Fix(value.get());
      PyErr_Clear();  // it was raised at its first occurrence
      cut_short_ = false;
      --to_skip_;
      running->At(++asked_);
    }
    // Some values of this block may be delivered after a state is saved, which then begins here.
    if (stream_ && max_rows > 1 && clock_.Due(NowNs())) clock_.Take(*this);
    RowPolicy policy = data_->policy();
    if (takes_ragged_) policy.ragged = &ragged_;
    RowCollector collector(policy, max_rows, nullptr, 0, &last_structure_);
    const int64_t first = asked_;
    bool end = false;
    while (collector.rows() < max_rows) {
      gil.Yield();
      Progress();
      PyRef value = running->Timed([&] { return Drawing([&] { return NextValue(values); }); });
      if (!value && !PyErr_Occurred()) {
        if (cut_short_) {
          collector.AddError(CutShort());
          break;
        }
        end = true;
        break;
      }
      if (value) cut_short_ = false;
      Origin origin;
      origin.key = static_cast<uint64_t>(asked_);
      origin.index = asked_++;
      running->At(asked_);
      if (!value || !collector.Add(value.get(), origin)) {
        collector.AddError(Failure());
        break;
      }
    }
    running.reset();  // the code below may release the GIL
    if (asked_ > 0) data_->HadValues();
    if (end && asked_ == 0) data_->EndedWithoutValues(session_);
    std::vector<Block> blocks;
    collector.Finish(blocks);
    CheckAlike(blocks, first);
    // Values of several shapes make several blocks: the later ones wait.
    waiting_.Add(std::move(blocks));
    if (waiting_.empty()) return AtEnd();
    Block block = waiting_.Take(max_rows);
    if (end && waiting_.empty() && !block.error) {
      block.end = true;
      AtEnd();
    }
    return block;
  }

 private:
  // Saves the state of the iterable, if it has one and all values before it were delivered.
  void SaveOwnState() {
    if (!stream_ || ended_ || cut_short_ || to_skip_ > 0 || !waiting_.empty()) return;
    if (asked_ == own_at_) return;
    EnsureAttached();
    const PyRef stream = stream_.Use();
    if (!stream) return;
    const PyRef state = PyRef::Steal(
        CallPython([&] { return PyObject_CallMethod(stream.get(), "state", nullptr); }));
    if (!state) throw CurrentPythonError();
    if (PyBytes_Check(state.get())) {
      own_state_.assign(PyBytes_AS_STRING(state.get()),
                        static_cast<size_t>(PyBytes_GET_SIZE(state.get())));
      own_at_ = asked_;
      return;
    }
    std::string why;
    if (!TextToBytes(state.get(), &why)) throw CurrentPythonError();
    stream_ = ShownRef();
    session_.RefuseStates(std::string(data_->policy().stage) + ": " + why);
  }

  void Progress() const {
    std::atomic<int64_t>* const progress = data_->served().progress;
    if (progress) progress->store(asked_, std::memory_order_relaxed);
  }

  // Without a signature, the first value determines structure and dtypes; shapes may differ.
  void CheckAlike(std::vector<Block>& blocks, int64_t index) {
    if (data_->policy().declared || data_->policy().opaque) return;
    std::vector<Block> checked;
    for (Block& block : blocks) {
      std::vector<DType> dtypes;
      if (block.rows > 0) {
        if (block.stacked()) {
          for (const Column& column : block.columns) dtypes.push_back(column.dtype());
        } else {
          for (const Tensor& leaf : block.elements[0].leaves) dtypes.push_back(leaf.dtype());
        }
        if (!structure_) {
          structure_ = block.structure;
          dtypes_ = dtypes;
          for (size_t leaf = 0; leaf < dtypes.size(); ++leaf) {
            shapes_.push_back(RowShape(block, leaf));
            open_ = open_ || IsEmptyList(dtypes[leaf], shapes_[leaf]);
          }
        }
        if (open_ || dtypes != dtypes_) FitEmptyLists(block, dtypes);
      }
      if (block.rows == 0 || (block.structure == structure_ && dtypes == dtypes_)) {
        index += block.rows + block.error.has_value();
        checked.push_back(std::move(block));
        continue;
      }
      for (int64_t row = 0; row < block.rows; ++row) {
        checked.push_back(Block::Of(Error(
            ErrorKind::kType,
            "{}: element {} is {}, the first one was {}; convert the values in the generator, or "
            "declare them with output_signature",
            std::string_view(data_->policy().stage), index++, Describe(block.structure, dtypes),
            Describe(structure_, dtypes_))));
      }
      if (block.error) checked.push_back(Block::Of(*std::move(block.error)));
    }
    blocks = std::move(checked);
  }

  static Shape RowShape(const Block& block, size_t leaf) {
    return block.stacked() ? block.columns[leaf].shape(0) : block.elements[0].leaves[leaf].shape();
  }

  // Lets empty lists take the dtype and shape of the first values, or the other way round.
  void FitEmptyLists(Block& block, std::vector<DType>& dtypes) {
    if (block.structure != structure_) return;
    open_ = false;
    for (size_t leaf = 0; leaf < dtypes.size(); ++leaf) {
      const LeafSpec form{dtypes_[leaf], shapes_[leaf]};
      bool empty = true;
      if (block.stacked()) {
        empty = AreEmptyLists(block.columns[leaf]);
      } else {
        for (const Element& row : block.elements) empty = empty && IsEmptyList(row.leaves[leaf]);
      }
      if (const LeafSpec own{dtypes[leaf], RowShape(block, leaf)}; !empty) {
        if (IsEmptyList(form) && own.shape.rank() > 0) {
          dtypes_[leaf] = own.dtype;
          shapes_[leaf] = own.shape;
        }
        continue;
      }
      open_ = open_ || IsEmptyList(form);
      if (!CanAdopt(form)) continue;
      if (block.stacked()) block.columns[leaf] = EmptyRows(block.rows, form);
      for (Element& row : block.elements) row.leaves[leaf] = EmptyRows(1, form).Row(0);
      dtypes[leaf] = form.dtype;
      block.slab = {};
    }
  }

  // As CheckAlike, for a value that was delivered before the state was saved.
  void Fix(PyObject* value) {
    const RowPolicy policy = data_->policy();
    if (policy.declared || policy.opaque) return;
    RowCollector collector(policy, 1, nullptr, 0, &last_structure_);
    if (!collector.Add(value, Origin())) return;
    std::vector<Block> blocks;
    collector.Finish(blocks);
    CheckAlike(blocks, 0);
  }

  static std::string Describe(const Structure* structure, const std::vector<DType>& dtypes) {
    std::vector<std::string> names;
    for (DType dtype : dtypes) names.push_back(dtype.name());
    return structure->ToString(names);
  }

  // Calls the generator. Its random operations draw from the key of the requested value. A KeyScope
  // that the generator has entered is kept for it between values.
  template <typename Call>
  PyRef Drawing(Call call) {
    struct Scope {
      explicit Scope(ElementRandom& own) : draws(own) { std::swap(CurrentElementRandom(), draws); }
      ~Scope() { std::swap(CurrentElementRandom(), draws); }
      Scope(const Scope&) = delete;
      Scope& operator=(const Scope&) = delete;
      ElementRandom& draws;
    };
    const auto value = static_cast<uint64_t>(asked_);
    if (draws_.element != value) {
      draws_.element = value;
      draws_.made = 0;
      if (!draws_.scope) draws_.drawn = 0;
    }
    const Scope scope(draws_);
    return call();
  }

  Block AtEnd() {
    ended_ = true;
    iterator_ = ShownRef();
    stream_ = ShownRef();
    return Block::AtEnd();
  }

  static bool IsAsync(const PyRef& values) { return !PyIter_Check(values.get()); }

  static PyRef NextValue(const PyRef& values) {
    if (!IsAsync(values)) {
      return PyRef::Steal(CallPython([&] { return PyIter_Next(values.get()); }));
    }
    PyRef next = PyRef::Steal(PyObject_CallMethod(values.get(), "next", nullptr));
    PyRef value = next ? PyRef::Steal(Await(std::move(next))) : PyRef();
    if (!value || PyTuple_GET_SIZE(value.get()) == 0) return {};
    return PyRef::Borrow(PyTuple_GET_ITEM(value.get(), 0));
  }

  // Returns after the finally blocks have run.
  static void CloseAsync(const PyRef& values) {
    PyRef closing = PyRef::Steal(PyObject_CallMethod(values.get(), "close", nullptr));
    if (closing) Finish(std::move(closing));
    PyErr_Clear();
  }

  // The error for a generator that an interrupt ended: a generator that raised cannot continue.
  Error CutShort() {
    AtEnd();
    int64_t missing = asked_++;
    return Error(
        ErrorKind::kRuntime,
        "{}: a KeyboardInterrupt reached the generator and ended it, so that element {} and "
        "those after it did not come; make a new iterator, and give it the state of this "
        "one from before this error to go on there",
        std::string_view(data_->policy().stage), missing);
  }

  // The raised exception, as the failure of the value requested last.
  Error Failure() {
    if (CurrentAttachment()->TakeInterrupt()) {
      cut_short_ = static_cast<bool>(iterator_);
      if (asked_ > 0) --asked_;
      return Error(ErrorKind::kInterrupted, "");
    }
    Error error = CurrentPythonError();
    return error.In({data_->label(), asked_ > 0 ? asked_ - 1 : 0, ""}, Origin());
  }

  std::shared_ptr<const GeneratorDataset> data_;
  Session& session_;
  const CancelToken cancel_;
  ShownRef iterator_;
  LastStructure last_structure_;
  StructureRef structure_;  // of the first value
  std::vector<DType> dtypes_;
  std::vector<Shape> shapes_;
  bool open_ = false;  // some leaf has had only empty lists so far, which have no dtype
  PendingBlocks waiting_;
  const bool takes_ragged_;
  RaggedRows ragged_;  // kept for its memory
  const StageRandom random_;
  ElementRandom draws_;  // the generator's, while it is not being called
  ShownRef stream_;      // penstock.stream_states.Stream; null if the iterable has no state
  MarkClock clock_;
  std::string own_state_;  // of the iterable, after `own_at_` values; empty: none
  int64_t own_at_ = 0;
  int64_t asked_ = 0;
  int64_t to_skip_;
  bool ended_ = false;
  bool cut_short_ = false;  // an interrupt ended the last request
};

// The values of a generator that runs in a worker process.
class ProcessGeneratorIterator final : public BlockIterator {
 public:
  ProcessGeneratorIterator(std::shared_ptr<const GeneratorDataset> data, const RunContext& context)
      : data_(std::move(data)),
        cancel_(context.cancel),
        session_(context.session),
        random_(data_->Randomness(context)) {}

  void VisitState(StateVisitor& visitor) override {
    int64_t asked = asked_ - waiting_.steps();
    visitor.Count(asked, "values asked for");
    bool ended = ended_ && waiting_.empty();
    visitor.Bool(ended);
    GeneratorIterator::VisitOwnState(visitor, asked, own_state_, own_at_);
    if (visitor.saving()) return;
    asked_ = asked;
    ended_ = ended;
  }

  std::optional<Error> Discard(int64_t& steps) override {
    if (stream_ || !waiting_.empty()) return Iterator::Discard(steps);
    asked_ = StepsMore(asked_, std::exchange(steps, 0));
    return std::nullopt;
  }

 protected:
  Block DoNextBlock(int64_t max_rows) override {
    while (waiting_.empty()) {
      if (ended_) return Block::AtEnd();
      if (cancel_.cancelled()) return Block::Of(Error(ErrorKind::kCancelled, ""));
      try {
        Ask();
      } catch (const Error& error) {
        ended_ = !error.transient();
        throw;
      }
    }
    return waiting_.Take(max_rows);
  }

 private:
  using Death = ProcessStream::Death;

  void Ask() {
    constexpr int kTries = 3;
    if (!stream_) {
      StreamOrder order;
      order.payload = data_->Payload();
      order.stage = data_->label();
      order.skip = asked_;
      order.state = own_state_;
      order.state_at = own_at_;
      order.random = random_;
      if (died_) order.most = died_->element - asked_;
      LeaveForeignLock();
      stream_.emplace(std::move(order), cancel_, session_, tries_ + 1 == kTries);
    }
    std::optional<Death> death;
    for (Block& block : stream_->Next(cancel_, death)) {
      asked_ += block.steps();
      ended_ = block.end;
      if (block.steps() > 0) data_->HadValues();
      if (ended_ && asked_ == 0) data_->EndedWithoutValues(*session_);
      block.end = false;
      if (block.rows > 0 || block.error) waiting_.Add(std::move(block));
    }
    if (death) {
      stream_.reset();
      // A worker that died before its first value is replaced, and so is one that died with
      // undelivered values: the new worker makes them again, up to the value at which the first one
      // died.
      const bool lost = death->element < 0 || (!died_ && death->element > asked_);
      if (!lost || ++tries_ == kTries) return Fail(*death);
      if (death->element >= 0) died_ = std::move(death);
    } else if (ended_) {
      stream_.reset();
      if (died_) Fail(*died_);
    }
  }

  void Fail(const Death& death) {
    Error error(ErrorKind::kWorker, "{}: {}", data_->label().kind, death.how);
    error.In({data_->label(), asked_++, ""}, Origin());
    waiting_.Add(Block::Of(std::move(error)));
    ended_ = true;
  }

  std::shared_ptr<const GeneratorDataset> data_;
  const CancelToken cancel_;
  Session* const session_;
  const StageRandom random_;
  PendingBlocks waiting_;
  std::optional<ProcessStream> stream_;
  std::optional<Death> died_;  // how a worker died; another one first makes the missing values
  int tries_ = 0;
  std::string own_state_;  // of the iterable, from a restored state; saved again with later counts
  int64_t own_at_ = 0;
  int64_t asked_ = 0;  // values received, including those of a run before a restore
  bool ended_ = false;
};

IteratorPtr GeneratorDataset::MakeIterator(const RunContext& context) const {
  auto self = std::static_pointer_cast<const GeneratorDataset>(shared_from_this());
  const RunOptions& options = context.session->options();
  const Executor executor = executor_ == Executor::kOfRun ? options.executor : executor_;
  if (executor == Executor::kProcess && !options.debug) {
    return std::make_unique<ProcessGeneratorIterator>(std::move(self), context);
  }
  return std::make_unique<GeneratorIterator>(std::move(self), context);
}

GeneratorDataset::Served ServedAs(const Args& args) {
  if (!args.Has("progress")) return {};
  const StageRandom random{static_cast<uint64_t>(args.Int("random_seed")),
                           {static_cast<uint64_t>(args.Int("random_place"))},
                           {static_cast<uint64_t>(args.Int("random_path"))}};
  return {args.Int("skip"), args.Text("state"), args.Int("state_at"), random,
          static_cast<std::atomic<int64_t>*>(args.Object("progress").get())};
}

std::shared_ptr<Dataset> MakeGenerator(const std::vector<DatasetPtr>&, const Args& args) {
  MaybeSpec declared;
  if (args.Has("output_signature")) declared = args.Spec("output_signature");
  return std::make_shared<GeneratorDataset>(
      args.owner(), args.Object("generator"), args.Object("args"), std::move(declared),
      args.Bool("opaque"), args.Int("length", kUnknown),
      args.Has("executor") ? ExecutorOf(args.Text("executor")) : Executor::kThread,
      args.Has("setup") ? args.Object("setup") : nullptr, ServedAs(args));
}

const RegisterDataset from_generator_stage("from_generator",
                                           {.foreign = true,
                                            .timing_arguments = {"executor", "setup"},
                                            .share_states = {"opaque"},
                                            .arguments = {{"generator", ArgumentForm::kObject},
                                                          {"args", ArgumentForm::kObject},
                                                          {"setup", ArgumentForm::kObject},
                                                          {"output_signature",
                                                           ArgumentForm::kSpec}}},
                                           MakeGenerator);

}  // namespace

DatasetPtr ServedGenerator(PyRef generator, std::shared_ptr<const ElementSpec> declared,
                           bool opaque, const StreamOrder& order, std::atomic<int64_t>* progress) {
  PyRef none = PyRef::Steal(PyTuple_New(0));
  if (!none) throw CurrentPythonError();
  Args args("from_generator");
  args.Set("generator", ToForeign(std::move(generator)));
  args.Set("args", ToForeign(std::move(none)));
  if (declared) args.Set("output_signature", std::move(declared));
  args.Set("opaque", opaque);
  args.Set("executor", std::string("thread"));
  args.Set("skip", order.skip);
  args.Set("state", order.state);
  args.Set("state_at", order.state_at);
  args.Set("random_seed", static_cast<int64_t>(order.random.seed));
  args.Set("random_place", static_cast<int64_t>(order.random.place.value));
  args.Set("random_path", static_cast<int64_t>(order.random.path.value));
  args.Set("progress", Args::Foreign(Args::Foreign(), progress));
  args.Set("part_of", order.stage.kind);
  args.Set("name", order.stage.name);
  args.Set("function", order.stage.function);
  return MakeDataset("from_generator", {}, args);
}

}  // namespace penstock
