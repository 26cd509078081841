// Lookahead: rows that sources decode in advance for a stage that knows the next positions.
#pragma once

#include <memory>
#include <vector>

#include "engine/random_access.h"
#include "runtime/budget.h"

namespace penstock {

// Passed to the sources in the RunContext of the stage's requests. Used by one thread; the session
// and the plan outlive it.
//
// Decoded rows may use half of the memory that is free under the limit at the first call of
// window(), and at least an eighth of the limit.
class Lookahead {
 public:
  // For elements of `data`, which has random access.
  Lookahead(const Dataset& data, const RunContext& context);

  // Whether there is no source that decodes groups of rows.
  bool empty() const { return sources_.empty(); }
  // The number of next positions to pass to Decode; 0 if there is nothing to decode ahead.
  int64_t window();
  // Decodes each group that contains these positions at most once, and keeps their rows.
  void Decode(const Positions& next);
  // Null if the source does not decode groups of rows.
  DecodedRows* RowsOf(const Dataset& source);

 private:
  struct Source {
    const Dataset* stage;
    std::unique_ptr<DecodedRows> rows;
    double per_position = 0;  // rows of the source per position of `data`; 0: unknown
    Positions wanted{};
  };
  void Begin();
  void Collect(const Dataset& stage, const Positions& positions);
  Source* Find(const Dataset& stage);
  void Charge();

  const Dataset& data_;
  const RunContext context_;
  std::vector<Source> sources_;
  bool begun_ = false;
  BudgetCharge charge_;
};

}  // namespace penstock
