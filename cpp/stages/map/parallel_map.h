// Calls of a function ahead of the consumer, some at a time: what map and filter with parallel
// calls are made of.
#pragma once

#include <functional>

#include "compute/function.h"
#include "engine/dataset.h"
#include "engine/iterator.h"

namespace penstock {

struct ParallelCalls {
  FunctionPtr function;
  int64_t calls;  // at a time; kAutotune: moved while it runs
  bool ordered;
  bool flagged = false;  // the function is one of Flagging, and only the rows that stay come out
};

// The iterator of `data`, whose only input the function is called for.
IteratorPtr MakeParallelCalls(const Dataset& data, const RunContext& context, ParallelCalls calls);

// A function that gives its rows with one more leaf: whether they stay, as the predicate says.
FunctionPtr Flagging(FunctionPtr predicate);
// The first of its results, which `next` gives, that stay, as they were; or what ends them.
Block RowsThatStay(const std::function<Block()>& next);

}  // namespace penstock
