// Record files, written once for all formats: opening, positions, errors with their file.
#pragma once

#include "pipeline/record_reader.h"
#include "pipeline/registry.h"

namespace penstock {

// A dataset of the records of the file `filename`, which is read `buffer_size` bytes at a time.
std::shared_ptr<Dataset> MakeFileDataset(RecordReaderMaker maker, const Args& args);

// A function that opens a file name as the dataset `kind` with these arguments.
FunctionPtr MakeReader(const std::string& kind, const Args& args);

}  // namespace penstock
