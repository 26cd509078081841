// Record files, written once for all formats: opening, positions, errors with their file.
#pragma once

#include "pipeline/record_reader.h"
#include "pipeline/registry.h"

namespace penstock {

struct FileFormat {
  const char* stage;  // what errors call it
  bool any_bytes;     // a file of this format may begin with any bytes
  RecordReaderMaker maker;
};

// A dataset of the records of the file `filename`, which is decompressed as `compression_type` and
// read `buffer_size` bytes at a time. The format's own arguments are checked.
std::shared_ptr<Dataset> MakeFileDataset(const FileFormat& format, const Args& args);

// A function that opens a file name as the dataset `kind` with these arguments, which are checked.
FunctionPtr MakeReader(const std::string& kind, const Args& args);

}  // namespace penstock
