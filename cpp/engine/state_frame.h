// The envelope of a saved state: magic bytes, version, pipeline and checksum.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

struct StateFrame {
  std::string plan;     // PlanText of the pipeline that saved it
  std::string account;  // other data its elements depend on, written by the foreign runtime
  std::string shared;   // the position without the pipeline: SharedPosition
  std::string seeds;    // the process's SeedSequence; empty in the state of a part of a pipeline
  std::string body;     // the position

  std::string Sealed() const;
  // Throws if any bit differs from what Sealed wrote.
  static StateFrame Open(std::string_view state);
};

}  // namespace penstock
