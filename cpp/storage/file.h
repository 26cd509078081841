// Files as readers see them: on this machine, or remote.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "data/buffer.h"
#include "runtime/budget.h"
#include "runtime/cancel.h"

namespace penstock {

// Bytes of a file that shall come to a place in memory.
struct ByteRange {
  int64_t offset;
  uint8_t* to;
  size_t size;
  size_t ready = 0;  // bytes of it that are there
};

// Bytes in memory that the file holds anyway, and that does not change any more.
struct LentBytes {
  BufferRef memory;  // null: none
  size_t position = 0;
  size_t size = 0;
};

class InputFile {
 public:
  virtual ~InputFile() = default;
  // Up to `size` bytes from `offset`; 0 only at the end of the file. Throws an Error that names the
  // file, or a transient one. No lock of a foreign runtime may be held by the caller. A pipe can
  // only be read on from where the last read ended; a regular file by any number of threads at a
  // time that have no BlockingHook.
  virtual size_t Read(int64_t offset, void* data, size_t size) = 0;
  // Up to `size` bytes from `offset` without a copy, as many of them as lie in one stretch of
  // memory, once they are there; none where Read is the way to have them: on this machine, at the
  // end, and before what was read last.
  virtual LentBytes Lend(int64_t offset, size_t size) {
    (void)offset, (void)size;
    return {};
  }
  // Reads the ranges (best in ascending order) that are available without waiting, and requests the
  // others for later Reads. So the waits for many ranges of many files overlap.
  virtual void ReadReady(std::span<ByteRange> ranges) { (void)ranges; }
  // Requests the first bytes to be read, without waiting. Returns as Iterator::RequestFirst does.
  virtual int64_t RequestFirst() { return 0; }
  // Bytes now, or -1 when unknown (a pipe, a device).
  virtual int64_t size() = 0;
  // A text that is another one when the file has been written again; "" when it is not known.
  virtual std::string version() { return ""; }
};

// How many files a stage may keep open that could open them again: 256, or a quarter of what this
// process may have open if that is less.
size_t MostKeptOpen();

// On whose behalf a file is read.
struct Reading {
  const CancelToken* cancel = nullptr;  // reads end early when it is cancelled; null: never
  Budget* budget = nullptr;             // of what a remote file holds; outlives the file
  bool throughout = true;               // up to its end, and not here and there
  int64_t begin = 0;                    // the byte that is read first
};

// While it lives, what this thread reads without saying for whom is read on this behalf.
class ReadingFor {
 public:
  explicit ReadingFor(const Reading& reading) : former_(current_) { current_ = reading; }
  ~ReadingFor() { current_ = former_; }
  ReadingFor(const ReadingFor&) = delete;
  ReadingFor& operator=(const ReadingFor&) = delete;
  static const Reading& current() { return current_; }

 private:
  const Reading former_;
  static thread_local Reading current_;
};

// Opens a file under a name as users give it.
std::unique_ptr<InputFile> OpenFile(const std::string& path, const Reading& reading = {});
// A file of this machine: large reads with readahead advice.
std::unique_ptr<InputFile> OpenLocalFile(const std::string& path, const Reading& reading);

// A regular file under this name itself: no link, pipe or device. For names that come from a file;
// read here and there.
std::unique_ptr<InputFile> OpenPlainFile(const std::string& path);
std::unique_ptr<InputFile> OpenPlainLocalFile(const std::string& path);

// Reads exactly `size` bytes; false if the file ends earlier.
bool ReadFully(InputFile& file, int64_t offset, void* data, size_t size);

// A file over memory, which it lends to readers.
std::unique_ptr<InputFile> MemoryFile(BufferRef memory, size_t size);

// The whole file, `size` bytes at the beginning of the buffer; throws as OpenFile does.
BufferRef ReadWholeFile(const std::string& path, size_t* size);
BufferRef ReadWholeFile(InputFile& file, size_t* size);

}  // namespace penstock
