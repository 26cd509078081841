// Record files, written once for all formats: opening, positions, errors with their file.
#pragma once

#include "engine/registry.h"
#include "storage/compression.h"
#include "storage/record_reader.h"

namespace penstock {

// How to notice that a file should have been decompressed.
enum class Beginning : uint8_t {
  kText,     // no text begins as compressed files do
  kChecked,  // its first record is none
  kAnyBytes  // the name says so, too
};

struct FileFormat {
  std::string stage;  // the name in errors; another one is the argument `shown_as`
  Beginning beginning;
  RecordReaderMaker maker;
  bool named_compression = false;  // without a compression_type, the name of a file says it
  // A record ends at a '\n', wherever that stands: threads can begin anywhere in a file.
  bool lines = false;
};

// The records of one file, as a dataset that also says how they are found.
class RecordFile : public Dataset {
 public:
  virtual const std::shared_ptr<const std::string>& path() const = 0;
  virtual const FileFormat& format() const = 0;
  virtual std::unique_ptr<RecordReader> Reader() const = 0;
  virtual Compression compression() const = 0;
  virtual size_t max_record() const = 0;
  // Whether each comes with the name of the file before it.
  virtual bool with_name() const = 0;
  // The format and those of its arguments on which it depends where records begin.
  virtual std::string Boundaries() const = 0;
  // The error at record number `record` of the file.
  Error Fault(int64_t record, std::string_view problem) const {
    return Error(ErrorKind::kData, "{}: record {}: {}", format().stage, record, problem);
  }
};

// A dataset of the records of the file `filename`, which is decompressed as `compression_type` and
// read `buffer_size` bytes at a time. `with_filename`: each comes as a pair of that name and
// itself. With `num_parallel_calls`, so many threads read stretches of a file of lines that is
// long, on this machine and not compressed; nothing else changes. Nothing is read after a record of
// more than `max_record_bytes` (kMaxRecordBytes), so that a small file cannot take all memory. The
// format's own arguments are checked.
std::shared_ptr<RecordFile> MakeFileDataset(const FileFormat& format, const Args& args);
// What a stage that reads such files says of itself.
StageTraits TraitsOf(const FileFormat& format);

// A function that opens a file name as the dataset `kind` with these arguments, which are checked.
FunctionPtr MakeReader(const std::string& kind, const Args& args);

}  // namespace penstock
