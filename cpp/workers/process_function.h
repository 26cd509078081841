// A function that worker processes call.
#pragma once

#include <memory>
#include <string>

#include "compute/function.h"
#include "data/buffer.h"

namespace penstock {

// A file that is closed with its last reference.
using KeptFile = std::shared_ptr<const int>;
// A further descriptor of `file`; null for -1. Throws an Error when the system refuses one.
KeptFile KeepFile(int file);

// `payload`, and `file` (may be null): what a worker makes the function of (serve.h). `timeout_ns`:
// how long one row may take before its worker is ended; 0: any time.
FunctionPtr MakeProcessFunction(std::string payload, KeptFile file, int64_t timeout_ns);

// Memory of batches that workers can write to. Throws an Error where there are none.
BufferRef AllocateForWorkers(size_t size);

}  // namespace penstock
