// Calling the functions of the stages that group: one result, or one whole number, for an element.
#pragma once

#include <variant>
#include <vector>

#include "compute/function.h"

namespace penstock {

// What `function` returns for `element`. Throws what it raised.
Element CallForOne(Function& function, Element element, const CallInfo& info);
// What a function that returns one int gave for an element: that, or what it raised.
using IntOrError = std::variant<int64_t, Error>;
// Appends what `function` gives for each of `rows` from number `done` on: for many at a time where
// it can. `info` is for row 0. Throws transient errors only; those before it are there then.
void CallForInts(Function& function, const char* what, const Block& rows, int64_t done,
                 const CallInfo& info, std::vector<IntOrError>& out);
// The int that `function`, the argument `what` of the stage, returns for `element`. Throws what it
// raised, and a TypeError for any other result.
int64_t CallForInt(Function& function, const char* what, const Element& element,
                   const CallInfo& info);

}  // namespace penstock
