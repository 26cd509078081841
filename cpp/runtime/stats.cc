// The list of stages, and reading their counters.
#include "runtime/stats.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace penstock {

void CallTimes::Add(int64_t ns, int64_t count, size_t size) {
  if (count <= 0) return;
  const int64_t each = std::max<int64_t>(ns / count, 1);
  const int octave = std::bit_width(static_cast<uint64_t>(each)) - 1;
  const int quarter = octave < 2 ? 0 : static_cast<int>(each >> (octave - 2)) & 3;
  counts[4 * octave + quarter].fetch_add(count, std::memory_order_relaxed);
  rows.fetch_add(count, std::memory_order_relaxed);
  bytes.fetch_add(static_cast<int64_t>(size), std::memory_order_relaxed);
  int64_t longest = longest_ns.load(std::memory_order_relaxed);
  while (each > longest &&
         !longest_ns.compare_exchange_weak(longest, each, std::memory_order_relaxed)) {
  }
}

void CallTimes::AddOngoing(int64_t ns, size_t size) {
  Add(ns, 1, size);
  ongoing_ns.fetch_add(ns, std::memory_order_relaxed);
}

double CallTimes::Quantile(double share) const {
  int64_t all = 0;
  for (const auto& count : counts) all += count.load(std::memory_order_relaxed);
  if (all == 0) return 0;
  const double wanted = share * static_cast<double>(all);
  int64_t below = 0;
  for (int i = 0; i < kBuckets; ++i) {
    below += counts[i].load(std::memory_order_relaxed);
    if (below > 0 && static_cast<double>(below) >= wanted) {
      const double middle = std::ldexp(1 + (i % 4 + 0.5) / 4, i / 4);
      return std::min(middle, static_cast<double>(longest_ns.load(std::memory_order_relaxed))) *
             1e-9;
    }
  }
  return static_cast<double>(longest_ns.load(std::memory_order_relaxed)) * 1e-9;
}

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

void StatsSink::Observe() {
  const std::lock_guard lock(mutex_);
  for (Entry& entry : entries_) {
    if (entry.calls) continue;
    entry.calls = std::make_unique<CallTimes>();
    // release: pairs with the acquire of threads that add to it.
    entry.stats.calls.store(entry.calls.get(), std::memory_order_release);
  }
}

std::vector<StageSnapshot> StatsSink::Snapshot() const {
  const auto read = [](const auto& counter) { return counter.load(std::memory_order_relaxed); };
  const std::lock_guard lock(mutex_);
  std::vector<StageSnapshot> all;
  all.reserve(entries_.size());
  for (const Entry& entry : entries_) {
    const StageStats& s = entry.stats;
    const auto workers = workers_.find(entry.path);
    all.push_back({entry.path, &entry.stats, entry.label, read(s.steps), read(s.blocks),
                   read(s.errors), read(s.busy_ns), read(s.wait_ns), read(s.buffer_size),
                   read(s.buffer_limit), read(s.parallelism), read(s.retries),
                   workers == workers_.end() ? std::vector<WorkerReport>() : workers->second()});
  }
  return all;
}

}  // namespace penstock
