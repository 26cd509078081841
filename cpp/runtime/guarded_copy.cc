// Copying under a SIGBUS handler.
#include "runtime/guarded_copy.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "runtime/platform.h"

#if defined(PENSTOCK_LINUX)
#include <csetjmp>
#include <csignal>

namespace penstock {
namespace {

// Where the copy of this thread continues if bytes are unavailable; null: no copy.
constinit thread_local sigjmp_buf* g_back = nullptr;
struct sigaction g_former;

void OnBusError(int signal, siginfo_t* info, void* context) {
  if (g_back) siglongjmp(*g_back, 1);
  if (g_former.sa_flags & SA_SIGINFO) return g_former.sa_sigaction(signal, info, context);
  if (g_former.sa_handler != SIG_DFL && g_former.sa_handler != SIG_IGN) {
    return g_former.sa_handler(signal);
  }
  sigaction(signal, &g_former, nullptr);  // the access fails again
}

// While one is copied, the beginning of the next is prefetched.
void CopyAll(std::span<const CopiedBytes> copies) {
  constexpr size_t kLine = 64;
  constexpr size_t kAhead = 1024;
  for (size_t i = 0; i < copies.size(); ++i) {
    if (i + 1 < copies.size()) {
      const auto* next = static_cast<const char*>(copies[i + 1].from);
      for (size_t at = 0; at < std::min(copies[i + 1].size, kAhead); at += kLine) {
        Prefetch(next + at);
      }
    }
    std::memcpy(copies[i].to, copies[i].from, copies[i].size);
  }
}

bool Install() {
  struct sigaction ours = {};
  ours.sa_sigaction = OnBusError;
  ours.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
  sigemptyset(&ours.sa_mask);
  return sigaction(SIGBUS, &ours, &g_former) == 0;
}

}  // namespace

bool CanCopyGuarded() {
  static const bool installed = Install();
  struct sigaction now;
  return installed && sigaction(SIGBUS, nullptr, &now) == 0 && now.sa_sigaction == OnBusError;
}

bool GuardedCopy(std::span<const CopiedBytes> copies) {
  sigjmp_buf back;
  if (sigsetjmp(back, 0) != 0) {
    g_back = nullptr;
    return false;
  }
  g_back = &back;
  std::atomic_signal_fence(std::memory_order_seq_cst);  // pairs with the handler on this thread
  CopyAll(copies);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  g_back = nullptr;
  return true;
}

}  // namespace penstock

#else

namespace penstock {

bool CanCopyGuarded() { return false; }
bool GuardedCopy(std::span<const CopiedBytes> copies) {
  for (const CopiedBytes& copy : copies) std::memcpy(copy.to, copy.from, copy.size);
  return true;
}

}  // namespace penstock
#endif
