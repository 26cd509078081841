// Datasets as elements: how a stage gives one away as a leaf of its own elements.
#pragma once

#include "engine/dataset.h"

namespace penstock {

// A leaf that holds `dataset` as an object of the foreign runtime, which users go through like any
// other dataset. Set once, by the folder that knows the runtime. It calls that runtime: a stage
// that uses it is registered as foreign. May throw a transient error: call it again.
using WrapDataset = Tensor (*)(DatasetPtr dataset);
inline WrapDataset g_wrap_dataset = nullptr;

}  // namespace penstock
