// Converts positions from one number of shards to another, stage by stage from the end.
#include "engine/elastic.h"

#include <algorithm>
#include <utility>

#include "data/error.h"
#include "engine/plan_text.h"

namespace penstock {
namespace {

constexpr std::string_view kDigits = "0123456789";

// Why states are not elastic with this stage after shard_evenly.
std::string_view ReasonOf(const std::string& stage) {
  static const std::map<std::string, std::string_view> kReasons = [] {
    std::map<std::string, std::string_view> reasons;
    auto add = [&](std::initializer_list<const char*> stages, std::string_view reason) {
      for (const char* each : stages) reasons[each] = reason;
    };
    add({"shuffle", "window", "group_by_window", "bucket_by_sequence_length", "pack", "zip",
         "concatenate", "sample_from_datasets", "choose_from_datasets"},
        "mixes elements of several steps of one process");
    add({"filter", "flat_map", "interleave", "unbatch", "unique", "take_while", "ignore_errors",
         "rejection_resample"},
        "gives more or fewer elements than it gets, so the processes are not in step");
    add({"cache", "snapshot"}, "keeps the elements of one process");
    add({"take", "skip", "shard", "enumerate", "assert_cardinality", "at"},
        "counts the elements of one process");
    add({"reduce", "group_by_reducer", "count"},
        "makes its results of all elements that one process had");
    return reasons;
  }();
  auto found = kReasons.find(stage);
  return found == kReasons.end() ? "depends on which elements one process had" : found->second;
}

const Elastic* AsElastic(const Dataset& dataset) { return dynamic_cast<const Elastic*>(&dataset); }

[[noreturn]] void ThrowOther(std::string_view saved, const std::string& own) {
  throw Error(ErrorKind::kInvalidArgument,
              "set_state: the state was saved by another pipeline: it has {} where this one has {}",
              saved, own);
}

// Skips prefetch, which either pipeline may have or not.
void DropPrefetch(SavedPosition& position) {
  while (position.state) {
    StateVisitor whole(*position.state);
    StateVisitor own(whole.TextView());
    if (own.TextView() != "prefetch") return;
    const int64_t after = position.steps;
    position = SavedPosition::Read(own);
    position.steps = StepsMore(position.steps, after);
  }
}

// Splits off the last number of a line.
std::pair<std::string, int64_t> WithoutNumber(const std::string& line) {
  constexpr size_t kMostDigits = 18;
  const size_t end = line.find_last_of(kDigits);
  if (end == std::string::npos) return {line, -1};
  const size_t last = line.find_last_not_of(kDigits, end);
  const size_t begin = last == std::string::npos ? 0 : last + 1;
  if (end + 1 - begin > kMostDigits) return {line, -1};
  return {line.substr(0, begin) + "#" + line.substr(end + 1),
          std::stoll(line.substr(begin, end + 1 - begin))};
}

}  // namespace

SavedPosition SavedPosition::Read(StateVisitor& visitor) {
  SavedPosition position;
  visitor.Count(position.steps, "steps to pass over");
  visitor.Blob(position.state);
  return position;
}

void SavedPosition::Write(StateVisitor& visitor) const {
  int64_t none = 0;
  StateBlob blob = state;
  visitor.Int(none);
  visitor.Blob(blob);
}

int64_t Carrying::Former(const Dataset& stage) const {
  auto found = former.find(&stage);
  return found == former.end() ? 1 : found->second;
}

void Carry(const Dataset& dataset, SavedPosition& position, Carrying& carrying) {
  if (dataset.transparent()) return Carry(dataset.input(), position, carrying);
  DropPrefetch(position);
  const Elastic* stage = AsElastic(dataset);
  if (!stage) ThrowOther("another stage", dataset.name());
  std::string own;
  std::string name = dataset.name();
  StateVisitor(&own).Text(name);
  if (position.state) {
    StateVisitor whole(*position.state, name);
    StateVisitor saved(whole.TextView(), name);
    whole.ExpectEnd();
    if (std::string_view kind = saved.TextView(); kind != name) ThrowOther(kind, name);
    stage->CarryState(&saved, position.steps, own, carrying);
    saved.ExpectEnd();
  } else {
    stage->CarryState(nullptr, position.steps, own, carrying);
  }
  auto blob = std::make_shared<std::string>();
  StateVisitor(blob.get()).Text(own);
  position.state = std::move(blob);
}

ElasticPlan::ElasticPlan(const Dataset& root) : text_(PlanText(root)) {
  root.ForEachNode([this](const Dataset& node) {
    const Elastic* stage = AsElastic(node);
    if (stage && stage->divides()) shards_.push_back(&node);
  });
  if (shards_.empty()) return;
  std::vector<const Dataset*> sized;
  const Dataset* node = &root;
  for (;; node = &node->input()) {
    const Elastic* stage = AsElastic(*node);
    if (node->transparent()) continue;
    if (!stage) {
      problem_ = node->name() + " " + std::string(ReasonOf(node->name()));
      break;
    }
    if (std::string why = stage->unfit(); !why.empty()) {
      problem_ = node->name() + " " + why;
      break;
    }
    if (stage->elastic_size() > 0) sized.push_back(node);
    if (stage->divides()) break;
    if (node->inputs().empty()) {
      problem_ = node->name() + " does not get its elements from shard_evenly";
      break;
    }
  }
  if (problem_.empty() && shards_.size() > 1) {
    problem_ = "shard_evenly is there " + std::to_string(shards_.size()) + " times";
  }
  if (problem_.empty())
    divider_ = node;
  else
    sized = shards_;
  text_ = PlanText(root, [&](const Dataset& each, size_t line) {
    if (std::find(sized.begin(), sized.end(), &each) == sized.end()) return std::string();
    sized_[&each] = line;
    if (dynamic_cast<const PlanDetail*>(&each)) return std::string();  // included already
    return " of " + std::to_string(AsElastic(each)->elastic_size());
  });
}

std::optional<std::map<const Dataset*, int64_t>> ElasticPlan::Former(
    const std::string& saved) const {
  std::vector<std::string> theirs = PlanLines(saved);
  std::vector<std::string> ours = PlanLines(text_);
  if (theirs.size() != ours.size()) return std::nullopt;
  std::map<const Dataset*, int64_t> numbers;
  for (auto& [stage, line] : sized_) {
    auto [before, number] = WithoutNumber(theirs[line]);
    if (number < 1 || before != WithoutNumber(ours[line]).first) return std::nullopt;
    numbers[stage] = number;
    theirs[line] = ours[line];
  }
  if (theirs != ours) return std::nullopt;
  return numbers;
}

std::string ElasticPlan::Refusal(const std::string& saved, bool begun) const {
  if (saved == text_) return "";
  const auto former = Former(saved);
  if (!former) {  // find the first difference other than a number
    std::vector<std::string> theirs = PlanLines(saved);
    const std::vector<std::string> ours = PlanLines(text_);
    for (auto& [stage, line] : sized_) {
      if (line < theirs.size() &&
          WithoutNumber(theirs[line]).first == WithoutNumber(ours[line]).first)
        theirs[line] = ours[line];
    }
    std::string text;
    for (const std::string& line : theirs) text += line + "\n";
    return PlanDifference(text == text_ ? saved : text, text_);
  }
  if (problem_.empty() || !begun) return "";
  int64_t theirs = 0, ours = 0;
  for (auto& [stage, number] : *former) {
    theirs = number;
    ours = AsElastic(*stage)->elastic_size();
  }
  return Format(
      "set_state: the state was saved by one of {} shards, this is one of {}, and {}; put that "
      "stage before shard_evenly, or restore with the former number",
      theirs, ours, problem_);
}

void SharedPosition::VisitState(StateVisitor& visitor) {
  visitor.Count(delivered, "elements delivered");
  visitor.Count(shards, "the number of shards");
  visitor.Count(index, "the number of the shard", std::max<int64_t>(shards - 1, 0));
  visitor.IntIn(position, -1, StateVisitor::kMostCount, "elements that all shards had");
  visitor.IntIn(epoch, -1, StateVisitor::kMostCount, "the epoch");
  visitor.Count(more, "elements that some shards had besides", shards);
}

std::string SharedPosition::Text() const {
  std::string text;
  StateVisitor visitor(&text);
  SharedPosition(*this).VisitState(visitor);
  return text;
}

SharedPosition SharedPosition::Of(std::string_view text) {
  SharedPosition shared;
  StateVisitor visitor(text);
  shared.VisitState(visitor);
  visitor.ExpectEnd();
  return shared;
}

}  // namespace penstock
