// Counters and tuning moves of a run as Python sees them.
#include <pybind11/stl.h>

#include "pipeline/session.h"
#include "python/bind.h"

namespace py = pybind11;
using namespace py::literals;

namespace penstock {

py::list StatsOf(const Session* session) {
  py::list stages;
  if (!session) return stages;
  py::object name = py::none();
  if (!session->options().name.empty()) name = py::str(session->options().name);
  for (auto& s : session->stats().Snapshot()) {
    stages.append(py::dict("dataset"_a = name, "path"_a = s.path, "kind"_a = s.kind,
                           "elements"_a = s.steps, "errors"_a = s.errors,
                           "busy_seconds"_a = static_cast<double>(s.busy_ns) * 1e-9,
                           "wait_seconds"_a = static_cast<double>(s.wait_ns) * 1e-9,
                           "bytes"_a = s.bytes, "buffer_size"_a = s.buffer_size,
                           "buffer_limit"_a = s.buffer_limit, "parallelism"_a = s.parallelism));
  }
  return stages;
}

py::list MovesOf(const Session* session) {
  py::list moves;
  if (!session) return moves;
  for (auto& m : session->moves()) {
    moves.append(py::dict("seconds"_a = m.seconds, "stage"_a = m.stage, "knob"_a = m.knob,
                          "from"_a = m.from, "to"_a = m.to, "reason"_a = m.reason));
  }
  return moves;
}

}  // namespace penstock
