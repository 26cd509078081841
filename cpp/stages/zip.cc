// zip: combines one element of each input, in any nesting.
#include <algorithm>

#include "engine/random_access.h"
#include "engine/registry.h"

namespace penstock {
namespace {

// Replaces the leaves of `shape`, in order, by `parts`.
StructureRef Substitute(const Structure* shape, const std::vector<StructureRef>& parts,
                        size_t* next) {
  if (shape->kind() == Structure::Kind::kLeaf) return parts[(*next)++];
  std::vector<StructureRef> children;
  for (const StructureRef& child : shape->children()) {
    children.push_back(Substitute(child, parts, next));
  }
  return Structure::Make(shape->kind(), std::move(children), shape->names(), shape->foreign_form());
}

// Combines the steps of all inputs.
class Zipper {
 public:
  explicit Zipper(const Structure* shape) : shape_(shape) {}

  Step Join(std::vector<std::optional<Step>>& got) {
    // Every input has advanced, whatever its step, so they stay aligned after an error.
    bool ended = false;
    std::optional<Error> failure;
    Element all;
    std::vector<StructureRef> parts;
    for (size_t i = 0; i < got.size(); ++i) {
      Step step = *std::exchange(got[i], std::nullopt);
      ended = ended || std::holds_alternative<End>(step);
      if (auto* error = std::get_if<Error>(&step); error && !failure) failure = *error;
      auto* element = std::get_if<Element>(&step);
      if (!element) continue;
      if (i == 0)
        all.origin = element->origin;
      else if (element->origin.file)
        all.origin.Join(element->origin);
      parts.push_back(element->structure);
      std::move(element->leaves.begin(), element->leaves.end(), std::back_inserter(all.leaves));
    }
    if (failure) return *failure;  // even if another input has ended: the error must not be lost
    if (ended) return End{};
    size_t next = 0;
    if (parts != last_parts_) {
      last_structure_ = Substitute(shape_, parts, &next);
      last_parts_ = std::move(parts);
    }
    all.structure = last_structure_;
    return all;
  }

 private:
  const StructureRef shape_;
  std::vector<StructureRef> last_parts_;
  StructureRef last_structure_;
};

class ZipDataset final : public Dataset, public RandomAccess {
 public:
  explicit ZipDataset(const Structure* shape) : shape_(shape) {}
  int64_t cardinality() const override {
    int64_t least = kInfinite;
    bool unknown = false;
    for (auto& part : inputs()) {
      int64_t n = part->cardinality();
      unknown = unknown || n == kUnknown;
      if (n >= 0) least = least < 0 ? n : std::min(least, n);
    }
    return unknown ? kUnknown : least;
  }
  MaybeSpec spec() const override {
    ElementSpec all;
    std::vector<StructureRef> parts;
    for (size_t i = 0; i < inputs().size(); ++i) {
      MaybeSpec part = input_spec(i);
      if (!part) return std::nullopt;
      parts.push_back(part->structure);
      all.leaves.insert(all.leaves.end(), part->leaves.begin(), part->leaves.end());
    }
    size_t next = 0;
    all.structure = Substitute(shape_, parts, &next);
    return all;
  }
  Step At(int64_t index, const RunContext& context) const override {
    std::vector<std::optional<Step>> got;
    for (size_t i = 0; i < inputs().size(); ++i) got.push_back(InputAt(*this, index, context, i));
    return Zipper(shape_).Join(got);
  }
  Positions InputPositions(const Positions& positions, size_t, const RunContext&) const override {
    return positions;
  }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  const StructureRef shape_;
};

class ZipIterator final : public Iterator {
 public:
  ZipIterator(const Structure* shape, std::vector<IteratorPtr> inputs)
      : zipper_(shape),
        inputs_(std::move(inputs)),
        got_(inputs_.size()),
        ended_(inputs_.size(), false) {}

  void VisitState(StateVisitor& visitor) override {
    if (std::any_of(got_.begin(), got_.end(), [](auto& step) { return step.has_value(); })) {
      throw Error(ErrorKind::kRuntime,
                  "get_state: zip was interrupted between its inputs; call next() once more first");
    }
    visitor.Bool(done_);
    for (auto& input : inputs_) VisitChild(visitor, *input);
  }
  std::optional<Error> Discard(int64_t& steps) override {
    if (inputs_.size() != 1) return Iterator::Discard(steps);
    return inputs_[0]->Discard(steps);
  }
  std::optional<Error> PassSound(int64_t& steps) override {
    auto begun = [](const std::optional<Step>& step) { return step.has_value(); };
    if (std::any_of(got_.begin(), got_.end(), begun)) return Iterator::PassSound(steps);
    int64_t most = 0;  // the largest number of steps that an input lacks at its end
    for (size_t i = 0; i < inputs_.size(); ++i) {
      int64_t left = steps;
      if (auto error = inputs_[i]->PassSound(left)) return error;
      most = std::max(most, left);
    }
    steps = most;
    return std::nullopt;
  }

 protected:
  Step DoNext() override {
    if (done_) return End{};
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (got_[i]) continue;  // kept from before an interruption
      if (ended_[i]) {
        got_[i] = End{};
        continue;
      }
      Step step = inputs_[i]->Next();
      if (auto* error = std::get_if<Error>(&step); error && error->transient()) return step;
      ended_[i] = std::holds_alternative<End>(step);
      got_[i] = std::move(step);
    }
    Step step = zipper_.Join(got_);
    done_ = std::holds_alternative<End>(step);
    return step;
  }

 private:
  Zipper zipper_;
  std::vector<IteratorPtr> inputs_;
  std::vector<std::optional<Step>> got_;
  std::vector<bool> ended_;
  bool done_ = false;
};

IteratorPtr ZipDataset::MakeIterator(const RunContext& context) const {
  std::vector<IteratorPtr> started;
  for (size_t i = 0; i < inputs().size(); ++i) started.push_back(StartInput(context, i));
  return std::make_unique<ZipIterator>(shape_, std::move(started));
}

const RegisterDataset zip_stage("zip", {.arguments = {{"nesting", ArgumentForm::kValue}}},
                                [](const std::vector<DatasetPtr>& inputs,
                                   const Args& args) -> std::shared_ptr<Dataset> {
                                  if (inputs.empty()) {
                                    throw Error(ErrorKind::kInvalidArgument,
                                                "zip: at least one dataset was expected, got none");
                                  }
                                  return std::make_shared<ZipDataset>(
                                      args.Nested("nesting").structure);
                                });

}  // namespace
}  // namespace penstock
