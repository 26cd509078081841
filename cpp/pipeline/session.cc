// Starting, saving and closing a run.
#include "pipeline/session.h"

#include <algorithm>
#include <optional>

#include "pipeline/crc32c.h"
#include "pipeline/plan_text.h"
#include "runtime/clock.h"
#include "runtime/cpu.h"
#include "runtime/memory.h"

namespace penstock {
namespace {

constexpr std::string_view kMagic = "PSTK";
constexpr uint64_t kStateVersion = 2;
constexpr int64_t kMostCalls = int64_t{1} << 40;  // no limit

// A quarter of what this process may still take, 1 GiB when nobody says.
int64_t DefaultMemoryLimit() {
  const int64_t available = AvailableMemory();
  return available == 0 ? int64_t{1} << 30 : std::max(available / 4, int64_t{64} << 20);
}

}  // namespace

Session::Session(DatasetPtr root, RunOptions options)
    : root_(std::move(root)),
      options_(std::move(options)),
      threads_(options_.threads > 0 ? static_cast<int>(options_.threads) : CpuCount()),
      budget_(options_.memory_limit > 0 ? options_.memory_limit : DefaultMemoryLimit()),
      calls_left_(options_.cpu_budget > 0 ? options_.cpu_budget : kMostCalls),
      start_ns_(NowNs()) {
  if (options_.debug) options_.deterministic = true;
  if (options_.counted) identity_.seed = NextSessionSeed();
  auto run_of = [this](const Dataset& node) {
    return options_.counted ? node.CountRun() : node.runs();
  };
  identity_.root_run = run_of(*root_);
  root_->ForEachNode([this, &run_of](const Dataset& node) {
    unordered_ = unordered_ || node.reorders(options_.deterministic);
    if (!node.counts_runs()) return;
    bool is_root = &node == root_.get();
    identity_.runs.emplace_back(&node, is_root ? identity_.root_run : run_of(node));
  });
}

thread_local const Session* Session::Serving::current_ = nullptr;

// With options.debug, the thread that asks is the one that calls functions.
class Session::Debugging {
 public:
  explicit Debugging(const Session& session) {
    if (session.options_.debug) serving_.emplace(session);
  }

 private:
  std::optional<Serving> serving_;
};

Session::~Session() { Close(); }

void Session::MakeRoot() {
  if (input_) return;
  RunContext context{this, cancel_, RandomKey{}, "0"};
  context.identity = std::make_shared<const RunIdentity>(identity_);
  input_ = std::make_unique<Input>(root_->Start(context));
}

void Session::Warm() {
  warming_ = true;
  try {
    MakeRoot();
  } catch (const std::exception&) {
    input_.reset();  // told by the first step, which tries again
  }
  warming_ = false;
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
  Debugging debugging(*this);
  MakeRoot();
  started_ = true;
  input_->Keep(input_->position());
  return input_->NextBlock(max_rows);
}

std::string Session::Plan() const { return PlanText(*root_); }

std::string Session::GetState() {
  if (cancel_.cancelled()) {
    throw Error(ErrorKind::kInvalidArgument, "get_state: the iterator is closed");
  }
  MakeRoot();
  std::string out(kMagic);
  StateVisitor visitor(&out);
  uint64_t version = kStateVersion;
  visitor.UInt(version);
  std::string plan = Plan();
  visitor.Text(plan);
  identity_.VisitState(visitor, *root_);
  input_->VisitState(visitor, undelivered_);
  uint32_t crc = Crc32c(out.data(), out.size());
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<char>(crc >> (8 * i)));
  return out;
}

void Session::SetState(std::string_view state) {
  if (started_) throw Error(ErrorKind::kRuntime, "set_state: the run has begun");
  constexpr size_t kFrame = 4 + 4;
  if (state.size() < kFrame || state.substr(0, 4) != kMagic) {
    throw Error(ErrorKind::kInvalidArgument,
                "set_state: these bytes are not a state of an iterator; use those of get_state");
  }
  std::string_view body = state.substr(0, state.size() - 4);
  uint32_t crc = 0;
  for (int i = 0; i < 4; ++i) {
    crc |= static_cast<uint32_t>(static_cast<uint8_t>(state[body.size() + i])) << (8 * i);
  }
  if (crc != Crc32c(body.data(), body.size())) {
    throw Error(
        ErrorKind::kInvalidArgument,
        "set_state: the state is damaged or truncated; use the bytes of get_state unchanged");
  }
  StateVisitor visitor(body.substr(4));
  uint64_t version;
  visitor.UInt(version);
  if (version != kStateVersion) {
    throw Error(ErrorKind::kInvalidArgument,
                "set_state: the state has version {}, this penstock reads version {}; {}", version,
                kStateVersion,
                version > kStateVersion ? "it was saved by a newer one, upgrade this one"
                                        : "it was saved by an older one, begin anew");
  }
  std::string plan;
  visitor.Text(plan);
  CheckSamePlan(plan, Plan());
  Debugging debugging(*this);
  identity_.VisitState(visitor, *root_);
  // The runs after this one go on where the saved process would have.
  for (auto& [node, run] : identity_.runs) node->SetRuns(run + 1);
  root_->SetRuns(identity_.root_run + 1);
  input_.reset();
  MakeRoot();
  input_->VisitState(visitor);
  visitor.ExpectEnd();
}

void Session::Close() {
  cancel_.Cancel();
  input_.reset();
}

void Session::Warn(std::string text) {
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
}

std::vector<TuningMove> Session::moves() const {
  std::lock_guard lock(moves_mutex_);
  return moves_;
}

}  // namespace penstock
