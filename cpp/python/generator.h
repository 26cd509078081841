// Generators in worker processes.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "engine/dataset.h"
#include "python/python.h"
#include "workers/process_stream.h"

namespace penstock {

// The StreamOrder::payload of a generator function without arguments. `setup`: the functions that
// the worker calls once (penstock.workers.setup.Setup), or null. Needs the GIL. Throws an Error
// that names `stage` if the function cannot be pickled.
std::string PickledGenerator(const std::string& stage, const PyRef& generator, PyObject* setup,
                             std::shared_ptr<const ElementSpec> declared, bool opaque);
// In a worker: the dataset of that generator, starting where the order says. The dataset stores the
// number of the current value in `progress`, which must live as long as the process.
DatasetPtr ServedGenerator(PyRef generator, std::shared_ptr<const ElementSpec> declared,
                           bool opaque, const StreamOrder& order, std::atomic<int64_t>* progress);

}  // namespace penstock
