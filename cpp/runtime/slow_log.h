// Calls and reads that took longer than the user's limit: some as texts, the others counted.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace penstock {

// Thread-safe.
class SlowLog final {
 public:
  // 0: nothing is slow.
  explicit SlowLog(int64_t limit_ns) : limit_ns_(limit_ns) {}
  SlowLog(const SlowLog&) = delete;
  SlowLog& operator=(const SlowLog&) = delete;

  int64_t limit_ns() const { return limit_ns_; }
  // The first ones become texts. After that, one every ten seconds, which includes the number of
  // omitted ones.
  void Note(const std::string& what, int64_t ns);
  bool has_texts() const { return has_texts_.load(std::memory_order_relaxed); }
  // `end`: nothing follows, so report the omitted ones now.
  std::vector<std::string> Take(bool end);

 private:
  std::string LeftOut();

  const int64_t limit_ns_;
  std::mutex mutex_;  // a leaf lock
  std::vector<std::string> texts_;
  std::atomic<bool> has_texts_{false};  // a hint
  int64_t told_ = 0;
  int64_t told_at_ = 0;   // time of the last text
  int64_t left_out_ = 0;  // since then
  int64_t slowest_left_out_ns_ = 0;
};

}  // namespace penstock
