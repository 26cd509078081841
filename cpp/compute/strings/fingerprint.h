// A hash of bytes that never changes: FarmHash's Fingerprint64.
#pragma once

#include <cstdint>
#include <string_view>

namespace penstock {

// The same on every CPU and in every version.
uint64_t Fingerprint64(std::string_view bytes);

}  // namespace penstock
