// Gathers rows of one size by index.
#include "data/gather_rows.h"

namespace penstock {

void GatherRows(uint8_t* to, const uint8_t* from, size_t bytes, const int64_t* indices,
                int64_t rows) {
  GatherRows(to, bytes, rows,
             [&](int64_t i) { return from + static_cast<size_t>(indices[i]) * bytes; });
}

}  // namespace penstock
