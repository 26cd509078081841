// Child processes that a user function forked in an engine thread. Such a child has neither the
// threads and locks of the pipeline nor a caller that could receive the function's result.
#pragma once

namespace penstock {

// Ends the process where a function that forked returns to the engine, or raises. The exit code is
// the code of a SystemExit, 1 after any other exception, which is printed, and 0 otherwise. Needs
// the GIL. Runs no atexit handlers, like the children of multiprocessing: they are the parent's.
[[noreturn]] void EndForkChild();

}  // namespace penstock
