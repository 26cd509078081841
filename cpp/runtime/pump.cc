// The end of a pump's body, and the wait for it.
#include "runtime/pump.h"

#include <atomic>
#include <exception>
#include <utility>

#include "runtime/event_count.h"
#include "runtime/fork.h"
#include "runtime/wait.h"

namespace penstock {

struct Pump::State {
  std::function<void()> body;
  std::atomic<bool> done{false};
  EventCount done_changed;
  const uint64_t generation = ForkGeneration();

  void RunBody();
};

namespace {
constinit thread_local const void* running_pump = nullptr;  // the State of this thread's body
std::atomic<int> running_bodies{0};                         // relaxed: a counter
std::atomic<uint64_t> counted_in{0};                        // the ForkGeneration of running_bodies
}  // namespace

void Pump::State::RunBody() {
  // Also runs if the body throws: a join must not hang because of a bug that the pool reports.
  struct Finish {
    State* state;
    const void* former;
    ~Finish() {
      state->body = nullptr;  // its captures are destroyed before Join returns
      running_pump = former;
      running_bodies.fetch_sub(1, std::memory_order_relaxed);
      state->done.store(true, std::memory_order_release);  // pairs with acquire in done()
      state->done_changed.NotifyAll();
    }
  };
  const Finish finish{this, std::exchange(running_pump, this)};
  body();
}

Pump::Pump(Lane lane, const char* name, std::function<void()> body)
    : state_(std::make_shared<State>()) {
  state_->body = std::move(body);
  if (counted_in.exchange(state_->generation, std::memory_order_relaxed) != state_->generation) {
    running_bodies.store(0, std::memory_order_relaxed);  // the parent's count
  }
  running_bodies.fetch_add(1, std::memory_order_relaxed);
  try {
    ThreadPool::Get().Run(lane, name, [state = state_] { state->RunBody(); });
  } catch (...) {
    running_bodies.fetch_sub(1, std::memory_order_relaxed);
    throw;
  }
}

int Pump::running() { return running_bodies.load(std::memory_order_relaxed); }

Pump::~Pump() { Join(); }

void Pump::Join() {
  if (running_pump == state_.get() || state_->generation != ForkGeneration()) return;
  WaitUninterrupted(state_->done_changed, [this] { return done(); });
}

bool Pump::done() const {
  return state_->done.load(std::memory_order_acquire);  // pairs with release in RunBody
}

}  // namespace penstock
