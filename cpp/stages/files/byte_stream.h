// The source of a window's bytes: a file, unchanged or decompressed.
#pragma once

#include <memory>
#include <string>

#include "storage/compression.h"
#include "storage/file.h"

namespace penstock {

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Reads up to `room` bytes; returns 0 at the end. Throws an Error that names the file.
  virtual size_t Read(uint8_t* to, size_t room) = 0;
  // See InputFile::Lend. The next Read continues after these bytes.
  virtual LentBytes Lend(int64_t offset, size_t size) {
    (void)offset, (void)size;
    return {};
  }
  // Only before the first Read; in an uncompressed file (left() >= 0) at any time. An uncompressed
  // file may be shorter: the next Read then meets its end.
  virtual void Seek(int64_t offset) = 0;
  // The number of bytes from `offset` to the end; -1 if unknown.
  virtual int64_t left(int64_t offset) = 0;
  // Why the end is unexpected; empty if it is not.
  virtual const std::string& problem() const = 0;
};

// Several streams may share an uncompressed file, each in a thread of its own. `size`: of the file
// when it was opened, -1 if unknown; an earlier end of an uncompressed file is a problem.
std::unique_ptr<ByteStream> OpenStream(std::shared_ptr<InputFile> file, int64_t size,
                                       Compression compression, size_t chunk);

}  // namespace penstock
