// Bytes as messages between a process and its worker, for who makes them of objects himself.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/buffer.h"
#include "workers/shared_heap.h"

namespace penstock {

// The message for these bytes. Short ones are in it; the others lie in the heap, and what is lent
// for them is added to `lent`. Bytes that lie in the heap already are not copied; the caller refers
// to them. A message takes about a kilobyte at most, so that a socket has room for many.
std::string PackParcel(std::span<const std::string_view> parts, SharedHeap& heap,
                       std::vector<Stretch>& lent);

// Bytes of a message: they stay while the buffer does.
struct ParcelPart {
  BufferRef buffer;
  uint64_t offset = 0;
  uint64_t size = 0;
};

// `heap`: of the sender.
std::vector<ParcelPart> UnpackParcel(std::string_view message, PeerHeap& heap);

}  // namespace penstock
