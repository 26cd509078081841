// The bytes of a file, decompressed if needed, through a growing and moving window.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "data/buffer.h"
#include "runtime/slow_log.h"
#include "stages/files/byte_stream.h"
#include "storage/record_reader.h"

namespace penstock {

class ByteSource {
 public:
  // `chunk`: bytes per read.
  ByteSource(std::unique_ptr<ByteStream> stream, size_t chunk);

  // Call before the first Fill. Slow reads are logged under the name `what`.
  void Time(SlowLog& slow, std::string what) {
    slow_ = &slow;
    what_ = std::move(what);
  }

  // Grows the window to `need` bytes; fewer only at the end of the file. If others own memory of
  // the window, it is not modified; new memory is allocated.
  void Fill(size_t need);
  void Skip(size_t size);
  // Skips any number of bytes within the file. Bytes between the window and a distant target are
  // not read. Reads at the target stay small until several have followed each other.
  void Jump(size_t size);
  // Only before the first Fill.
  void Seek(int64_t offset);

  const ByteWindow& window() const { return window_; }
  int64_t left() { return stream_->left(window_.offset); }
  const std::string& problem() const { return stream_->problem(); }
  // The memory that contains the window, and the window's offset in it.
  const BufferRef& buffer() const { return buffer_; }
  size_t position() const { return begin_; }

 private:
  void MakeRoom(size_t need);
  size_t Step(size_t need);
  bool Borrow(size_t step);
  void FillOnce(size_t need);

  std::unique_ptr<ByteStream> stream_;
  SlowLog* slow_ = nullptr;  // null: no reads are logged
  std::string what_;
  const size_t chunk_;
  BufferRef buffer_;
  size_t begin_ = 0;  // offset of the window in the buffer
  ByteWindow window_;
  bool borrowed_ = false;  // the buffer is the file's own memory
  bool lends_ = false;     // the file can lend its memory
  size_t at_once_ = 0;     // maximum bytes that one read adds to those needed, after a jump
};

}  // namespace penstock
