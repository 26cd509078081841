// The interface of a file format, which finds records in bytes. Files, compression and positions
// are implemented once, for all formats (stages/files/file_dataset.cc).
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

// The default for `max_record_bytes`, the maximum decompressed size of a record, line or chunk. It
// prevents a small file from exhausting memory.
constexpr int64_t kMaxRecordBytes = int64_t{256} << 20;

// Consecutive bytes of a file, starting where the next record begins.
struct ByteWindow {
  const uint8_t* data = nullptr;
  size_t size = 0;
  int64_t offset = 0;  // of `data` in the decompressed file
  bool ended = false;  // the file ends with these bytes
};

struct Found {
  enum Kind : uint8_t {
    kRecord,  // `size` bytes at `begin`; the rest of the file is at `next`
    kSkip,    // no record, but there may be one at `next`
    kMore,    // `need` bytes are required; the record has at least `size`
    kEnd,     // no further record
    kBad,     // a record with a `problem`; the rest of the file is at `next`
    kLost,    // a `problem` after which no record can be found
  };
  Kind kind = kEnd;
  size_t begin = 0;
  size_t size = 0;
  size_t next = 0;
  size_t need = 0;
  bool exact = false;  // a record has begun, and is incomplete with fewer than `need` bytes
  size_t header = 0;   // bytes before the record that belong to the file's header
  std::string problem{};
};

// A record in a window, and where the next one begins.
struct RecordSpan {
  size_t begin;
  size_t size;
  size_t next;
  size_t header = 0;  // as in Found
};

// The size of a record, as far as it is known before the record is read.
struct Extent {
  size_t next = 0;   // bytes to the beginning of the next record; 0: unknown without reading
  size_t whole = 0;  // bytes required for the record to be complete
};

// For files whose records have equal size: bytes before, in and after each record.
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
  // Finds the record at the beginning of the window. After kMore, the next window is larger or
  // ended.
  virtual Found Find(const ByteWindow& window) = 0;
  // Finds consecutive records from the beginning of the window, as many as are complete and fit
  // into `spans`, and returns their number. Find then returns why it stopped.
  virtual size_t FindRun(const ByteWindow& window, std::span<RecordSpan> spans) = 0;
  // Bytes of the window that FindExtent needs; nullopt if the extent is unknown without reading.
  virtual std::optional<size_t> extent_bytes() const { return std::nullopt; }
  // The extent of the record at the beginning of the window.
  virtual Extent FindExtent(const ByteWindow&) const { return {}; }
  // After kEnd: why the file may be incomplete; "": no doubt.
  virtual std::string_view doubt() const { return {}; }
  // The layout of the records, if it is known without reading any.
  virtual std::optional<FixedLayout> layout() const { return std::nullopt; }
};

// Implements FindRun with the Find of a format, without virtual calls.
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
