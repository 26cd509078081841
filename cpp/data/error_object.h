// What is known of an error that is a matter of the foreign runtime.
#pragma once

#include "data/error.h"
#include "data/tensor.h"

namespace penstock {

// A scalar leaf: the exception that the user would see, with its notes. Only on a thread that may
// call the foreign runtime.
using ErrorObjectMaker = Tensor (*)(const Error& error);
// Whether it is one that no stage may leave out: a KeyboardInterrupt, a SystemExit. On any thread.
using ProgramEndTest = bool (*)(const Error& error);

// Set once, by the folder that knows the runtime.
inline ErrorObjectMaker g_error_object = nullptr;
inline ProgramEndTest g_ends_program = nullptr;

}  // namespace penstock
