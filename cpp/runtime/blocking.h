// BlockingHook: how a thread that holds a foreign lock (Python's) gives it up before it sleeps.
#pragma once

#include <cstddef>

namespace penstock {

// Set by the owner of the foreign lock for its own thread, and called on that thread only.
class BlockingHook {
 public:
  virtual ~BlockingHook() = default;
  // Gives up the foreign lock; called again while already given up, does nothing. The owner takes
  // the lock again later, when it needs it. Must not wait: it runs between PrepareWait and Wait.
  virtual void BeforeWait() = 0;
  // Called on EINTR and every 100 ms of a wait: true when the wait must end (a signal handler
  // raised). May take the foreign lock; BeforeWait is called again before the next sleep.
  virtual bool Interrupted() = 0;
  // Whether Interrupted may ever say so on this thread. If not, it sleeps until it is woken.
  virtual bool Interruptible() const { return true; }
  // Whether the user keeps nothing that belongs to this thread, so that it may end and another go
  // on with its work. May take the foreign lock.
  virtual bool Replaceable() { return true; }
};

namespace internal {
inline constinit thread_local BlockingHook* blocking_hook = nullptr;
}  // namespace internal

inline BlockingHook* GetBlockingHook() { return internal::blocking_hook; }
inline void SetBlockingHook(BlockingHook* hook) { internal::blocking_hook = hook; }

// For stages, before long native work or a file read.
inline void LeaveForeignLock() {
  if (BlockingHook* hook = GetBlockingHook()) hook->BeforeWait();
}

// Bytes whose copy takes longer than giving up the foreign lock and taking it again.
inline constexpr size_t kLongCopy = 256 << 10;
inline void LeaveForeignLockToCopy(size_t bytes) {
  if (bytes >= kLongCopy) LeaveForeignLock();
}

// Installs a hook for a scope and puts the former one back.
class ScopedBlockingHook final {
 public:
  explicit ScopedBlockingHook(BlockingHook* hook) : former_(GetBlockingHook()) {
    SetBlockingHook(hook);
  }
  ~ScopedBlockingHook() { SetBlockingHook(former_); }
  ScopedBlockingHook(const ScopedBlockingHook&) = delete;
  ScopedBlockingHook& operator=(const ScopedBlockingHook&) = delete;

 private:
  BlockingHook* former_;
};

}  // namespace penstock
