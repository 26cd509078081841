// Opens local and remote files, and reads whole files.
#include "storage/file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "data/checked_sizes.h"
#include "runtime/platform.h"
#include "storage/remote.h"
#include "storage/remote_file.h"

namespace penstock {
namespace {

class BytesInMemory final : public InputFile {
 public:
  BytesInMemory(BufferRef memory, size_t size) : memory_(std::move(memory)), size_(size) {}

  size_t Read(int64_t offset, void* data, size_t size) override {
    const LentBytes bytes = Lend(offset, size);
    if (bytes.size > 0) std::memcpy(data, bytes.memory->data() + bytes.position, bytes.size);
    return bytes.size;
  }
  LentBytes Lend(int64_t offset, size_t size) override {
    const auto at = static_cast<size_t>(offset);
    return at < size_ ? LentBytes{memory_, at, std::min(size, size_ - at)} : LentBytes{};
  }
  // While one range is copied, prefetches the beginning of a later one into the CPU cache.
  void ReadReady(std::span<ByteRange> ranges) override {
    constexpr size_t kAhead = 4, kLine = 64, kMostAhead = 1024;
    for (size_t i = 0; i < ranges.size(); ++i) {
      if (i + kAhead < ranges.size() && Has(ranges[i + kAhead])) {
        const ByteRange& next = ranges[i + kAhead];
        for (size_t at = 0; at < std::min(next.size, kMostAhead); at += kLine) {
          Prefetch(memory_->data() + next.offset + at);
        }
      }
      if (!Has(ranges[i])) continue;
      std::memcpy(ranges[i].to, memory_->data() + ranges[i].offset, ranges[i].size);
      ranges[i].ready = ranges[i].size;
    }
  }
  int64_t size() override { return static_cast<int64_t>(size_); }

 private:
  bool Has(const ByteRange& range) const {
    return LiesWithin(static_cast<uint64_t>(range.offset), range.size, size_);
  }

  const BufferRef memory_;
  const size_t size_;
};

}  // namespace

thread_local Reading ReadingFor::current_;

std::unique_ptr<InputFile> OpenFile(const std::string& path, const Reading& reading) {
  return IsRemote(path) ? OpenRemote(path, reading) : OpenLocalFile(path, reading);
}

std::unique_ptr<InputFile> OpenPlainFile(const std::string& path) {
  return IsRemote(path) ? OpenRemote(path, {.throughout = false}) : OpenPlainLocalFile(path);
}

bool ReadFully(InputFile& file, int64_t offset, void* data, size_t size) {
  auto* to = static_cast<uint8_t*>(data);
  while (size > 0) {
    const size_t got = file.Read(offset, to, size);
    if (got == 0) return false;
    to += got;
    offset += static_cast<int64_t>(got);
    size -= got;
  }
  return true;
}

std::unique_ptr<InputFile> MemoryFile(BufferRef memory, size_t size) {
  return std::make_unique<BytesInMemory>(std::move(memory), size);
}

BufferRef ReadWholeFile(const std::string& path, size_t* size) {
  return ReadWholeFile(*OpenFile(path, ReadingFor::current()), size);
}

BufferRef ReadWholeFile(InputFile& file, size_t* size) {
  constexpr size_t kUnknownStep = size_t{1} << 20;
  int64_t expected = file.size();
  // One byte more than expected, so that the last read, which returns 0, needs no larger buffer.
  // Aligned: on some CPUs the kernel copies pages at a quarter of its speed to memory that begins
  // 16 bytes after a page boundary, as memory from malloc does.
  BufferRef content =
      Buffer::Allocate(expected > 0 ? static_cast<size_t>(expected) + 1 : kUnknownStep);
  size_t filled = 0;
  for (;;) {
    if (filled == content->size()) {
      BufferRef larger = Buffer::Allocate(2 * content->size());
      std::memcpy(larger->data(), content->data(), filled);
      content = std::move(larger);
    }
    size_t got =
        file.Read(static_cast<int64_t>(filled), content->data() + filled, content->size() - filled);
    if (got == 0) break;
    filled += got;
  }
  *size = filled;
  return content;
}

}  // namespace penstock
