// HeldBytes: what one stage of a run keeps for long, where the run counts that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "data/error.h"
#include "runtime/stage_label.h"

namespace penstock {

class Session;

// A buffer that a stage needs in order to go on at all is not part of what runs ahead, so it is
// counted against the memory limit only if the run's options say `counts_all`. Used by one thread
// at a time; the session outlives it.
class HeldBytes final {
 public:
  // `instead`: what the user may do, for the error.
  HeldBytes(Session& session, const StageLabel& stage, const char* instead);
  ~HeldBytes() { Set(0); }
  HeldBytes(const HeldBytes&) = delete;
  HeldBytes& operator=(const HeldBytes&) = delete;

  bool counts() const { return counts_; }
  void Set(size_t bytes);
  void Add(size_t bytes) { Set(static_cast<size_t>(bytes_) + bytes); }
  // The error when this stage holds something, and all stages of the run more than the limit.
  std::optional<Error> Excess() const;

 private:
  Session& session_;
  const StageLabel& stage_;
  const char* const instead_;
  const bool counts_;
  int64_t bytes_ = 0;
};

}  // namespace penstock
