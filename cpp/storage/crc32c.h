// CRC-32C (Castagnoli, RFC 3720 appendix B.4) of a byte string.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

// Uses the CPU's instruction if there is one, about 20 GB/s. `crc`: the checksum of the preceding
// bytes.
uint32_t Crc32c(const void* data, size_t size, uint32_t crc = 0);

// The same without the instruction, about 1.5 GB/s: for other CPUs, and as the reference in tests.
uint32_t Crc32cByTable(const void* data, size_t size, uint32_t crc = 0);

// CRC-32 of zip and gzip files (RFC 1952, section 8).
uint32_t Crc32(const void* data, size_t size, uint32_t crc = 0);

// The form in which record files store a checksum: a plain CRC of bytes that contain their own CRC
// would be weak.
inline uint32_t MaskedCrc(uint32_t crc) { return (crc >> 15 | crc << 17) + 0xA282EAD8u; }

}  // namespace penstock
