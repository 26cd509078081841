// What surrounds the position in a saved state: a mark, a version, the pipeline, a checksum.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

struct StateFrame {
  std::string plan;     // PlanText of the pipeline that saved it
  std::string account;  // what else its data depends on, as the runtime that asks has written it
  std::string shared;   // what can be said of the position without the pipeline: SharedPosition
  std::string seeds;    // the process's SeedSequence; empty in the state of a part
  std::string body;     // the position

  std::string Sealed() const;
  // Throws unless every bit is as Sealed wrote it.
  static StateFrame Open(std::string_view state);
};

}  // namespace penstock
