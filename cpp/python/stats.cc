// Counters and tuning moves of a run as Python sees them.
#include <pybind11/stl.h>

#include "engine/session.h"
#include "python/bind.h"
#include "python/types.h"

namespace py = pybind11;
using namespace py::literals;

namespace penstock {
namespace {

py::object OrNone(const std::string& text) {
  if (text.empty()) return py::none();
  return py::reinterpret_steal<py::object>(StringToPython(DType::Of(TypeCode::kText), text));
}

py::list WorkersOf(const StageSnapshot& stage) {
  py::list workers;
  for (const WorkerReport& each : stage.workers) {
    workers.append(
        py::dict("pid"_a = each.pid, "calls"_a = each.calls, "functions"_a = each.functions,
                 "resident_bytes"_a = each.resident_bytes, "shared_bytes"_a = each.shared_bytes));
  }
  return workers;
}

// An end of a move; executors have names.
py::object EndOf(const TuningMove& move, int64_t end) {
  if (move.knob != "executor") return py::int_(end);
  return py::str(move.ValueText(end));
}

}  // namespace

py::list StatsOf(const Session* session) {
  py::list stages;
  if (!session) return stages;
  py::object dataset = OrNone(session->options().name);
  for (auto& s : session->stats().Snapshot()) {
    stages.append(py::dict("dataset"_a = dataset, "path"_a = s.path, "kind"_a = s.label.kind,
                           "name"_a = OrNone(s.label.name), "function"_a = OrNone(s.label.function),
                           "elements"_a = s.steps, "errors"_a = s.errors,
                           "busy_seconds"_a = static_cast<double>(s.busy_ns) * 1e-9,
                           "wait_seconds"_a = static_cast<double>(s.wait_ns) * 1e-9,
                           "buffer_size"_a = s.buffer_size, "buffer_limit"_a = s.buffer_limit,
                           "parallelism"_a = s.parallelism, "retries"_a = s.retries,
                           "workers"_a = WorkersOf(s)));
  }
  return stages;
}

py::list MovesOf(const Session* session) {
  py::list moves;
  if (!session) return moves;
  for (auto& m : session->moves()) {
    moves.append(py::dict("seconds"_a = m.seconds, "stage"_a = m.stage.kind,
                          "name"_a = OrNone(m.stage.name), "function"_a = OrNone(m.stage.function),
                          "knob"_a = m.knob, "from"_a = EndOf(m, m.from), "to"_a = EndOf(m, m.to),
                          "reason"_a = m.reason));
  }
  return moves;
}

}  // namespace penstock
