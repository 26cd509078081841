// Stages are listed in the order in which elements reach them; a shared stage is listed once.
#include "engine/plan_text.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <vector>

#include "data/error.h"

namespace penstock {
namespace {

// The stages around index `at`: pipelines may be long.
std::string Chain(const std::vector<std::string>& stages, size_t at) {
  constexpr size_t kAround = 6;
  size_t first = at > kAround ? at - kAround : 0;
  size_t last = std::min(stages.size(), at + kAround);
  std::string text = first > 0 ? "... > " : "";
  for (size_t i = first; i < last; ++i) text += (i > first ? " > " : "") + stages[i];
  return text + (last < stages.size() ? " > ..." : "");
}

}  // namespace

std::vector<std::string> PlanLines(const std::string& text) {
  std::istringstream stream(text);
  stream.exceptions(std::ios::badbit);  // out of memory must not look like the end of the text
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(std::move(line));
  return lines;
}

std::string PlanText(const Dataset& root,
                     const std::function<std::string(const Dataset& stage, size_t line)>& detail) {
  std::string text;
  size_t line = 0;
  std::set<const Dataset*> done;
  std::vector<const Dataset*> open{&root};  // an explicit stack, because chains are long
  while (!open.empty()) {
    const Dataset* node = open.back();
    size_t before = open.size();
    size_t inputs = node->inputs().size();
    if (!done.contains(node)) {
      for (size_t i = inputs; i > 0; --i) {
        if (!done.contains(&node->input(i - 1))) open.push_back(&node->input(i - 1));
      }
    }
    if (open.size() > before) continue;
    open.pop_back();
    if (!done.insert(node).second || node->timing()) continue;
    text += node->name();
    if (inputs > 1) text += " of " + std::to_string(inputs);
    if (auto* stage = dynamic_cast<const PlanDetail*>(node)) text += " " + stage->plan_detail();
    if (detail) text += detail(*node, line);
    ++line;
    text += "\n";
  }
  return text;
}

std::string PlanDifference(const std::string& saved, const std::string& own) {
  if (saved == own) return "";
  std::vector<std::string> theirs = PlanLines(saved);
  std::vector<std::string> ours = PlanLines(own);
  size_t at = 0;
  while (at < std::min(theirs.size(), ours.size()) && theirs[at] == ours[at]) ++at;
  auto stage = [at](const std::vector<std::string>& plan) {
    return at < plan.size() ? plan[at] : std::string("nothing more");
  };
  return Format(
      "set_state: the state was saved by another pipeline: stage {} of it is {}, of this "
      "one {}; it is {}; this one is {}",
      at + 1, stage(theirs), stage(ours), Chain(theirs, at), Chain(ours, at));
}

}  // namespace penstock
