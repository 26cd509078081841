// BlockingHook: lets a thread that holds a foreign lock (Python's) release it before it sleeps.
#pragma once

#include <cstddef>

namespace penstock {

// Set by the owner of the foreign lock for its own thread, and called only on that thread.
class BlockingHook {
 public:
  virtual ~BlockingHook() = default;
  // Releases the foreign lock; does nothing if it is already released. The owner acquires the lock
  // again when it needs it. Must not wait: it runs between PrepareWait and Wait.
  virtual void BeforeWait() = 0;
  // Called on EINTR and every 100 ms of a wait. Returns whether the wait must end, because a signal
  // handler raised. May acquire the foreign lock; BeforeWait is called again before the next sleep.
  virtual bool Interrupted() = 0;
  // Whether Interrupted can ever return true on this thread. If not, it sleeps until it is woken.
  virtual bool Interruptible() const { return true; }
  // Whether the user keeps no objects that belong to this thread, so that it may end and another
  // thread may continue its work. May acquire the foreign lock.
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

// Copies of this many bytes take longer than releasing and reacquiring the foreign lock.
inline constexpr size_t kLongCopy = 256 << 10;
inline void LeaveForeignLockToCopy(size_t bytes) {
  if (bytes >= kLongCopy) LeaveForeignLock();
}

// Installs a hook within a scope, then restores the previous one.
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
