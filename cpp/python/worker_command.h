// Converts penstock.workers.starting.Command, which starts a worker process.
#pragma once

#include <pybind11/stl.h>

#include <string>
#include <tuple>
#include <vector>

#include "workers/fork_server.h"

namespace penstock {

using CommandOfPython = std::tuple<std::vector<std::string>, std::vector<std::string>, std::string>;

inline WorkerCommand ToWorkerCommand(const CommandOfPython& command) {
  const auto& [spawn, server, entry] = command;
  return {spawn, server, entry};
}

}  // namespace penstock
