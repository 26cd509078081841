// Packing and unpacking parcels.
#include "workers/parcel.h"

#include <cstring>
#include <utility>

#include "data/state_visitor.h"

namespace penstock {
namespace {

constexpr uint64_t kPartAlign = 64;
// Parcels of up to this many bytes go through the socket.
constexpr uint64_t kFewInMessage = 1024;
// Parts of at least this many bytes get a separate stretch, so that a small part never keeps a
// large one alive.
constexpr uint64_t kManyBytes = 64 << 10;

enum PartHome : uint64_t { kTogether, kAlone };
enum Envelope : uint64_t { kInMessage, kInHeap };

uint64_t AlignedPart(uint64_t size) { return (size + kPartAlign - 1) / kPartAlign * kPartAlign; }

void VisitStretch(StateVisitor& visitor, Stretch& stretch) {
  visitor.UInt(stretch.offset);
  visitor.UInt(stretch.size);
  visitor.UInt(stretch.slot);
}

Stretch LendCopy(std::string_view bytes, SharedHeap& heap) {
  const BufferRef copy = heap.Allocate(bytes.size());
  std::memcpy(copy->data(), bytes.data(), bytes.size());
  return heap.Lend(*copy.get());
}

}  // namespace

std::string PackParcel(std::span<const std::string_view> parts, SharedHeap& heap,
                       std::vector<Stretch>& lent) {
  std::string table;
  StateVisitor visitor(&table);
  uint64_t count = parts.size();
  visitor.UInt(count);
  std::vector<std::pair<uint64_t, std::string_view>> together;
  uint64_t end = 0;
  for (std::string_view part : parts) {
    uint64_t size = part.size();
    visitor.UInt(size);
    auto found = heap.LendAt(part.data());
    if (!found && size >= kManyBytes) found.emplace(LendCopy(part, heap), 0);
    uint64_t home = found ? kAlone : kTogether;
    visitor.UInt(home);
    if (found) {
      lent.push_back(found->first);
      VisitStretch(visitor, found->first);
      visitor.UInt(found->second);
    } else {
      visitor.UInt(end);
      together.emplace_back(end, part);
      end += AlignedPart(size);
    }
  }
  // The bytes, then the table of their offsets.
  std::string bytes(end, '\0');
  for (auto [at, part] : together) std::memcpy(bytes.data() + at, part.data(), part.size());
  bytes += table;
  std::string message;
  StateVisitor envelope(&message);
  uint64_t kind = bytes.size() <= kFewInMessage ? kInMessage : kInHeap;
  envelope.UInt(kind);
  envelope.UInt(end);
  if (kind == kInMessage) {
    envelope.Text(bytes);
    return message;
  }
  uint64_t size = bytes.size();
  envelope.UInt(size);
  Stretch stretch = LendCopy(bytes, heap);
  lent.push_back(stretch);
  VisitStretch(envelope, stretch);
  return message;
}

std::vector<ParcelPart> UnpackParcel(std::string_view message, PeerHeap& heap) {
  StateVisitor envelope(message, "worker processes");
  uint64_t kind = 0, end = 0, size = 0;
  envelope.UInt(kind);
  envelope.UInt(end);
  BufferRef bytes;
  if (kind == kInMessage) {
    const std::string_view here = envelope.TextView();
    size = here.size();
    bytes = Buffer::Allocate(size);
    std::memcpy(bytes->data(), here.data(), size);
  } else {
    envelope.UInt(size);
    Stretch stretch;
    VisitStretch(envelope, stretch);
    bytes = heap.View(stretch);
  }
  StateVisitor visitor({reinterpret_cast<const char*>(bytes->data()) + end, size - end},
                       "worker processes");
  uint64_t count = 0;
  visitor.UInt(count);
  std::vector<ParcelPart> parts;
  parts.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    ParcelPart& part = parts.emplace_back();
    uint64_t home = 0;
    visitor.UInt(part.size);
    visitor.UInt(home);
    if (home == kAlone) {
      Stretch stretch;
      VisitStretch(visitor, stretch);
      part.buffer = heap.View(stretch);
    } else {
      part.buffer = bytes;
    }
    visitor.UInt(part.offset);
  }
  return parts;
}

}  // namespace penstock
