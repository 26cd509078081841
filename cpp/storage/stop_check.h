// StopCheck ends a read of a file when the run is cancelled or a signal has arrived.
#pragma once

#include <optional>

#include "data/error.h"
#include "runtime/blocking.h"
#include "runtime/cancel.h"
#include "runtime/clock.h"
#include "runtime/wait.h"

namespace penstock {

// Ends a read whose result is no longer needed. Checked before each read, and every 100 ms while a
// read waits for a pipe.
class StopCheck {
 public:
  explicit StopCheck(const CancelToken* cancel) {
    if (cancel) cancel_ = *cancel;
  }

  void Look() {
    if (cancel_ && cancel_->cancelled()) throw Error(ErrorKind::kCancelled, "");
    BlockingHook* hook = GetBlockingHook();
    if (!hook || NowNs() < due_) return;
    LookForSignals();
  }
  void LookForSignals() {
    BlockingHook* hook = GetBlockingHook();
    if (hook && hook->Interrupted()) throw Error(ErrorKind::kInterrupted, "");
    LeaveForeignLock();
    due_ = NowNs() + internal::kSignalSliceNs;
  }

 private:
  std::optional<CancelToken> cancel_;
  MonoTime due_ = NowNs() + internal::kSignalSliceNs;
};

}  // namespace penstock
