// Rows of one size in memory, by their numbers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

// Copies rows of `bytes` each; the next rows are fetched from memory while one is copied.
void GatherRows(uint8_t* to, const uint8_t* from, size_t bytes, const int64_t* indices,
                int64_t rows);

}  // namespace penstock
