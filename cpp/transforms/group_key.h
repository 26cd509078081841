// Calling the functions of the stages that group: one result, or one whole number, for an element.
#pragma once

#include "pipeline/function.h"

namespace penstock {

// What `function` returns for `element`. Throws what it raised.
Element CallForOne(Function& function, Element element, const CallInfo& info);
// The int that `function`, the argument `what` of the stage, returns for `element`. Throws what it
// raised, and a TypeError for any other result.
int64_t CallForInt(Function& function, const char* what, const Element& element,
                   const CallInfo& info);

}  // namespace penstock
