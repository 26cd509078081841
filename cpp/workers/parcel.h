// Bytes as messages between a process and its worker, for callers that serialise objects
// themselves.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/buffer.h"
#include "workers/shared_heap.h"

namespace penstock {

// Builds the message for these bytes. Short parts are stored in it; the others are copied to the
// heap, and what that lends is added to `lent`. Bytes that already are in the heap are not copied;
// the caller keeps a reference to them. A message takes at most about a kilobyte, so that many fit
// into a socket's buffer.
std::string PackParcel(std::span<const std::string_view> parts, SharedHeap& heap,
                       std::vector<Stretch>& lent);

// Bytes of a message, valid as long as the buffer.
struct ParcelPart {
  BufferRef buffer;
  uint64_t offset = 0;
  uint64_t size = 0;
};

// `heap`: the sender's.
std::vector<ParcelPart> UnpackParcel(std::string_view message, PeerHeap& heap);

}  // namespace penstock
