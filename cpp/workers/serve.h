// The main loop of a worker process: it calls functions for the process that started it.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "compute/function.h"
#include "workers/process_stream.h"

namespace penstock {

// Elements that this process makes sequentially for the other process.
class ServedElements {
 public:
  virtual ~ServedElements() = default;
  // The next elements, at most `most`, or an error, or the end.
  virtual Block Next(int64_t most) = 0;
};

struct ServeHooks {
  // Takes over the file; -1: no file.
  std::function<FunctionPtr(std::string_view payload, int file)> load;
  // Stores the number of the current element in `progress`.
  std::function<std::unique_ptr<ServedElements>(const StreamOrder& order,
                                                std::atomic<int64_t>* progress)>
      open;
};

// Makes the allocator keep freed memory, up to a limit: rows of similar sizes recur, and the system
// would clear their pages each time.
void KeepFreedMemory();

// Ends this process when the other end of the socket is closed, whatever the process is doing.
void EndWithParent(int socket);

// Serves calls until the other process closes the channel. `load` creates a function from the
// payload of MakeProcessFunction, `open` creates elements from the order of a ProcessStream. An
// Error that they throw becomes the result of each row. Uses the files that Worker::Start passes.
void Serve(const ServeHooks& hooks);

}  // namespace penstock
