// Opens a file of rows through its index, and reads chunks.
#include <algorithm>
#include <cstring>
#include <functional>

#include "runtime/blocking.h"
#include "storage/chunk/chunk_index.h"
#include "storage/chunk/chunk_layout.h"
#include "storage/crc32c.h"

namespace penstock {

void ChunkIndex::Throw(int64_t offset, std::string_view what) const {
  Origin origin;
  origin.file = path_;
  origin.offset = offset;
  throw Error(ErrorKind::kData, "{}: {}", stage_, what).At(std::move(origin));
}

bool ChunkIndex::ReadAt(uint64_t offset, void* data, size_t size) const {
  // Short reads of a regular file, perhaps by several threads: none of them is interrupted by a
  // signal.
  LeaveForeignLock();
  ScopedBlockingHook none(nullptr);
  return ReadFully(*file_, static_cast<int64_t>(offset), data, size);
}

uint64_t ChunkIndex::Stamp() const { return std::hash<std::string>()(file_->version()); }

// Reads only the header.
ChunkIndex::ChunkIndex(std::string stage, const std::string& path, std::unique_ptr<InputFile> file)
    : stage_(std::move(stage)),
      path_(std::make_shared<const std::string>(path)),
      file_(std::move(file)) {
  LeaveForeignLock();
  // The end of a pipe or a device cannot be known.
  if (file_->size() < 0) Throw(-1, "a file of rows was expected, got no regular file");
  ReadHeader();
}

ChunkHeader ChunkIndex::Header(std::string stage, const std::string& path,
                               std::unique_ptr<InputFile> file) {
  return ChunkIndex(std::move(stage), path, std::move(file)).header_;
}

ChunkIndex::ChunkIndex(std::string stage, const std::string& path, std::unique_ptr<InputFile> file,
                       int64_t max_bytes)
    : ChunkIndex(std::move(stage), path, std::move(file)) {
  max_bytes_ = static_cast<uint64_t>(max_bytes);
  try {
    ReadFooter();
  } catch (const Error& error) {
    // Thrown while visiting: add the name of the file.
    if (error.origin().file) throw;
    if (error.kind() == ErrorKind::kType) {
      throw Error(ErrorKind::kType, "{}: {}: {}", stage_, path, error.message());
    }
    bool own = error.kind() == ErrorKind::kData;
    Throw(-1, "the index is damaged" + (own ? ": " + error.message() : ""));
  }
  for (auto& layout : layouts_) {
    spec_ = &layout == &layouts_[0] ? layout : ElementSpec::Cover(*spec_, layout);
    if (!spec_) break;
  }
}

void ChunkIndex::ReadHeader() {
  char magic[8];
  ChunkPreamble preamble;
  constexpr uint32_t kMostHeader = 64 << 20;
  if (!ReadAt(0, magic, sizeof(magic)) || std::string_view(magic, 8) != kChunkMagic) {
    Throw(0, "this is not a file of rows that penstock has written, or its beginning is damaged");
  }
  if (!ReadAt(sizeof(magic), &preamble, sizeof(preamble))) {
    Throw(sizeof(magic), "the file is truncated");
  }
  if (preamble.version != kChunkFormatVersion) {
    Throw(sizeof(magic),
          Format("version {} of the format was expected, got version {}; use a version of "
                 "penstock that reads it, or write the file again",
                 kChunkFormatVersion, preamble.version));
  }
  std::string text;
  if (preamble.header_size <= kMostHeader) text.resize(preamble.header_size);
  if (text.size() != preamble.header_size ||
      !ReadAt(sizeof(magic) + sizeof(preamble), text.data(), text.size()) ||
      Crc32c(text.data(), text.size()) != preamble.header_crc) {
    Throw(sizeof(magic), "the header is truncated or damaged");
  }
  StateVisitor visitor{std::string_view(text)};
  VisitHeader(visitor, header_);
}

void ChunkIndex::ReadFooter() {
  auto size = static_cast<uint64_t>(std::max<int64_t>(file_->size(), 0));
  char end[kTrailerSize];
  if (size < kTrailerSize || !ReadAt(size - kTrailerSize, end, kTrailerSize) ||
      std::string_view(end + sizeof(ChunkTrailer), kChunkEndMagic.size()) != kChunkEndMagic) {
    Throw(static_cast<int64_t>(size), "the file is truncated: it does not end with its index");
  }
  ChunkTrailer trailer;
  std::memcpy(&trailer, end, sizeof(trailer));
  uint64_t footer_end = size - kTrailerSize;
  if (trailer.footer_size > footer_end ||
      trailer.footer_offset != footer_end - trailer.footer_size) {
    Throw(static_cast<int64_t>(footer_end), "the index is damaged");
  }
  std::string footer(trailer.footer_size, '\0');
  if (!ReadAt(trailer.footer_offset, footer.data(), footer.size()) ||
      Crc32c(footer.data(), footer.size()) != trailer.footer_crc) {
    Throw(static_cast<int64_t>(trailer.footer_offset), "the index is damaged");
  }
  content_ = uint64_t{trailer.footer_crc} << 32 | (trailer.footer_size & 0xFFFFFFFF);
  StateVisitor visitor{std::string_view(footer)};
  uint64_t layouts, entries;
  visitor.UInt(layouts);
  for (uint64_t i = 0; i < layouts; ++i) {
    layouts_.emplace_back();
    VisitSpec(visitor, layouts_.back());
  }
  visitor.UInt(entries);
  for (uint64_t i = 0; i < entries; ++i) {
    ChunkEntry entry;
    VisitEntry(visitor, entry);
    entry.first = rows_;
    rows_ += entry.rows;
    if (entry.layout >= layouts_.size() || entry.rows < 1 || entry.stored > footer_end ||
        entry.offset > footer_end - entry.stored) {
      Throw(static_cast<int64_t>(entry.offset), "the index is damaged");
    }
    entries_.push_back(entry);
  }
  visitor.ExpectEnd();
}

ChunkForm ChunkIndex::form(const ChunkEntry& entry) const {
  return {layouts_[entry.layout], entry.rows, entry.keyed, entry.first_key, entry.first_index};
}

size_t ChunkIndex::ChunkOf(int64_t row) const {
  auto after = std::upper_bound(entries_.begin(), entries_.end(), row,
                                [](int64_t r, const ChunkEntry& entry) { return r < entry.first; });
  return static_cast<size_t>(after - entries_.begin()) - 1;
}

void ChunkIndex::ThrowDamaged(size_t chunk, std::string_view what) const {
  const ChunkEntry& entry = entries_[chunk];
  Throw(static_cast<int64_t>(entry.offset),
        Format("rows {} to {} ({} bytes from byte {}) cannot be read: {}", entry.first,
               entry.first + entry.rows - 1, entry.stored, entry.offset, what));
}

ChunkRows ChunkIndex::Read(size_t chunk) const {
  LeaveForeignLock();
  const ChunkEntry& entry = entries_[chunk];
  if (entry.codec != Codec::kNone && entry.bytes > max_bytes_) {
    ThrowDamaged(chunk, Format("they decompress to {} bytes, which is more than max_record_bytes, "
                               "{}; give a larger one if the file is to be trusted",
                               entry.bytes, max_bytes_));
  }
  BufferRef stored = Buffer::Allocate(entry.stored);
  if (!ReadAt(entry.offset, stored->data(), entry.stored)) {
    ThrowDamaged(chunk, "the file has become shorter");
  }
  if (Crc32c(stored->data(), entry.stored) != entry.crc) {
    ThrowDamaged(chunk, "their checksum does not match");
  }
  BufferRef bytes = Decompress(entry.codec, stored, entry.bytes);
  if (!bytes) ThrowDamaged(chunk, "they do not decompress");
  try {
    return ChunkRows(form(entry), std::move(bytes));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kData) throw;
    ThrowDamaged(chunk, error.message());
  }
}

}  // namespace penstock
