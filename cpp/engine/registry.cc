// The table of factories.
#include "engine/registry.h"

#include <algorithm>
#include <map>

#include "engine/copied_args.h"
#include "engine/stack_need.h"
#include "runtime/trace.h"

namespace penstock {
namespace {

constexpr const char* kPartOf = "part_of";

struct DatasetEntry {
  DatasetMaker maker;
  StageTraits traits;
};

std::map<std::string, DatasetEntry>& Datasets() {
  static auto& table = *new std::map<std::string, DatasetEntry>;
  return table;
}

uint64_t HashOf(std::string_view text) {
  uint64_t hash = 0xCBF29CE484222325;  // FNV-1a
  for (unsigned char c : text) hash = (hash ^ c) * 0x100000001B3;
  return hash;
}

}  // namespace

DatasetPtr MakeDataset(const std::string& kind, std::vector<DatasetPtr> inputs, const Args& args) {
  auto found = Datasets().find(kind);
  if (found == Datasets().end()) {
    throw Error(ErrorKind::kInvalidArgument, "{}: there is no such dataset kind", kind);
  }
  int depth = 1;
  int depth_in_line = 1;
  bool needs_lock = found->second.traits.foreign;
  bool calls_inline = found->second.traits.foreign;
  bool quiet = !found->second.traits.foreign;
  bool suspends = false;
  for (auto& input : inputs) {
    quiet = quiet && input->quiet();
    depth = std::max(depth, input->depth() + 1);
    depth_in_line = std::max(depth_in_line, input->depth_in_line() + 1);
    needs_lock = needs_lock || input->needs_lock();
    suspends = suspends || input->suspends();
    calls_inline = calls_inline || input->calls_inline();
  }
  if (depth > kMaxDepth) {
    throw Error(ErrorKind::kInvalidArgument,
                "{}: the pipeline would be {} stages deep, at most {} are supported; build it with "
                "fewer stages (one map that does several steps, one concatenate of a list)",
                kind, depth, kMaxDepth);
  }
  RequireStack(StackUse::kPlan, depth);
  for (auto& [name, value] : args.values()) {
    if (auto* function = std::get_if<PlannedFunction>(&value)) {
      const bool locks = function->usual->needs_lock();
      needs_lock = needs_lock || locks;
      calls_inline = calls_inline || locks;
      quiet = quiet && !locks;
      suspends = suspends || function->usual->suspends();
    }
  }
  // Internal stages that users do not know carry the name of the stage they are part of.
  const std::string& name = args.Has(kPartOf) ? args.Text(kPartOf) : found->second.traits.name;
  std::shared_ptr<Dataset> dataset = name == kind
                                         ? found->second.maker(inputs, args)
                                         : found->second.maker(inputs, CopiedArgs(args, name));
  dataset->kind_ = kind;
  dataset->label_.kind = name;
  if (args.Has("name")) dataset->label_.name = args.Text("name");
  if (args.Has("function")) dataset->label_.function = args.Text("function");
  dataset->depth_ = depth;
  dataset->depth_in_line_ = dataset->apart() ? 1 : depth_in_line;
  dataset->needs_lock_ = needs_lock;
  dataset->suspends_ = suspends;
  dataset->calls_inline_ = calls_inline && !dataset->apart();
  dataset->timing_ = found->second.traits.timing;
  dataset->quiet_ = quiet || dataset->asynchronous();
  dataset->holds_cache_ = dataset->cache_store() != nullptr;
  for (auto& input : inputs) dataset->holds_cache_ = dataset->holds_cache_ || input->holds_cache();
  dataset->chain_ = inputs.empty() ? 1 : inputs[0]->chain();
  if (!dataset->transparent()) {
    dataset->chain_ = RandomKey{dataset->chain_}.Fold(HashOf(name)).value;
  }
  dataset->inputs_ = std::move(inputs);
  dataset->trace_name_ = InternName(dataset->label_.text());
  return dataset;
}

std::string_view NameOf(ArgumentForm form) {
  switch (form) {
    case ArgumentForm::kValue:
      return "value";
    case ArgumentForm::kSharedValue:
      return "shared value";
    case ArgumentForm::kSharedValues:
      return "shared values";
    case ArgumentForm::kTable:
      return "table";
    case ArgumentForm::kSpec:
      return "spec";
    case ArgumentForm::kDType:
      return "dtype";
    case ArgumentForm::kObject:
      return "object";
    case ArgumentForm::kFunction:
      return "function";
  }
  return "";
}

std::map<std::string, StageTraits> TraitsOfStages() {
  std::map<std::string, StageTraits> traits;
  for (auto& [kind, entry] : Datasets()) traits[kind] = entry.traits;
  return traits;
}

RegisterDataset::RegisterDataset(const char* kind, StageTraits traits, DatasetMaker maker) {
  if (!traits.form_of.empty()) traits.name = traits.form_of;
  if (traits.name.empty()) traits.name = kind;
  traits.share_states.push_back(kPartOf);  // it is already part of the name
  Datasets()[kind] = {maker, std::move(traits)};
}

}  // namespace penstock
