// Counters and tuning moves of a run, as Python objects.
#include <pybind11/stl.h>

#include "engine/observation.h"
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

// The old or new value of a move; executors are shown by name.
py::object EndOf(const TuningMove& move, int64_t end) {
  if (move.knob != "executor") return py::int_(end);
  return py::str(move.ValueText(end));
}

py::dict TimesOf(const StageTimes& times) {
  static constexpr const char* kNames[kDoings] = {"run",   "python", "worker", "ongoing",
                                                  "input", "room",   "memory", "lock"};
  py::dict wall, cpu;
  for (size_t i = 0; i < kDoings; ++i) {
    wall[kNames[i]] = static_cast<double>(times.wall_ns[i]) * 1e-9;
    cpu[kNames[i]] = static_cast<double>(times.cpu_ns[i]) * 1e-9;
  }
  return py::dict("wall"_a = wall, "cpu"_a = cpu,
                  "ready"_a = static_cast<double>(times.ready_ns) * 1e-9, "locked"_a = times.locked,
                  "asleep"_a = times.asleep);
}

py::dict SeenStage(const StageSnapshot& before, const StageSnapshot& after,
                   const StageTimes& times) {
  py::dict stage = TimesOf(times);
  stage["path"] = after.path;
  stage["kind"] = after.label.kind;
  stage["name"] = OrNone(after.label.name);
  stage["function"] = OrNone(after.label.function);
  stage["elements"] = after.steps - before.steps;
  stage["busy"] = static_cast<double>(after.busy_ns - before.busy_ns) * 1e-9;
  stage["waited"] = static_cast<double>(after.wait_ns - before.wait_ns) * 1e-9;
  stage["buffer_limit"] = after.buffer_limit;
  stage["parallelism"] = after.parallelism;
  int64_t workers = 0;
  for (const WorkerReport& worker : after.workers) {
    workers += worker.cpu_ns;
    for (const WorkerReport& former : before.workers) {
      if (former.pid == worker.pid) workers -= former.cpu_ns;
    }
  }
  stage["workers_cpu"] = static_cast<double>(workers) * 1e-9;
  const CallTimes* calls = after.stats->calls.load(std::memory_order_acquire);  // see Observe
  const int64_t rows = calls ? calls->rows.load(std::memory_order_relaxed) : 0;
  stage["in_progress"] =
      calls ? static_cast<double>(calls->ongoing_ns.load(std::memory_order_relaxed)) * 1e-9 : 0.0;
  stage["calls"] = py::none();
  stage["bytes_per_element"] = py::none();
  if (rows > 0) {
    stage["calls"] = py::make_tuple(
        calls->Quantile(0.5), calls->Quantile(0.9), calls->Quantile(0.99),
        static_cast<double>(calls->longest_ns.load(std::memory_order_relaxed)) * 1e-9);
    stage["bytes_per_element"] = static_cast<double>(calls->bytes.load(std::memory_order_relaxed)) /
                                 static_cast<double>(rows);
  }
  return stage;
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

py::dict ObservedToPython(const Observed& seen) {
  static constexpr const char* kShown[kDoings] = {"run",   "run",  "run",  "blocked",
                                                  "input", "room", "room", "gil"};
  py::list stages, threads;
  for (size_t i = 0; i < seen.after.size(); ++i) {
    stages.append(SeenStage(seen.before[i], seen.after[i], seen.stages[i]));
  }
  for (const ThreadHistory& thread : seen.threads) {
    py::list spans;
    for (const ThreadSpan& span : thread.spans) {
      const bool works = span.doing == Doing::kRun || span.doing == Doing::kPython;
      const char* doing = span.stage < 0 ? "step" : kShown[static_cast<size_t>(span.doing)];
      if (works && span.stage >= 0 && !span.on_cpu) doing = "blocked";
      py::object path = py::none();
      if (span.stage >= 0) path = py::str(seen.after[static_cast<size_t>(span.stage)].path);
      spans.append(py::make_tuple(static_cast<double>(span.start_ns) * 1e-9,
                                  static_cast<double>(span.end_ns) * 1e-9, path, doing,
                                  span.element));
    }
    threads.append(
        py::dict("name"_a = thread.name, "consumer"_a = thread.consumer, "spans"_a = spans));
  }
  py::dict history("seconds"_a = seen.history_seconds, "elements"_a = seen.history_elements,
                   "waiting"_a = seen.history_waiting, "buffers"_a = seen.history_buffers);
  return py::dict("seconds"_a = seen.seconds, "stages"_a = stages, "step"_a = TimesOf(seen.step),
                  "threads"_a = threads, "history"_a = history,
                  "process_cpu"_a = static_cast<double>(seen.process_cpu_ns) * 1e-9,
                  "ongoing_cpu"_a = static_cast<double>(seen.ongoing_cpu_ns) * 1e-9,
                  "lock_looks"_a = seen.lock_looks, "lock_held"_a = seen.lock_held,
                  "interval"_a = static_cast<double>(seen.interval_ns) * 1e-9);
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
