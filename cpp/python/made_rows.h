// Consecutive elements made by a worker of `distribute`, on their way to the consumer.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "data/block.h"
#include "engine/elastic.h"
#include "python/bind.h"

namespace penstock {

class Session;

// Rows in the engine's own form, which preserves everything about an element, including its origin
// and the key of its random draws.
struct MadeRows {
  std::vector<Block> blocks;  // the last one may hold an error, or the end
  // Positions of the pipeline, each with the number of steps before it.
  std::vector<std::pair<int64_t, SavedPosition>> marks;
  bool astray = false;  // the error belongs to the steps that were to be skipped

  int64_t steps() const;
  bool failed() const { return !blocks.empty() && blocks.back().error.has_value(); }
  bool ended() const { return !blocks.empty() && blocks.back().end; }
  size_t footprint() const;
};

// Skips `pass` steps of a run and makes `count` more, or as many as there are before the first
// error. `sound`: none of the skipped steps may be an error.
MadeRows MakeRows(Session& session, int64_t pass, bool sound, int64_t count);

// Null, with no error set, for any other object.
std::shared_ptr<MadeRows> MadeRowsOfPython(PyObject* object);

void BindMadeRows(pybind11::module_& module);

}  // namespace penstock
