// The stages of a pipeline as text, by which a state recognises the pipeline that it belongs to.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/dataset.h"

namespace penstock {

// A stage whose states cannot be used by a stage of the same name with another detail.
class PlanDetail {
 public:
  virtual ~PlanDetail() = default;
  // What stands after the name.
  virtual std::string plan_detail() const = 0;
};

// The names of all stages with their details, from the sources to the end, one in a line. Prefetch
// is left out, because it may be added or removed between saving and restoring.
// `detail`: what stands after a stage besides, by its line.
std::string PlanText(
    const Dataset& root,
    const std::function<std::string(const Dataset& stage, size_t line)>& detail = nullptr);
std::vector<std::string> PlanLines(const std::string& text);
// Names the first stage in which the plan of a state differs from that of the pipeline that takes
// it up; empty when they are the same.
std::string PlanDifference(const std::string& saved, const std::string& own);

}  // namespace penstock
