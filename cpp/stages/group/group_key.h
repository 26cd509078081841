// Calls the functions of grouping stages, which return one result or one integer per element.
#pragma once

#include <variant>
#include <vector>

#include "compute/function.h"

namespace penstock {

// Returns the result of `function` for `element`. Throws the error that it raised.
Element CallForOne(Function& function, Element element, const CallInfo& info);
// The int that a function returned, or the error that it raised.
using IntOrError = std::variant<int64_t, Error>;
// Appends the results of `function` for each of `rows` starting at row `done`, calling it for many
// rows together if it can. `info` is for row 0. Throws only transient errors; the results before
// the failed call have then been appended.
void CallForInts(Function& function, const char* what, const Block& rows, int64_t done,
                 const CallInfo& info, std::vector<IntOrError>& out);
// Returns the int that `function`, the argument `what` of the stage, returns for `element`. Throws
// the error it raised, or a TypeError if the result is not an integer.
int64_t CallForInt(Function& function, const char* what, const Element& element,
                   const CallInfo& info);

}  // namespace penstock
