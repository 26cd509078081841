// A function that worker processes call.
#pragma once

#include <string>

#include "compute/function.h"
#include "data/buffer.h"

namespace penstock {

// `payload`: what a worker makes the function of (serve.h). `timeout_ns`: how long one row may take
// before its worker is ended; 0: any time.
FunctionPtr MakeProcessFunction(std::string payload, int64_t timeout_ns);

// Memory of batches that workers can write to. Throws an Error where there are none.
BufferRef AllocateForWorkers(size_t size);

}  // namespace penstock
