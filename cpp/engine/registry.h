// Names to makers: a stage registers itself with one line of its own file.
#pragma once

#include <string>
#include <vector>

#include "engine/dataset.h"

namespace penstock {

using DatasetMaker = std::shared_ptr<Dataset> (*)(const std::vector<DatasetPtr>& inputs,
                                                  const Args& args);

// Makes a node of the plan; throws for an unknown kind, wrong arguments or too deep a chain.
DatasetPtr MakeDataset(const std::string& kind, std::vector<DatasetPtr> inputs, const Args& args);
std::vector<std::string> DatasetKinds();

struct RegisterDataset {
  // `foreign`: the source itself calls into the foreign runtime. `name`: what errors, states and
  // random keys call it, when it is another form of that stage.
  RegisterDataset(const char* kind, DatasetMaker maker, bool foreign = false,
                  const char* name = nullptr);
};

}  // namespace penstock
