// What a worker process does: it calls functions for the process that has started it.
#pragma once

#include <functional>
#include <string_view>

#include "compute/function.h"

namespace penstock {

// Makes the function of what MakeProcessFunction was given; it takes over the file, -1 for none.
using FunctionLoader = std::function<FunctionPtr(std::string_view payload, int file)>;

// Calls until the other process closes the channel. An Error that `load` throws is the result of
// each row. The files are those of Worker::Start.
void Serve(const FunctionLoader& load);

}  // namespace penstock
