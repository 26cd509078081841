// What a worker process does: it calls functions for the process that has started it.
#pragma once

#include <functional>
#include <string_view>

#include "compute/function.h"

namespace penstock {

// Memory that a function of this process has freed stays its own, up to some: rows of a size come
// again and again, and the system would clear their pages each time.
void KeepFreedMemory();

// Ends this process when the other end of the socket has closed, whatever is being done.
void EndWithParent(int socket);

// Calls until the other process closes the channel. `load` makes the function of what
// MakeProcessFunction was given; an Error that it throws is the result of each row. The files are
// those of Worker::Start.
void Serve(const std::function<FunctionPtr(std::string_view payload)>& load);

}  // namespace penstock
