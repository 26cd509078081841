// Makers of stages by their kind: a stage registers itself with one line of its own file.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/dataset.h"

namespace penstock {

using DatasetMaker = std::shared_ptr<Dataset> (*)(const std::vector<DatasetPtr>& inputs,
                                                  const Args& args);

// Makes a node of the plan; throws for an unknown kind, wrong arguments or too deep a chain.
DatasetPtr MakeDataset(const std::string& kind, std::vector<DatasetPtr> inputs, const Args& args);

// What Python converts an argument to before a stage gets it. An argument that a stage does not
// name is handed over as it is; a function among them is called for each element, and may be
// traced.
enum class ArgumentForm {
  kValue,         // nested values
  kSharedValue,   // the same, in memory that the plan shares with whoever gave them
  kSharedValues,  // a list of such
  kTable,         // the columns of a table, in memory that the plan shares with whoever gave them
  kSpec,          // nested types and shapes
  kDType,         // the type of a scalar, as a spec
  kObject,        // anything, only to be handed back
  kFunction,      // called for something else than elements: never traced
};
std::string_view NameOf(ArgumentForm form);

// What a stage says of itself, so that no list of stages is kept elsewhere.
struct StageTraits {
  // What errors, states and random keys call it; "": its kind.
  std::string name = {};
  // The stage of which it is another form, with the same elements; its name, too.
  std::string form_of = {};
  // It calls into the foreign runtime itself, not only through a function.
  bool foreign = false;
  // It changes when elements are made, and nothing else.
  bool timing = false;
  // It gives as many elements as its input has, of the same sizes.
  bool keeps_sizes = false;
  // Which elements it gives and in what order depends on their positions alone.
  bool of_positions = false;
  // It fetches an element for each position that its input gives, so a stage that looks only at
  // positions can come before it.
  bool fetches = false;
  // Its functions take a state before the element.
  bool folds = false;
  // The argument that names the file or folder that it reads, and nothing else of it is read.
  std::string reads = {};
  // What users call the format of that file, where it is one of records.
  std::string format = {};
  // Arguments that say where and how it keeps its input's elements on disk. Empty: it keeps none.
  std::vector<std::string> keeping = {};
  // It gives in later passes what it has kept of the first one.
  bool replays = false;
  // Arguments that change when elements are made, and nothing else: what was kept on disk with one
  // value serves all.
  std::vector<std::string> timing_arguments = {};
  // Arguments whose values share states: a state that was saved with one value serves all values.
  std::vector<std::string> share_states = {};
  std::map<std::string, ArgumentForm> arguments = {};
};

// The traits of each registered kind.
std::map<std::string, StageTraits> TraitsOfStages();

struct RegisterDataset {
  RegisterDataset(const char* kind, StageTraits traits, DatasetMaker maker);
  RegisterDataset(const char* kind, DatasetMaker maker) : RegisterDataset(kind, {}, maker) {}
};

}  // namespace penstock
