// Record files for all formats: opening, positions, and errors that name the file.
#pragma once

#include "engine/registry.h"
#include "storage/compression.h"
#include "storage/record_reader.h"

namespace penstock {

// How to detect that a file should have been decompressed.
enum class Beginning : uint8_t {
  kText,     // text never begins like a compressed file
  kChecked,  // the first record is invalid
  kAnyBytes  // only if the file name also indicates it
};

struct FileFormat {
  std::string stage;  // the name in errors, unless the argument `shown_as` sets another
  Beginning beginning;
  RecordReaderMaker maker;
  bool named_compression = false;  // without compression_type, the file name determines it
  // Every '\n' ends a record, so threads can begin anywhere in a file.
  bool lines = false;
};

// A dataset of the records of one file, with what is needed to find them.
class RecordFile : public Dataset {
 public:
  virtual const std::shared_ptr<const std::string>& path() const = 0;
  virtual const FileFormat& format() const = 0;
  virtual std::unique_ptr<RecordReader> Reader() const = 0;
  virtual Compression compression() const = 0;
  virtual size_t max_record() const = 0;
  // Whether each record is paired with the name of its file.
  virtual bool with_name() const = 0;
  // The format, and those of its arguments that determine where records begin.
  virtual std::string Boundaries() const = 0;
  // The error for record number `record` of the file.
  Error Fault(int64_t record, std::string_view problem) const {
    return Error(ErrorKind::kData, "{}: record {}: {}", format().stage, record, problem);
  }
};

// Creates a dataset of the records of the file `filename`, decompressed according to
// `compression_type` and read in chunks of `buffer_size` bytes. `with_filename`: each element is a
// pair of that name and the record. `num_parallel_calls`: this many threads read stretches of the
// file if it consists of lines and is long, local and uncompressed; nothing else changes. Reading
// stops after a record longer than `max_record_bytes` (default kMaxRecordBytes), so that a small
// file cannot use up all memory. Also checks the format's own arguments.
std::shared_ptr<RecordFile> MakeFileDataset(const FileFormat& format, const Args& args);
// The traits of a stage that reads such files.
StageTraits TraitsOf(const FileFormat& format);

// Returns a function that opens a file name as a dataset of this kind with these arguments. Checks
// the arguments.
FunctionPtr MakeReader(const std::string& kind, const Args& args);

}  // namespace penstock
