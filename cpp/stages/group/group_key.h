// Calling the functions of the stages that group: one result, or one whole number, for an element.
#pragma once

#include <variant>
#include <vector>

#include "compute/function.h"

namespace penstock {

// What `function` returns for `element`. Throws what it raised.
Element CallForOne(Function& function, Element element, const CallInfo& info);
// The int that a function returned for an element, or the error that it raised.
using IntOrError = std::variant<int64_t, Error>;
// Appends what `function` returns for each of `rows` from number `done` on, many at a time if it
// can. `info` is for row 0. Throws transient errors only; the results before one have been appended
// by then.
void CallForInts(Function& function, const char* what, const Block& rows, int64_t done,
                 const CallInfo& info, std::vector<IntOrError>& out);
// The int that `function`, the argument `what` of the stage, returns for `element`. Throws what it
// raised, and a TypeError for any other result.
int64_t CallForInt(Function& function, const char* what, const Element& element,
                   const CallInfo& info);

}  // namespace penstock
