// The window over a stream of bytes.
#include "stages/files/byte_source.h"

#include <algorithm>
#include <cstring>

#include "data/error.h"
#include "runtime/blocking.h"
#include "runtime/clock.h"

namespace penstock {
namespace {

constexpr size_t kLeastChunk = 4096;
constexpr size_t kFar = size_t{64} << 10;     // skipping less is no faster than reading it
constexpr size_t kAtOnce = size_t{16} << 20;  // memory for more is allocated only as bytes arrive

}  // namespace

ByteSource::ByteSource(std::unique_ptr<ByteStream> stream, size_t chunk)
    : stream_(std::move(stream)), chunk_(std::max(chunk, kLeastChunk)) {}

// Makes room for more of the `need` bytes; the rest of the window moves to the front.
void ByteSource::MakeRoom(size_t need) {
  size_t kept = window_.size;
  // Grow by half: kept bytes are moved only a few times, however small the requests.
  size_t wanted = std::max({chunk_, kept + kept / 2, std::min(need, std::max(2 * kept, kAtOnce))});
  bool fits = buffer_ && buffer_->size() >= wanted && buffer_->size() <= 4 * wanted;
  if (fits && buffer_->unique()) {
    if (kept) std::memmove(buffer_->data(), window_.data, kept);
  } else {
    BufferRef next = Buffer::Allocate(wanted);
    if (kept) std::memcpy(next->data(), window_.data, kept);
    buffer_ = std::move(next);
  }
  begin_ = 0;
  borrowed_ = false;
  window_.data = buffer_->data();
}

// The number of bytes to read beyond the window so that it has `need`.
size_t ByteSource::Step(size_t need) {
  const size_t least = need - window_.size;
  if (at_once_ == 0) return std::max(least, chunk_);
  const size_t step = std::max(least, at_once_);
  at_once_ = at_once_ < chunk_ ? 2 * at_once_ : 0;
  return step;
}

// Grows the window without a copy; returns whether it did.
bool ByteSource::Borrow(size_t step) {
  LentBytes lent = stream_->Lend(window_.offset, window_.size + step);
  if (lent.size <= window_.size) return false;
  window_.data = lent.memory->data() + lent.position;
  window_.size = lent.size;
  buffer_ = std::move(lent.memory);
  begin_ = lent.position;
  return borrowed_ = lends_ = true;
}

void ByteSource::Fill(size_t need) {
  while (window_.size < need && !window_.ended) {
    LeaveForeignLock();  // before each read
    if (!slow_) {
      FillOnce(need);
      continue;
    }
    const int64_t from = window_.offset + static_cast<int64_t>(window_.size);
    const MonoTime start = NowNs();
    FillOnce(need);
    const int64_t took = NowNs() - start;
    if (took > slow_->limit_ns()) slow_->Note(Format("{}, a read at byte {}", what_, from), took);
  }
}

// With one read.
void ByteSource::FillOnce(size_t need) {
  const bool jumped = at_once_ > 0;
  const size_t step = Step(need);
  if (Borrow(step)) return;
  size_t filled = begin_ + window_.size;
  size_t room = buffer_ && !borrowed_ ? buffer_->size() - filled : 0;
  if (room < need - window_.size || room < chunk_ / 2) {
    MakeRoom(need);
    filled = window_.size;
  }
  // Memory shared with others ends before the window does.
  size_t most = buffer_->size() - filled;
  if (jumped) most = std::min(most, step);
  // Only records that span two stretches of lent memory are copied.
  if (lends_) most = std::min(most, std::max(need - window_.size, kLeastChunk));
  size_t got = stream_->Read(buffer_->data() + filled, most);
  window_.ended = got == 0;
  window_.size += got;
}

void ByteSource::Skip(size_t size) {
  begin_ += size;
  window_.data += size;
  window_.size -= size;
  window_.offset += static_cast<int64_t>(size);
}

void ByteSource::Jump(size_t size) {
  if (size <= window_.size) return Skip(size);
  if (size >= kFar) at_once_ = kLeastChunk;
  if (size - window_.size < kFar) {
    Fill(size);
    return Skip(std::min(size, window_.size));
  }
  const int64_t there = window_.offset + static_cast<int64_t>(size);
  stream_->Seek(there);
  begin_ += window_.size;
  window_.data += window_.size;
  window_.size = 0;
  window_.offset = there;
  window_.ended = false;
}

void ByteSource::Seek(int64_t offset) {
  stream_->Seek(offset);
  window_.offset = offset;
}

}  // namespace penstock
