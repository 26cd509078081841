// What a file format provides; files, compression and positions are written once (file_dataset.cc).
#pragma once

#include <memory>
#include <string>

#include "element/tensor.h"

namespace penstock {

// A growing window over the bytes of one file, decompressed if need be.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Makes at least `size` bytes from the current position available, fewer only at the end of the
  // file, and returns how many there are.
  virtual size_t Fill(size_t size) = 0;
  virtual const uint8_t* data() const = 0;  // from the current position
  virtual void Skip(size_t size) = 0;       // at most what Fill returned
  virtual int64_t offset() const = 0;       // of the current position, in decompressed bytes
  virtual void Seek(int64_t offset) = 0;
  virtual const std::string& path() const = 0;
};

class RecordReader {
 public:
  virtual ~RecordReader() = default;
  // The next record; false at the end. Throws a DataError for corrupt input: the reader can then go
  // on behind it, or is at its end.
  virtual bool Read(Tensor& record) = 0;
};

using RecordReaderMaker = std::unique_ptr<RecordReader> (*)(ByteSource& bytes,
                                                            const class Args& args);

}  // namespace penstock
