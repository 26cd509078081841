// Pump: a thread with a name that may wait; joined by its destructor.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "runtime/thread_pool.h"

namespace penstock {

// Runs `body` once on a thread of the pool. The body must end soon after its stage's CancelToken is
// cancelled; the pump itself cancels nothing, so cancel before destroying it.
class Pump final {
 public:
  // Throws std::system_error when no thread can be made; then the body has not run.
  Pump(Lane lane, const char* name, std::function<void()> body);
  ~Pump();
  Pump(const Pump&) = delete;
  Pump& operator=(const Pump&) = delete;

  // Waits until the body has returned and is destroyed; gives up the foreign lock first; cannot be
  // cancelled or interrupted. Returns at once in a fork child (the thread is not there) and on the
  // pump's own thread (an owner dropped inside its own body).
  void Join();

  // Whether the body has returned; what it wrote is then visible.
  bool done() const;

  // The number of bodies of this process that have not returned.
  static int running();

 private:
  struct State;
  // Shared with the thread, which may outlive the pump by a few instructions.
  std::shared_ptr<State> state_;
};

}  // namespace penstock
