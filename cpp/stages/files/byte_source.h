// The bytes of a file, decompressed if need be, through a window that grows and moves on.
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
  // `chunk`: bytes of one read.
  ByteSource(std::unique_ptr<ByteStream> stream, size_t chunk);

  // Before the first Fill: slow reads are noted, as those of `what`.
  void Time(SlowLog& slow, std::string what) {
    slow_ = &slow;
    what_ = std::move(what);
  }

  // Grows the window to `need` bytes, fewer only at the end of the file. Memory of the window that
  // other owners hold stays as it is, and new memory is begun.
  void Fill(size_t need);
  void Skip(size_t size);
  // Skips any number of bytes that the file has. What lies between the window and a far target is
  // not read, and reads at the target are small until several have followed one another.
  void Jump(size_t size);
  // Before the first Fill.
  void Seek(int64_t offset);

  const ByteWindow& window() const { return window_; }
  int64_t left() { return stream_->left(window_.offset); }
  const std::string& problem() const { return stream_->problem(); }
  // The memory that the window lies in, and where.
  const BufferRef& buffer() const { return buffer_; }
  size_t position() const { return begin_; }

 private:
  void MakeRoom(size_t need);
  size_t Step(size_t need);
  bool Borrow(size_t step);
  void FillOnce(size_t need);

  std::unique_ptr<ByteStream> stream_;
  SlowLog* slow_ = nullptr;  // null: none is slow
  std::string what_;
  const size_t chunk_;
  BufferRef buffer_;
  size_t begin_ = 0;  // of the window in the buffer
  ByteWindow window_;
  bool borrowed_ = false;  // the buffer is memory of the file
  bool lends_ = false;     // the file has memory to lend
  size_t at_once_ = 0;     // most bytes that one read takes beyond what is needed, after a jump
};

}  // namespace penstock
