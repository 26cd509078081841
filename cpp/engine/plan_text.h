// The stages of a pipeline as text. A state contains it to recognise its pipeline.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/dataset.h"

namespace penstock {

// A stage whose states cannot be used by a stage of the same name with different details.
class PlanDetail {
 public:
  virtual ~PlanDetail() = default;
  // The text after the name.
  virtual std::string plan_detail() const = 0;
};

// Returns the names of all stages with their details, one per line, from the sources to the end.
// Prefetch is omitted, because it may be added or removed between saving and restoring. `detail`:
// additional text after a stage, by its line.
std::string PlanText(
    const Dataset& root,
    const std::function<std::string(const Dataset& stage, size_t line)>& detail = nullptr);
std::vector<std::string> PlanLines(const std::string& text);
// Describes the first stage in which the plan of a state differs from that of the restoring
// pipeline; empty if they are equal.
std::string PlanDifference(const std::string& saved, const std::string& own);

}  // namespace penstock
