// A function that is called in worker processes.
#pragma once

#include <memory>
#include <string>

#include "compute/function.h"
#include "data/buffer.h"

namespace penstock {

// A file that is closed with its last reference.
using KeptFile = std::shared_ptr<const int>;
// Duplicates the descriptor `file`; null for -1. Throws an Error if the system refuses.
KeptFile KeepFile(int file);

// `payload` and `file` (may be null): the source from which a worker creates the function
// (serve.h). `timeout_ns`: how long one row may take before its worker is killed; 0: no limit.
FunctionPtr MakeProcessFunction(std::string payload, KeptFile file, int64_t timeout_ns);

// Memory for batches that workers can write to. Throws an Error if it cannot be allocated.
BufferRef AllocateForWorkers(size_t size);

}  // namespace penstock
