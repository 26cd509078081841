// CRC-32C (Castagnoli, RFC 3720 appendix B.4) of a byte string.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

uint32_t Crc32c(const void* data, size_t size, uint32_t crc = 0);

}  // namespace penstock
