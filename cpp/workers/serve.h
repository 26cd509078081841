// What a worker process does: it calls functions for the process that has started it.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "compute/function.h"
#include "workers/process_stream.h"

namespace penstock {

// Elements that this process makes one after another for the other one.
class ServedElements {
 public:
  virtual ~ServedElements() = default;
  // The next ones, `most` at most, or an error, or the end.
  virtual Block Next(int64_t most) = 0;
};

struct ServeHooks {
  // It takes over the file, -1 for none.
  std::function<FunctionPtr(std::string_view payload, int file)> load;
  // `progress` is given the number of the element that is being made.
  std::function<std::unique_ptr<ServedElements>(const StreamOrder& order,
                                                std::atomic<int64_t>* progress)>
      open;
};

// Memory that a function of this process has freed stays its own, up to some: rows of a size come
// again and again, and the system would clear their pages each time.
void KeepFreedMemory();

// Ends this process when the other end of the socket has closed, whatever is being done.
void EndWithParent(int socket);

// Calls until the other process closes the channel. `load` makes the function of what
// MakeProcessFunction was given, `open` the elements of what a ProcessStream was given; an Error
// that they throw is the result of each row. The files are those of Worker::Start.
void Serve(const ServeHooks& hooks);

}  // namespace penstock
