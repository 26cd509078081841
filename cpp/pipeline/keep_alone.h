// Rows that are kept for long.
#pragma once

#include "element/element.h"

namespace penstock {

// Copies leaves that are views of much more memory: a row of many that were made together would
// keep them all for as long as it is kept.
void KeepAlone(Element& element);

}  // namespace penstock
