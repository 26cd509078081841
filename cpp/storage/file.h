// Files as readers see them: local or remote.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "data/buffer.h"
#include "runtime/budget.h"
#include "runtime/cancel.h"

namespace penstock {

// Bytes of a file, and where to put them in memory.
struct ByteRange {
  int64_t offset;
  uint8_t* to;
  size_t size;
  size_t ready = 0;  // bytes of it that have been read
};

// Bytes that the file keeps in memory anyway, and that no longer change.
struct LentBytes {
  BufferRef memory;  // null: no bytes
  size_t position = 0;
  size_t size = 0;
};

class InputFile {
 public:
  virtual ~InputFile() = default;
  // Reads up to `size` bytes from `offset`; 0 only at the end of the file. Throws an Error that
  // names the file, or a transient one. The caller must not hold the lock of a foreign runtime. A
  // pipe can be read only from where the last read ended. A regular file may be read concurrently
  // by any number of threads without a BlockingHook.
  virtual size_t Read(int64_t offset, void* data, size_t size) = 0;
  // Lends up to `size` bytes from `offset` without a copy, as many as are contiguous in memory, and
  // waits until they are there. Empty if the caller must use Read: for local files, at the end, and
  // before the position of the last read.
  virtual LentBytes Lend(int64_t offset, size_t size) {
    (void)offset, (void)size;
    return {};
  }
  // Reads the ranges (best in ascending order) that are available without waiting, and requests the
  // others for later Reads, so that waits for many ranges of many files overlap.
  virtual void ReadReady(std::span<ByteRange> ranges) { (void)ranges; }
  // Requests the first bytes to be read, without waiting. Returns as Iterator::RequestFirst does.
  virtual int64_t RequestFirst() { return 0; }
  // Lets ReadReady copy from the system's page cache, whose pages then count as used by this
  // process. Call before the first ReadReady.
  virtual void Map() {}
  // The current size in bytes, or -1 if unknown (a pipe, a device).
  virtual int64_t size() = 0;
  // A text that changes when the file is rewritten; "" if unknown.
  virtual std::string version() { return ""; }
};

// How many files a stage may keep open if it can reopen them: 256, or a quarter of the process's
// limit if that is less.
size_t MostKeptOpen();

// The context of a read.
struct Reading {
  const CancelToken* cancel = nullptr;  // ends reads early when cancelled; null: never
  Budget* budget = nullptr;             // charged for a remote file's bytes; outlives the file
  bool throughout = true;               // the whole file is read sequentially; false: random access
  int64_t begin = 0;                    // the byte that is read first
};

// For its scope, the context of all reads of this thread that do not specify one.
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

// Opens a file by the path or URL that a user passed.
std::unique_ptr<InputFile> OpenFile(const std::string& path, const Reading& reading = {});
// A local file: large reads with readahead advice.
std::unique_ptr<InputFile> OpenLocalFile(const std::string& path, const Reading& reading);

// A regular file with exactly this path: not a link, pipe or device. For names read from another
// file; for random access.
std::unique_ptr<InputFile> OpenPlainFile(const std::string& path);
std::unique_ptr<InputFile> OpenPlainLocalFile(const std::string& path);

// Reads exactly `size` bytes; false if the file ends earlier.
bool ReadFully(InputFile& file, int64_t offset, void* data, size_t size);

// A file in memory, which it lends to readers.
std::unique_ptr<InputFile> MemoryFile(BufferRef memory, size_t size);

// The whole file: `size` bytes at the beginning of the buffer. Throws as OpenFile does.
BufferRef ReadWholeFile(const std::string& path, size_t* size);
BufferRef ReadWholeFile(InputFile& file, size_t* size);

}  // namespace penstock
