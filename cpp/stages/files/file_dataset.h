// Record files, written once for all formats: opening, positions, errors with their file.
#pragma once

#include "engine/registry.h"
#include "storage/record_reader.h"

namespace penstock {

// How to notice that a file should have been decompressed.
enum class Beginning : uint8_t {
  kText,     // no text begins as compressed files do
  kChecked,  // its first record is none
  kAnyBytes  // the name says so, too
};

struct FileFormat {
  const char* stage;  // the stage's name in errors
  Beginning beginning;
  RecordReaderMaker maker;
  bool named_compression = false;  // without a compression_type, the name of a file says it
};

// A dataset of the records of the file `filename`, which is decompressed as `compression_type` and
// read `buffer_size` bytes at a time. `with_filename`: each comes as a pair of that name and
// itself. Nothing is read after a record of more than `max_record_bytes` (kMaxRecordBytes), so that
// a small file cannot take all memory. The format's own arguments are checked.
std::shared_ptr<Dataset> MakeFileDataset(const FileFormat& format, const Args& args);
// What a stage that reads such files says of itself.
StageTraits TraitsOf(const FileFormat& format);

// A function that opens a file name as the dataset `kind` with these arguments, which are checked.
FunctionPtr MakeReader(const std::string& kind, const Args& args);

}  // namespace penstock
