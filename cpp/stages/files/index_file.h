// Writes an index of where the records of a file begin.
#pragma once

#include <functional>
#include <string>

#include "compute/function.h"
#include "runtime/cancel.h"
#include "storage/record_index.h"

namespace penstock {

// The path of a file's index: next to the file, or in `folder`.
std::string IndexPathOf(const std::string& file, const std::string& folder);

// Writes the index of a file to the new file `target`. `reader` maps the file name to its records.
// Reads every record: a damaged one is counted, as when the file is iterated. `progress` is called
// now and then with the number of bytes read; cancelling `cancel` stops it. Throws the errors of
// opening the file.
IndexedFile WriteRecordIndex(const FunctionPtr& reader, const std::string& file,
                             const std::string& target, const CancelToken& cancel,
                             const std::function<void(int64_t)>& progress);

}  // namespace penstock
