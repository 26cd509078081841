// Notifies stages that wait for room in the budget.
#include "runtime/budget.h"

#include <algorithm>

#include "runtime/event_count.h"

namespace penstock {

void Budget::NotifyWatches() {
  const std::lock_guard lock(mutex_);
  for (EventCount* event : watches_) event->NotifyAll();
}

Budget::Watch::Watch(Budget& budget, EventCount& event) : budget_(budget), event_(event) {
  const std::lock_guard lock(budget_.mutex_);
  budget_.watches_.push_back(&event_);
}

Budget::Watch::~Watch() {
  const std::lock_guard lock(budget_.mutex_);
  auto& watches = budget_.watches_;
  watches.erase(std::find(watches.begin(), watches.end(), &event_));
}

}  // namespace penstock
