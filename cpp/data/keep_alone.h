// Rows that are kept for long.
#pragma once

#include "data/element.h"

namespace penstock {

// Copies leaves that are views of much more memory: a row of many that were made together would
// keep them all for as long as it is kept.
void KeepAlone(Element& element);

// Whether that can be done for all rows of a block. References to objects may be copied with the
// foreign lock only: where they are kept for long they are to be pulled one by one.
bool CanBeAlone(const Block& rows);

}  // namespace penstock
