// Where the bytes of a window come from: a file as it is, or decompressed.
#pragma once

#include <memory>
#include <string>

#include "storage/compression.h"
#include "storage/file.h"

namespace penstock {

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Up to `room` bytes; 0 at the end. Throws an Error that names the file.
  virtual size_t Read(uint8_t* to, size_t room) = 0;
  // As InputFile::Lend; the next Read goes on after these bytes.
  virtual LentBytes Lend(int64_t offset, size_t size) {
    (void)offset, (void)size;
    return {};
  }
  // Before the first Read; in a file that is not compressed (left() >= 0) at any time.
  virtual void Seek(int64_t offset) = 0;
  // Bytes from `offset` to the end, -1 when unknown.
  virtual int64_t left(int64_t offset) = 0;
  // Why the end is not the one it should be; empty when it is.
  virtual const std::string& problem() const = 0;
};

std::unique_ptr<ByteStream> OpenStream(std::unique_ptr<InputFile> file, Compression compression,
                                       size_t chunk);

}  // namespace penstock
