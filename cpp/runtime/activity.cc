// The records of all threads.
#include "runtime/activity.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "runtime/fork.h"
#include "runtime/platform.h"

#if defined(PENSTOCK_LINUX)
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>
#endif

namespace penstock {

std::atomic<int> Activity::observers_{0};

namespace {

// Leaked: threads may end after statics are destroyed.
struct Registry {
  std::mutex mutex;  // a leaf lock
  std::vector<Activity::Record*> records;
  uint64_t last_number = 0;
};

Registry& TheRegistry();

// In the registry while the thread lives.
class Registered final {
 public:
  Registered() {
#if defined(PENSTOCK_LINUX)
    clockid_t clock;
    record_.cpu_clock = pthread_getcpuclockid(pthread_self(), &clock) == 0 ? clock : 0;
    record_.system_id = syscall(SYS_gettid);
#endif
    Registry& registry = TheRegistry();
    const std::lock_guard lock(registry.mutex);
    registry.records.push_back(&record_);
    record_.number = ++registry.last_number;
  }
  ~Registered() {
    Registry& registry = TheRegistry();
    const std::lock_guard lock(registry.mutex);
    std::erase(registry.records, &record_);
  }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;

  Activity::Record& record() { return record_; }

 private:
  Activity::Record record_;
};

thread_local const char* thread_name = "";
thread_local std::unique_ptr<Registered> this_thread;

Registry& TheRegistry() {
  static auto& registry = *[] {
    auto* made = new Registry;
    HoldAcrossFork(made->mutex);
    // The child's thread has a different system id and clock. Open scopes still write to the old
    // record.
    OnForkChild([] {
      TheRegistry().records.clear();
      static_cast<void>(this_thread.release());
    });
    return made;
  }();
  return registry;
}

}  // namespace

int64_t Activity::Record::CpuNs() const {
#if defined(PENSTOCK_LINUX)
  timespec time;
  if (cpu_clock != 0 && clock_gettime(static_cast<clockid_t>(cpu_clock), &time) == 0) {
    return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  }
#endif
  return -1;
}

void Activity::ForEach(const std::function<void(Record&)>& look) {
  Registry& registry = TheRegistry();
  const std::lock_guard lock(registry.mutex);
  for (Record* record : registry.records) look(*record);
}

Activity::Record* Activity::Mine() noexcept {
  try {
    if (!this_thread) {
      this_thread = std::make_unique<Registered>();
      SetThreadName(thread_name);
    }
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  return &this_thread->record();
}

void Activity::SetThreadName(const char* name) noexcept {
  thread_name = name;
  if (this_thread) this_thread->record().name.store(name, std::memory_order_relaxed);
}

}  // namespace penstock
