// What a file format provides: it finds records among bytes. Files, compression and positions are
// written once (stages/files/file_dataset.cc).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace penstock {

// What one record, line or chunk may expand to unless `max_record_bytes` says otherwise: a small
// file cannot take all memory.
constexpr int64_t kMaxRecordBytes = int64_t{256} << 20;

// Consecutive bytes of a file, from where the next record begins.
struct ByteWindow {
  const uint8_t* data = nullptr;
  size_t size = 0;
  int64_t offset = 0;  // of `data` in the file, in decompressed bytes
  bool ended = false;  // the file has no more than these
};

struct Found {
  enum Kind : uint8_t {
    kRecord,  // `size` bytes at `begin`; what follows is at `next`
    kSkip,    // no record, but one may be at `next`
    kMore,    // fewer than `need` bytes do not suffice; the record has at least `size`
    kEnd,     // there is none after these bytes
    kBad,     // a record with a `problem`; what follows is at `next`
    kLost,    // a `problem`, after which nothing can be found
  };
  Kind kind = kEnd;
  size_t begin = 0;
  size_t size = 0;
  size_t next = 0;
  size_t need = 0;
  bool exact = false;  // a record was begun that is incomplete without `need` bytes
  size_t header = 0;   // bytes before the record that are the header of the file
  std::string problem{};
};

// A record in a window, and where the next one begins.
struct RecordSpan {
  size_t begin;
  size_t size;
  size_t next;
  size_t header = 0;  // as in Found
};

// How far a record reaches, as far as that is known before it is read.
struct Extent {
  size_t next = 0;   // bytes to where the next record begins; 0: only reading finds it
  size_t whole = 0;  // bytes that there must be for the record to be complete
};

// Of files whose records are all of one size: bytes before, of and after them.
struct FixedLayout {
  int64_t header, record, footer;
};

// The size of the byte order mark at the beginning of a text file: 3 or 0 bytes. UTF-8 needs none,
// but Excel and other Windows programs write it. It is not part of any record.
inline size_t ByteOrderMark(const ByteWindow& window) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (window.offset != 0 || window.size < kMark.size()) return 0;
  return std::memcmp(window.data, kMark.data(), kMark.size()) == 0 ? kMark.size() : 0;
}
// Whether the bytes so far may be the beginning of a byte order mark.
inline bool MayBeginWithMark(const ByteWindow& window) {
  constexpr uint8_t kMark[] = {0xEF, 0xBB};
  return window.offset == 0 && !window.ended && window.size < 3 &&
         std::equal(window.data, window.data + window.size, kMark);
}

class RecordReader {
 public:
  virtual ~RecordReader() = default;
  // The record at the beginning of the window. After kMore the window has grown, or has ended.
  virtual Found Find(const ByteWindow& window) = 0;
  // Whole records from the beginning of the window on, as many as there are and fit into `spans`;
  // returns how many. Find then says what stopped it.
  virtual size_t FindRun(const ByteWindow& window, std::span<RecordSpan> spans) = 0;
  // Bytes of the window that FindExtent needs; none where only reading finds the extent.
  virtual std::optional<size_t> extent_bytes() const { return std::nullopt; }
  // Of the record at the beginning of the window.
  virtual Extent FindExtent(const ByteWindow&) const { return {}; }
  // After kEnd: what makes it doubtful that the file is complete; "": nothing.
  virtual std::string_view doubt() const { return {}; }
  // Where records are, if that is known without reading any.
  virtual std::optional<FixedLayout> layout() const { return std::nullopt; }
};

// FindRun over the Find of a format, which is not called through a pointer.
template <typename Format>
class FormatReader : public RecordReader {
 public:
  size_t FindRun(const ByteWindow& window, std::span<RecordSpan> spans) override {
    auto& format = static_cast<Format&>(*this);
    ByteWindow rest = window;
    size_t count = 0;
    for (; count < spans.size(); ++count) {
      Found found = format.Format::Find(rest);
      if (found.kind != Found::kRecord) break;
      size_t at = window.size - rest.size;
      spans[count] = {at + found.begin, found.size, at + found.next, found.header};
      rest.data += found.next;
      rest.size -= found.next;
      rest.offset += static_cast<int64_t>(found.next);
    }
    return count;
  }
};

using RecordReaderMaker = std::unique_ptr<RecordReader> (*)(const class Args& args);

}  // namespace penstock
