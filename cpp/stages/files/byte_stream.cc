// The bytes of plain and of compressed files.
#include "stages/files/byte_stream.h"

#include <algorithm>
#include <vector>

#include "data/error.h"
#include "storage/decompressor.h"

namespace penstock {
namespace {

class PlainStream final : public ByteStream {
 public:
  PlainStream(std::shared_ptr<InputFile> file, int64_t size)
      : file_(std::move(file)), size_(size) {}

  size_t Read(uint8_t* to, size_t room) override {
    size_t got = file_->Read(offset_, to, room);
    offset_ += static_cast<int64_t>(got);
    if (got == 0 && size_ > 0) CheckEnd();
    return got;
  }
  LentBytes Lend(int64_t offset, size_t size) override {
    LentBytes lent = file_->Lend(offset, size);
    if (lent.memory) offset_ = offset + static_cast<int64_t>(lent.size);
    return lent;
  }
  void Seek(int64_t offset) override { offset_ = offset; }
  int64_t left(int64_t offset) override {
    int64_t size = file_->size();
    return size > offset ? size - offset : -1;  // some file systems report 0 for generated files
  }
  const std::string& problem() const override { return problem_; }

 private:
  // Call where a read met the end of the file.
  void CheckEnd() {
    const int64_t now = file_->size();
    const bool passed = now >= 0 && now < offset_;
    if (offset_ >= size_ && !passed) return;
    problem_ = Format(
        "the file had {} bytes when it was opened, and now ends at byte {}: it was truncated "
        "while it was read",
        std::max(size_, offset_), passed ? now : offset_);
  }

  const std::shared_ptr<InputFile> file_;
  const int64_t size_;  // when the file was opened; -1 if unknown
  int64_t offset_ = 0;
  std::string problem_;
};

class DecompressedStream final : public ByteStream {
 public:
  DecompressedStream(std::shared_ptr<InputFile> file, Compression format, size_t chunk)
      : file_(std::move(file)),
        format_(format),
        decompressor_(NewDecompressor(format)),
        packed_(Buffer::Allocate(chunk)) {}

  size_t Read(uint8_t* to, size_t room) override {
    while (problem_.empty() && !finished_) {
      if (begin_ == end_ && !waiting_ && !Refill()) break;
      if (between_ && !BeginMember()) break;
      if (begin_ == end_ && !waiting_) continue;
      Decompressor::Progress progress =
          decompressor_->Run(packed_->data() + begin_, end_ - begin_, to, room);
      const uint8_t* start = packed_->data() + begin_;
      const size_t read = end_ - begin_;
      begin_ += progress.read;
      produced_ += static_cast<int64_t>(progress.written);
      waiting_ = progress.written == room && !progress.ended;
      if (!progress.problem.empty()) {
        CompressionSeen seen = LookAt(start, read);
        problem_ =
            produced_ == 0 && members_ == 0 && seen.name != Name()
                ? OtherFile(seen)
                : Format("the {} data is damaged before byte {} of the file ({})", Name(),
                         // Not every library reports how far it got.
                         file_offset_ - static_cast<int64_t>(progress.read > 0 ? end_ - begin_ : 0),
                         progress.problem);
      }
      if (progress.ended) {
        between_ = true;
        ++members_;
      }
      if (progress.written > 0) return progress.written;
    }
    return 0;
  }
  void Seek(int64_t offset) override {
    std::vector<uint8_t> dropped(64 << 10);
    while (offset > 0) {
      size_t got = Read(dropped.data(), static_cast<size_t>(std::min<int64_t>(
                                            offset, static_cast<int64_t>(dropped.size()))));
      if (got == 0) {
        throw Error(ErrorKind::kData,
                    "the state was saved {} decompressed bytes after the end of this file: it is "
                    "not the same file",
                    offset);
      }
      offset -= static_cast<int64_t>(got);
    }
  }
  int64_t left(int64_t) override { return -1; }
  const std::string& problem() const override { return problem_; }

 private:
  std::string_view Name() const { return NameOf(format_); }

  std::string OtherFile(const CompressionSeen& seen) const {
    return Format(
        "a {} file was expected, got one that does not begin so; {}", Name(),
        seen.name.empty() ? "leave compression_type out if it is not compressed" : seen.Advice());
  }

  // Reads more compressed bytes; returns false at the end of the file.
  bool Refill() {
    begin_ = 0;
    end_ = file_->Read(file_offset_, packed_->data(), packed_->size());
    file_offset_ += static_cast<int64_t>(end_);
    if (end_ > 0) return true;
    finished_ = true;
    if (!between_ || members_ == 0) {
      problem_ = Format(
          "the file ends within its {} data, after {} bytes; it was not written to "
          "its end",
          Name(), file_offset_);
    }
    return false;
  }

  // Checks only the first byte; the decompressor checks the rest.
  bool MayBeginMember(uint8_t byte) const {
    if (format_ == Compression::kGzip) return byte == 0x1f;
    return format_ == Compression::kZstd && (byte == 0x28 || (byte & 0xf0) == 0x50);
  }

  // A member is followed by another one or by padding. Returns false for anything else.
  bool BeginMember() {
    const bool padded = format_ != Compression::kZstd;
    while (padded && begin_ < end_ && packed_->data()[begin_] == 0) ++begin_;
    if (begin_ == end_) return true;
    between_ = false;
    if (MayBeginMember(packed_->data()[begin_])) {
      decompressor_->Reset();
      return true;
    }
    problem_ = Format("something follows the end of the {} data, at byte {} of the file", Name(),
                      file_offset_ - static_cast<int64_t>(end_ - begin_));
    return false;
  }

  const std::shared_ptr<InputFile> file_;
  const Compression format_;
  const std::unique_ptr<Decompressor> decompressor_;
  const BufferRef packed_;  // aligned, because reads into unaligned memory can be slow (file.cc)
  size_t begin_ = 0;        // start of the bytes not decompressed yet
  size_t end_ = 0;
  int64_t file_offset_ = 0;  // of end_
  int64_t produced_ = 0;
  int64_t members_ = 0;   // completed
  bool waiting_ = false;  // the decompressor may hold output that needs no more input
  bool between_ = false;  // a member has ended and the next has not started
  bool finished_ = false;
  std::string problem_;
};

}  // namespace

std::unique_ptr<ByteStream> OpenStream(std::shared_ptr<InputFile> file, int64_t size,
                                       Compression compression, size_t chunk) {
  if (compression == Compression::kNone) {
    return std::make_unique<PlainStream>(std::move(file), size);
  }
  return std::make_unique<DecompressedStream>(std::move(file), compression,
                                              std::max<size_t>(chunk, 4096));
}

}  // namespace penstock
