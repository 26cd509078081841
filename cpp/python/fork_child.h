// A child that a function of the user has forked in a thread of the engine: it has neither the
// threads and locks of the pipeline, nor a caller that could take the function's result.
#pragma once

namespace penstock {

// Ends the process: where a function that has forked comes back to the engine, or raises. The code
// is that of a SystemExit, 1 after another exception, which is shown, and 0 after none. With the
// GIL. No handler of atexit runs, as in children of multiprocessing: those were the parent's.
[[noreturn]] void EndForkChild();

}  // namespace penstock
