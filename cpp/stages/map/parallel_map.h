// Calls a function ahead of the consumer, several calls concurrently; used by map and filter with
// parallel calls.
#pragma once

#include <functional>

#include "compute/function.h"
#include "engine/dataset.h"
#include "engine/iterator.h"

namespace penstock {

struct ParallelCalls {
  FunctionPtr function;
  int64_t calls;  // concurrent calls; kAutotune: adjusted at run time
  bool ordered;
  bool flagged = false;  // created by Flagging; only rows that pass are delivered
};

// Returns the iterator of `data`, which calls the function for the elements of its only input.
IteratorPtr MakeParallelCalls(const Dataset& data, const RunContext& context, ParallelCalls calls);

// Returns a function that appends to each row the predicate's result as an additional leaf.
FunctionPtr Flagging(FunctionPtr predicate);
// Returns the first rows from `next` that pass, without the flag, or the error or end.
Block RowsThatStay(const std::function<Block()>& next);

}  // namespace penstock
