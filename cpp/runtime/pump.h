// Pump: a named background thread that may wait; its destructor joins it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "runtime/thread_pool.h"

namespace penstock {

// Runs `body` once on a thread of the pool. The body must end soon after its stage's CancelToken is
// cancelled. The pump itself cancels nothing, so cancel before destroying it.
class Pump final {
 public:
  // Throws std::system_error if no thread can be started; then the body has not run.
  Pump(Lane lane, const char* name, std::function<void()> body);
  ~Pump();
  Pump(const Pump&) = delete;
  Pump& operator=(const Pump&) = delete;

  // Waits until the body has returned and is destroyed. Releases the foreign lock first; cannot be
  // cancelled or interrupted. Returns immediately in a fork child (the thread does not exist) and
  // on the pump's own thread (an owner destroyed inside its own body).
  void Join();

  // Whether the body has returned; its writes are then visible.
  bool done() const;

  // The number of bodies in this process that have not returned.
  static int running();

 private:
  struct State;
  // Shared with the thread, which may outlive the pump by a few instructions.
  std::shared_ptr<State> state_;
};

}  // namespace penstock
