// The list of stages and the reading of their counters.
#include "runtime/stats.h"

#include <utility>

namespace penstock {

StageStats* StatsSink::Add(std::string stage_path, StageLabel label) {
  const std::lock_guard lock(mutex_);
  if (const auto found = by_path_.find(stage_path); found != by_path_.end()) {
    return &found->second->stats;
  }
  Entry& entry = entries_.emplace_back();
  entry.path = std::move(stage_path);
  entry.label = std::move(label);
  by_path_.emplace(entry.path, &entry);
  return &entry.stats;
}

void StatsSink::SetWorkers(const std::string& stage_path,
                           std::function<std::vector<WorkerReport>()> workers) {
  const std::lock_guard lock(mutex_);
  workers_[stage_path] = std::move(workers);
}

std::vector<StageSnapshot> StatsSink::Snapshot() const {
  const auto read = [](const auto& counter) { return counter.load(std::memory_order_relaxed); };
  const std::lock_guard lock(mutex_);
  std::vector<StageSnapshot> all;
  all.reserve(entries_.size());
  for (const Entry& entry : entries_) {
    const StageStats& s = entry.stats;
    const auto workers = workers_.find(entry.path);
    all.push_back({entry.path, entry.label, read(s.steps), read(s.blocks), read(s.errors),
                   read(s.busy_ns), read(s.wait_ns), read(s.buffer_size), read(s.buffer_limit),
                   read(s.parallelism), read(s.retries),
                   workers == workers_.end() ? std::vector<WorkerReport>() : workers->second()});
  }
  return all;
}

}  // namespace penstock
