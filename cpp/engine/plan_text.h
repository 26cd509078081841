// The stages of a pipeline as text, by which a state knows its own.
#pragma once

#include <string>

#include "engine/dataset.h"

namespace penstock {

// A stage whose states are of no use to one of the same name that has another detail.
class PlanDetail {
 public:
  virtual ~PlanDetail() = default;
  // What stands after the name.
  virtual std::string plan_detail() const = 0;
};

// The names of all stages, from the sources to the end, one in a line, with such details; but for
// prefetch, which may be put in and left out between saving and restoring.
std::string PlanText(const Dataset& root);
// Names the first stage in which the plan of a state differs from that of the pipeline that shall
// take it up; empty when they are the same.
std::string PlanDifference(const std::string& saved, const std::string& own);

}  // namespace penstock
