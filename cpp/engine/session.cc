// Starting, saving and closing a run.
#include "engine/session.h"

#include <algorithm>
#include <new>
#include <stdexcept>
#include <utility>

#include "data/buffer.h"
#include "data/printable.h"
#include "engine/out_of_memory.h"
#include "engine/plan_text.h"
#include "engine/stack_need.h"
#include "engine/state_frame.h"
#include "runtime/activity.h"
#include "runtime/clock.h"
#include "runtime/cpu.h"
#include "runtime/memory.h"
#include "runtime/pump.h"
#include "runtime/stack.h"
#include "storage/file.h"

namespace penstock {
namespace {

// With a limit that counts everything: the fraction (1/32) of it that freed buffers may keep for
// reuse.
constexpr int64_t kPartLeftIdle = 32;
constexpr int64_t kMostCalls = int64_t{1} << 40;  // unlimited

// The innermost run that this thread is pulling as its consumer.
constinit thread_local const Session* pulled = nullptr;

class Pulling final {
 public:
  explicit Pulling(const Session& session) : former_(std::exchange(pulled, &session)) {}
  ~Pulling() { pulled = former_; }
  Pulling(const Pulling&) = delete;
  Pulling& operator=(const Pulling&) = delete;

 private:
  const Session* const former_;
};

// A quarter of the memory available to this process; 1 GiB if that is unknown.
int64_t DefaultMemoryLimit() {
  const int64_t available = AvailableMemory();
  return available == 0 ? int64_t{1} << 30 : std::max(available / 4, int64_t{64} << 20);
}

}  // namespace

std::string TuningMove::ValueText(int64_t value) const {
  if (knob != "executor") return std::to_string(value);
  return value == 0 ? "thread" : "process";
}

Session::Session(DatasetPtr root, RunOptions options, RunIdentity identity,
                 const CancelToken* cancel)
    : root_(std::move(root)),
      options_(std::move(options)),
      threads_(options_.threads > 0 ? static_cast<int>(options_.threads) : CpuCount()),
      cancel_(cancel ? cancel->Child() : CancelToken()),
      budget_(options_.memory_limit > 0 ? options_.memory_limit : DefaultMemoryLimit()),
      identity_(std::move(identity)),
      fills_(*root_),
      depth_(pulled               ? pulled->depth_ + 1
             : Serving::current() ? Serving::current()->depth_ + 1
                                  : 0),
      calls_left_(options_.cpu_budget > 0 ? options_.cpu_budget : kMostCalls),
      start_ns_(NowNs()),
      slow_(options_.slow_ns) {
  if (options_.debug) options_.deterministic = true;
  if (options_.counts_all) {
    ReturnFreedMemory();
    BufferPool::LimitIdle(budget_.limit() / kPartLeftIdle);
  }
  root_->ForEachNode([this](const Dataset& node) {
    unordered_ = unordered_ || node.reorders(options_.deterministic);
  });
}

thread_local Session* Session::Serving::current_ = nullptr;

Session::~Session() { Close(); }

void Session::MakeRoot() {
  if (input_) return;
  RunContext context{this, cancel_, options_.place, "0"};
  context.depth = depth_;
  context.threads = !options_.debug && RunContext::MayStartThreads(depth_);
  context.identity = std::make_shared<const RunIdentity>(identity_);
  if (!fills_at_start_) fills_at_start_ = fills_.AtStart();
  context.fills = fills_at_start_;
  input_ = std::make_unique<Input>(root_->Start(context));
}

void Session::Warm() {
  warming_.store(true, std::memory_order_relaxed);
  try {
    MindStack();
    MakeRoot();
  } catch (const std::exception&) {
    input_.reset();  // the first step tries again and reports the error
  }
  warming_.store(false, std::memory_order_relaxed);
}

int64_t Session::TakeCalls(int64_t least, int64_t wanted) {
  int64_t left = calls_left_.load(std::memory_order_relaxed);
  int64_t taken;
  do {
    taken = std::max(least, std::min(wanted, left));
  } while (!calls_left_.compare_exchange_weak(left, left - taken, std::memory_order_relaxed));
  return taken;
}

int64_t Session::TakeFirstCalls(int64_t wanted) {
  if (options_.cpu_budget > 0) {
    int stages = std::max(sharing_.load(std::memory_order_relaxed), 1);
    wanted = std::min(wanted, options_.cpu_budget / stages);
  }
  return TakeCalls(1, wanted);
}

Block Session::NextBlock(int64_t max_rows) {
  if (cancel_.cancelled()) return Block::Of(Error(ErrorKind::kCancelled, ""));
  const Pulling pulling(*this);
  MindStack();
  MakeRoot();
  started_ = true;
  if (Activity::observed()) {
    if (auto* mine = Activity::Mine())
      mine->consumes.store(stats_.get(), std::memory_order_relaxed);
  }
  Reading reading = ReadingFor::current();
  reading.cancel = &cancel_;
  const ReadingFor reading_for(reading);
  input_->Keep(input_->position());
  return input_->NextBlock(max_rows);
}

SavedPosition Session::Position() {
  std::string text;
  StateVisitor saving(&text);
  input_->VisitState(saving);
  StateVisitor reading{std::string_view(text)};
  return SavedPosition::Read(reading);
}

std::optional<Error> Session::PassOver(int64_t& steps, bool sound) {
  if (cancel_.cancelled()) return Error(ErrorKind::kCancelled, "");
  const Pulling pulling(*this);
  MindStack();
  MakeRoot();
  started_ = true;
  Reading reading = ReadingFor::current();
  reading.cancel = &cancel_;
  const ReadingFor reading_for(reading);
  auto error = sound ? input_->PassSound(steps) : input_->Pass(steps);
  input_->Keep(input_->position());
  return error;
}

const ElasticPlan& Session::Plan() {
  if (!plan_) plan_.emplace(*root_);
  return *plan_;
}

// `position`: that of the root, as in a state.
SharedPosition Session::Shared(const std::string& position) {
  SharedPosition shared;
  shared.delivered = delivered_ + input_->position() - std::max<int64_t>(undelivered_, 0);
  const Dataset* divider = Plan().divider();
  if (!divider) return shared;
  shared.shards = dynamic_cast<const Elastic&>(*divider).elastic_size();
  shared.index = dynamic_cast<const Elastic&>(*divider).elastic_index();
  Carrying carrying;
  for (auto& [stage, line] : Plan().sized()) {
    carrying.former[stage] = dynamic_cast<const Elastic&>(*stage).elastic_size();
  }
  try {
    StateVisitor visitor{std::string_view(position)};
    SavedPosition root = SavedPosition::Read(visitor);
    Carry(*root_, root, carrying);
    shared.position = carrying.position;
    shared.epoch = carrying.epoch;
  } catch (const Error&) {  // delivered out of order
  }
  return shared;
}

std::string Session::GetState(std::string account) {
  if (cancel_.cancelled()) {
    throw Error(ErrorKind::kInvalidArgument, "get_state: the iterator is closed");
  }
  MindStack();
  MakeRoot();
  StateFrame frame{Plan().text(), std::move(account), "", "", ""};
  SeedSequence seeds = CurrentSeeds();
  StateVisitor seeds_visitor(&frame.seeds);
  seeds.Visit(seeds_visitor);
  StateVisitor visitor(&frame.body);
  identity_.VisitState(visitor, *root_);
  fills_.VisitState(visitor, *root_, fills_at_start_);
  std::string position;
  StateVisitor place(&position);
  input_->VisitState(place, undelivered_);
  {
    std::lock_guard lock(moves_mutex_);
    if (!refused_.empty()) throw Error(ErrorKind::kState, "get_state: {}", refused_);
  }
  frame.body += position;
  frame.shared = Shared(position).Text();
  return frame.Sealed();
}

void Session::SetState(std::string_view state) {
  if (started_) throw Error(ErrorKind::kRuntime, "set_state: the run has begun");
  StateFrame frame = StateFrame::Open(state);
  const SharedPosition shared = SharedPosition::Of(frame.shared);
  if (std::string text = Plan().Refusal(frame.plan, shared.begun()); !text.empty()) {
    throw Error(ErrorKind::kInvalidArgument, "{}", text);
  }
  if (!frame.seeds.empty()) {  // validates them for ContinueSeeds, later
    SeedSequence seeds;
    StateVisitor visitor{std::string_view(frame.seeds)};
    seeds.Visit(visitor);
    visitor.ExpectEnd();
  }
  StateVisitor visitor{std::string_view(frame.body)};
  try {
    identity_.VisitState(visitor, *root_);
    fills_.VisitState(visitor, *root_, fills_at_start_);
    DropRoot();
    MindStack();
    MakeRoot();
    if (frame.plan == Plan().text() && shared.more == 0) {
      input_->VisitState(visitor);
    } else if (!shared.begun()) {
      SavedPosition::Read(visitor);  // the beginning, regardless of the numbers
    } else {
      std::string carried = Carried(visitor, frame.plan, shared.more);
      StateVisitor place{std::string_view(carried)};
      input_->VisitState(place);
    }
    visitor.ExpectEnd();
    delivered_ = shared.delivered;
  } catch (const Error& error) {
    if (!EndsRun(error)) throw;
    throw Error(ErrorKind::kMemory, "set_state: {}",
                std::string_view(error.message()).substr(0, error.message().find(';')));
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::kMemory, "set_state: out of memory for what the state says was held");
  } catch (const std::length_error&) {
    throw Error(ErrorKind::kMemory, "set_state: out of memory for what the state says was held");
  }
  // The whole state was valid. Later runs continue as they would in the saved process.
  identity_.Continue(*root_);
  fills_.Restore();
}

// Converts the position of the root from another number of shards. `more`: elements that some of
// them delivered beyond the common position.
std::string Session::Carried(StateVisitor& saved, const std::string& plan, int64_t more) {
  Carrying carrying;
  auto former = Plan().Former(plan);
  if (!former || !Plan().divider()) {
    throw Error(ErrorKind::kInvalidArgument,
                "set_state: the state is of no position of all shards");
  }
  carrying.former = *std::move(former);
  carrying.more = more;
  SavedPosition root = SavedPosition::Read(saved);
  Carry(*root_, root, carrying);
  std::string text;
  StateVisitor visitor(&text);
  root.Write(visitor);
  return text;
}

WaitStatus Session::AwaitThreads() {
  return WaitUntil(served_, CancelToken(), [this] {
    return serving_.load(std::memory_order_acquire) == 0;  // pairs with the release in ~Serving
  });
}

void Session::Close() {
  cancel_.Cancel();
  DropRoot();
}

// Stages are destroyed recursively. If this thread's stack is too small for that, another thread
// does it.
void Session::DropRoot() {
  if (!input_) return;
  const int64_t stages = std::max<int64_t>(root_->depth(), StagesIn(StackUse::kRun, stack_need_));
  if (!StackCarries(StackUse::kStart, stages)) {
    try {
      Pump(Lane::kNative, "ps-close", [this] { input_.reset(); }).Join();
    } catch (const std::exception&) {  // no thread available
    }
  }
  input_.reset();
}

// The calling thread may differ from the one that started the stages.
void Session::MindStack() {
  RequireStackAgain(stack_need_);
  stack_left_ = StackLeft();
}

void Session::NoteStack(int64_t bytes) {
  stack_need_ = std::max(stack_need_, stack_left_ - StackLeft() + bytes);
}

void Session::RequireStackHere(int stages) {
  RequireStack(StackUse::kRun, stages);
  if (Serving::current() != this) NoteStack(StackFor(StackUse::kRun, stages));
}

void Session::NoteRefusal(const StageLabel& stage, const std::system_error& reason) {
  if (short_of_threads_.exchange(true, std::memory_order_relaxed) || !options_.counted) return;
  Warn(Format(
      "{}: the system refused a thread ({}), so this iterator goes on with the threads that it "
      "has, or in the one that asks: the elements are the same, but fewer or none are made ahead; "
      "raise the limit on threads (ulimit -u, or the pids limit of the container) and make a new "
      "iterator, or ask for fewer threads",
      stage.text(), std::string_view(reason.what())));
}

void Session::RefuseStates(std::string why) {
  std::lock_guard lock(moves_mutex_);
  if (refused_.empty()) refused_ = std::move(why);
}

void Session::Warn(std::string text) {
  text = WithoutSecrets(text);
  std::lock_guard lock(moves_mutex_);
  if (std::find(warnings_.begin(), warnings_.end(), text) != warnings_.end()) return;
  warnings_.push_back(std::move(text));
  has_warnings_.store(true, std::memory_order_relaxed);
}

std::vector<std::string> Session::TakeWarnings() {
  std::lock_guard lock(moves_mutex_);
  has_warnings_.store(false, std::memory_order_relaxed);
  std::vector<std::string> taken(warnings_.begin() + static_cast<int64_t>(warned_),
                                 warnings_.end());
  warned_ = warnings_.size();
  return taken;
}

void Session::LogMove(TuningMove move) {
  std::lock_guard lock(moves_mutex_);
  move.seconds = static_cast<double>(NowNs() - start_ns_) * 1e-9;
  moves_.push_back(std::move(move));
  has_moves_.store(true, std::memory_order_relaxed);
}

std::vector<LogEntry> Session::TakeLog(bool end) {
  std::vector<LogEntry> log;
  const std::string before = options_.name.empty() ? "" : "dataset " + options_.name + ": ";
  {
    std::lock_guard lock(moves_mutex_);
    for (; logged_ < moves_.size(); ++logged_) {
      const TuningMove& move = moves_[logged_];
      log.push_back(
          {false, Format("{}{}: {} {} -> {}: {}", before, move.stage.text(), move.knob,
                         move.ValueText(move.from), move.ValueText(move.to), move.reason)});
    }
    has_moves_.store(false, std::memory_order_relaxed);
  }
  for (const std::string& text : slow_.Take(end)) log.push_back({true, before + text});
  return log;
}

std::vector<TuningMove> Session::moves() const {
  std::lock_guard lock(moves_mutex_);
  return moves_;
}

}  // namespace penstock
