// CRC-32C (Castagnoli, RFC 3720 appendix B.4) of a byte string.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

// By the CPU's instruction where it has one, some 20 GB/s. `crc`: of the bytes before these.
uint32_t Crc32c(const void* data, size_t size, uint32_t crc = 0);

// The same without the instruction, some 1.5 GB/s: what other CPUs run, and what tests compare
// with.
uint32_t Crc32cByTable(const void* data, size_t size, uint32_t crc = 0);

// CRC-32 of zip and gzip files (RFC 1952, section 8).
uint32_t Crc32(const void* data, size_t size, uint32_t crc = 0);

// The form in which record files keep a checksum: that of bytes which hold checksums themselves
// would be weak.
inline uint32_t MaskedCrc(uint32_t crc) { return (crc >> 15 | crc << 17) + 0xA282EAD8u; }

}  // namespace penstock
