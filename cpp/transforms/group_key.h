// What the functions of the stages that group return: one whole number for an element.
#pragma once

#include "pipeline/function.h"

namespace penstock {

// The int that `function`, the argument `what` of the stage, returns for `element`. Throws what it
// raised, and a TypeError for any other result.
int64_t CallForInt(Function& function, const char* what, const Element& element,
                   const CallInfo& info);

}  // namespace penstock
