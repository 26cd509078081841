// Starts a thread with a given stack and signal mask.
#include "runtime/native_thread.h"

#include <memory>
#include <system_error>
#include <utility>

#include "runtime/platform.h"

#if defined(PENSTOCK_POSIX)
#include <pthread.h>
#include <signal.h>
#else
#include <thread>
#endif

namespace penstock {
namespace {

using Body = std::function<void()>;

#if defined(PENSTOCK_POSIX)

// A thread inherits its creator's mask: the creator blocks asynchronous signals while it creates
// one, so that none can arrive in between. Faults (SEGV, BUS, FPE, ILL, ABRT) and PROF stay
// unblocked.
class SignalsBlocked final {
 public:
  SignalsBlocked() {
    sigset_t blocked;
    sigemptyset(&blocked);
    for (int s : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGCHLD, SIGUSR1, SIGUSR2, SIGWINCH,
                  SIGPIPE}) {
      sigaddset(&blocked, s);
    }
    pthread_sigmask(SIG_BLOCK, &blocked, &former_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &former_, nullptr); }

 private:
  sigset_t former_;
};

class Attributes final {
 public:
  Attributes() { known_ = pthread_attr_init(&attributes_) == 0; }
  ~Attributes() {
    if (known_) pthread_attr_destroy(&attributes_);
  }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  pthread_attr_t* get() { return known_ ? &attributes_ : nullptr; }

 private:
  pthread_attr_t attributes_;
  bool known_;
};

void* Main(void* body) {
  (*std::unique_ptr<Body>(static_cast<Body*>(body)))();
  return nullptr;
}

int Start(Body* body) {
  Attributes attributes;
  if (attributes.get()) {
    pthread_attr_setstacksize(attributes.get(), static_cast<size_t>(kThreadStack));
    pthread_attr_setdetachstate(attributes.get(), PTHREAD_CREATE_DETACHED);
  }
  const SignalsBlocked blocked;
  pthread_t thread;
  const int code = pthread_create(&thread, attributes.get(), Main, body);
  if (code == 0 && !attributes.get()) pthread_detach(thread);
  return code;
}

#else

int Start(Body* body) {
  std::thread([body] { (*std::unique_ptr<Body>(body))(); }).detach();
  return 0;
}

#endif

}  // namespace

void StartNativeThread(Body body) {
  auto owned = std::make_unique<Body>(std::move(body));
  if (const int code = Start(owned.get())) {
    throw std::system_error(code, std::generic_category(), "no thread can be started");
  }
  (void)owned.release();  // the thread owns it now
}

int64_t UsualThreadStack() {
#if defined(PENSTOCK_POSIX)
  Attributes attributes;
  size_t size = 0;
  if (attributes.get() && pthread_attr_getstacksize(attributes.get(), &size) == 0) {
    return static_cast<int64_t>(size);
  }
#endif
  return 0;
}

}  // namespace penstock
