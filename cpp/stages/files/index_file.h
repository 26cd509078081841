// Writing down where the records of a file begin.
#pragma once

#include <functional>
#include <string>

#include "compute/function.h"
#include "runtime/cancel.h"
#include "storage/record_index.h"

namespace penstock {

// Where the index of a file is: beside it, or in a folder.
std::string IndexPathOf(const std::string& file, const std::string& folder);

// Writes the index of a file to the new file `target`. `reader` opens the file's name as its
// records. Every record is read: a damaged one is counted, as it is when the file is iterated.
// `progress` is called now and then with the bytes read so far; cancelling `cancel` ends it. Throws
// what opening the file does.
IndexedFile WriteRecordIndex(const FunctionPtr& reader, const std::string& file,
                             const std::string& target, const CancelToken& cancel,
                             const std::function<void(int64_t)>& progress);

}  // namespace penstock
