// HeldBytes: accounts for memory that a stage holds for a long time, if the run counts it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "data/error.h"
#include "runtime/stage_label.h"

namespace penstock {

class Session;

// A buffer that a stage cannot work without is not lookahead. It counts against the memory limit
// only if the run has the option `counts_all`. Used by one thread at a time; the session outlives
// it.
class HeldBytes final {
 public:
  // `instead`: what the error suggests to the user.
  HeldBytes(Session& session, const StageLabel& stage, const char* instead);
  ~HeldBytes() { Set(0); }
  HeldBytes(const HeldBytes&) = delete;
  HeldBytes& operator=(const HeldBytes&) = delete;

  bool counts() const { return counts_; }
  void Set(size_t bytes);
  void Add(size_t bytes) { Set(static_cast<size_t>(bytes_) + bytes); }
  // An error if this stage holds memory and all stages of the run together exceed the limit.
  std::optional<Error> Excess() const;

 private:
  Session& session_;
  const StageLabel& stage_;
  const char* const instead_;
  const bool counts_;
  int64_t bytes_ = 0;
};

}  // namespace penstock
