// Stage factories by kind. Each stage registers itself with one line in its own file.
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

// Creates a node of the plan; throws if the kind is unknown, the arguments are wrong, or the chain
// is too deep.
DatasetPtr MakeDataset(const std::string& kind, std::vector<DatasetPtr> inputs, const Args& args);

// What Python converts an argument to. Arguments that a stage does not list are passed unchanged; a
// function among them is called for each element and may be traced.
enum class ArgumentForm {
  kValue,         // nested values
  kSharedValue,   // the same, in memory shared between the plan and the caller
  kSharedValues,  // a list of such values
  kTable,         // the columns of a table, in memory shared between the plan and the caller
  kSpec,          // nested types and shapes
  kDType,         // the type of a scalar, as a spec
  kObject,        // any object, only passed back to Python
  kFunction,      // called for something other than elements; never traced
};
std::string_view NameOf(ArgumentForm form);

// The static properties of a stage, declared at registration so that no other list of stages is
// needed.
struct StageTraits {
  // The name in errors, states and random keys; "": the kind.
  std::string name = {};
  // The name of the stage of which it is another form with the same elements; also its own name.
  std::string form_of = {};
  // The stage itself calls into the foreign runtime, not only through a function.
  bool foreign = false;
  // Affects only when elements are produced.
  bool timing = false;
  // Emits as many elements as its input, of the same sizes.
  bool keeps_sizes = false;
  // Chooses and orders elements by their positions alone.
  bool of_positions = false;
  // Fetches an element for each position from its input, so a stage that uses only positions can be
  // moved before it.
  bool fetches = false;
  // Its functions take a state before the element.
  bool folds = false;
  // The argument with the file or folder that the stage reads; it reads no other files.
  std::string reads = {};
  // The format of that file as users know it, if it is a record format.
  std::string format = {};
  // Arguments that determine where and how it keeps its input's elements on disk; empty if it does
  // not.
  std::vector<std::string> keeping = {};
  // Later passes return the elements kept from the first pass.
  bool replays = false;
  // Arguments that affect only when elements are produced: elements kept on disk with one value are
  // valid for all.
  std::vector<std::string> timing_arguments = {};
  // Arguments that states do not depend on: a state saved with one value can be restored with any.
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
