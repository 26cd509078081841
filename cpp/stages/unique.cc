// unique: the first of each set of equal elements.
#include <string>
#include <unordered_set>

#include "data/element_text.h"
#include "engine/input.h"
#include "engine/registry.h"

namespace penstock {
namespace {

bool IsComparable(DType dtype) {
  TypeCode code = dtype.code;
  return code <= TypeCode::kUInt64 || code == TypeCode::kBytes || code == TypeCode::kText;
}

Error WrongType(const Structure* structure, const std::string& dtype) {
  if (structure->leaves() != 1) {
    return Error(ErrorKind::kInvalidArgument,
                 "unique: elements of one leaf were expected, got {}; map them to what makes them "
                 "differ first",
                 structure->ToString());
  }
  return Error(ErrorKind::kType,
               "unique: integers, booleans or strings were expected, got dtype {}; cast them in a "
               "map first",
               dtype);
}

class UniqueDataset final : public Dataset {
 public:
  int64_t cardinality() const override { return kUnknown; }
  MaybeSpec spec() const override { return input_spec(); }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;
};

class UniqueIterator final : public Iterator {
 public:
  UniqueIterator(IteratorPtr input, CancelToken cancel)
      : input_(std::move(input)), cancel_(std::move(cancel)) {}

  void VisitState(StateVisitor& visitor) override {
    // Seen elements are not saved: after a restore, the input is read from its beginning up to
    // here.
    int64_t pulled = input_.position() + replay_;
    visitor.Count(pulled, "elements seen");
    input_.VisitState(visitor, input_.position());
    if (!visitor.saving()) replay_ = pulled;
  }

 protected:
  Step DoNext() override {
    for (;;) {
      // An infinite input without new elements must still be closable.
      if (cancel_.cancelled()) return Error(ErrorKind::kCancelled, "");
      int64_t before = input_.position();
      Step step = input_.Next();
      bool told = replay_ > 0;
      replay_ -= told ? input_.position() - before : 0;
      auto* element = std::get_if<Element>(&step);
      if (!element) {
        auto* error = std::get_if<Error>(&step);
        if (told && error && !error->transient()) continue;
        return step;
      }
      if (element->leaves.size() != 1 || !IsComparable(element->leaves[0].dtype())) {
        if (told) continue;
        Error error = WrongType(element->structure, element->leaves.empty()
                                                        ? std::string("None")
                                                        : element->leaves[0].dtype().name());
        return error.In({label(), before, ElementText(*element)}, element->origin);
      }
      if (seen_.insert(KeyOf(element->leaves[0])).second && !told) return step;
    }
  }

 private:
  // Equal only for equal values of one dtype and shape.
  static std::string KeyOf(const Tensor& leaf) {
    std::string key;
    auto append = [&](const void* data, size_t size) {
      key.append(static_cast<const char*>(data), size);
    };
    if (leaf.dtype().is_reference()) {
      for (int64_t i = 0; i < leaf.elements(); ++i) {
        std::string_view item = leaf.string(i);
        uint64_t size = item.size();
        if (leaf.shape().rank() > 0) append(&size, sizeof size);
        append(item.data(), item.size());
      }
    } else {
      append(leaf.data(), leaf.nbytes());
    }
    // These follow the value, so that the key of a number stays short enough to need no allocation.
    for (int64_t size : leaf.shape().dims()) append(&size, sizeof size);
    key.push_back(static_cast<char>(leaf.dtype().code));
    key.push_back(static_cast<char>(leaf.shape().rank()));
    return key;
  }

  Input input_;
  CancelToken cancel_;
  std::unordered_set<std::string> seen_;
  int64_t replay_ = 0;  // input steps seen before the state was saved
};

IteratorPtr UniqueDataset::MakeIterator(const RunContext& context) const {
  return std::make_unique<UniqueIterator>(StartInput(context.Replayed()), context.cancel);
}

const RegisterDataset unique_stage(
    "unique", [](const std::vector<DatasetPtr>& inputs, const Args&) -> std::shared_ptr<Dataset> {
      MaybeSpec in = inputs[0]->spec();
      if (in && (in->leaves.size() != 1 || !IsComparable(in->leaves[0].dtype))) {
        throw WrongType(in->structure, in->leaves.empty() ? "None" : in->leaves[0].dtype.name());
      }
      return std::make_shared<UniqueDataset>();
    });

}  // namespace
}  // namespace penstock
