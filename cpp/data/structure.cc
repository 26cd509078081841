// Interning and printing of structures.
#include "data/structure.h"

#include <algorithm>
#include <functional>
#include <mutex>
#include <set>

#include "data/foreign_names.h"
#include "runtime/fork.h"

namespace penstock {

// Interns structures: one per meaning, as long as it has references.
//
// The first kMostLasting structures whose children and class live as long as the process also live
// that long. Their references are not counted, because all threads copy them for every element.
// Other structures are destroyed with their last reference. A count that has reached zero never
// rises again. So each structure is destroyed once, by the thread that dropped its count to zero,
// which removes the table entry while holding the mutex. A lookup between these two moments finds
// the entry with a count of zero, does not touch that structure, and makes the entry refer to a new
// one. Two structures of the same meaning never have references at the same time. A dying structure
// keeps its children and its class until the end, so no new ones can have their addresses while its
// entry can still be compared.
struct StructureTable {
  using Kind = Structure::Kind;
  static constexpr size_t kMostLasting = 1024;

  struct Sought {
    Kind kind;
    const std::vector<StructureRef>& children;
    const std::vector<std::string>& names;
    const void* foreign;
  };
  struct Less {
    using is_transparent = void;
    static Sought Of(const Structure* s) {
      return {s->kind_, s->children_, s->names_, s->foreign_};
    }
    static const Sought& Of(const Sought& sought) { return sought; }
    template <typename A, typename B>
    bool operator()(const A& one, const B& other) const {
      const Sought& a = Of(one);
      const Sought& b = Of(other);
      if (a.kind != b.kind) return a.kind < b.kind;
      if (a.foreign != b.foreign) return std::less<>()(a.foreign, b.foreign);
      if (a.names != b.names) return a.names < b.names;
      return std::lexicographical_compare(a.children.begin(), a.children.end(), b.children.begin(),
                                          b.children.end(),
                                          [](const StructureRef& x, const StructureRef& y) {
                                            return std::less<>()(x.get(), y.get());
                                          });
    }
  };

  std::mutex mutex;  // a leaf lock
  std::set<const Structure*, Less> entries;
  size_t lasting = 0;

  static StructureTable& The() {
    // Leaked: lasting structures live as long as the process.
    static StructureTable& table = *[] {
      auto* made = new StructureTable;
      HoldAcrossFork(made->mutex);
      return made;
    }();
    return table;
  }

  // Requires the mutex.
  bool Lasts(Kind kind, const std::vector<StructureRef>& children, const ForeignRef& foreign) {
    if (kind == Kind::kLeaf || kind == Kind::kNone) return true;
    bool parts = (!foreign || foreign->lasting) &&
                 std::none_of(children.begin(), children.end(),
                              [](const StructureRef& child) { return child->counted_; });
    return parts && lasting < kMostLasting;
  }

  // If the result is counted, the caller owns a reference.
  const Structure* Find(Kind kind, std::vector<StructureRef>& children,
                        std::vector<std::string>& names, ForeignRef& foreign) {
    // If memory runs out, this is destroyed without the mutex, along with children and classes.
    std::unique_ptr<const Structure, void (*)(const Structure*)> made(
        nullptr, [](const Structure* unused) { delete unused; });
    std::lock_guard lock(mutex);
    const void* object = foreign ? foreign->object : nullptr;
    auto found = entries.find(Sought{kind, children, names, object});
    if (found != entries.end()) {
      const Structure* known = *found;
      if (!known->counted_ || known->TryRetain()) return known;
      entries.erase(found);
    }
    const bool lasts = Lasts(kind, children, foreign);
    made.reset(
        new Structure(kind, std::move(children), std::move(names), std::move(foreign), !lasts));
    entries.insert(made.get());
    lasting += lasts;
    return made.release();
  }

  void Forget(const Structure* dead) {
    std::lock_guard lock(mutex);
    auto found = entries.find(dead);
    if (found != entries.end() && *found == dead) entries.erase(found);
  }
};

namespace {

bool MatchLeaves(const Structure* from, const Structure* to, int first, std::vector<int>& order) {
  if (from->kind() != to->kind() || from->children().size() != to->children().size()) return false;
  if (to->kind() == Structure::Kind::kLeaf) {
    order.push_back(first);
    return true;
  }
  bool dict = to->kind() == Structure::Kind::kDict;
  if (!dict && from->foreign() != to->foreign()) return false;
  for (size_t i = 0; i < to->children().size(); ++i) {
    size_t j = i;
    if (dict) {
      auto found = std::find(from->names().begin(), from->names().end(), to->names()[i]);
      if (found == from->names().end()) return false;
      j = static_cast<size_t>(found - from->names().begin());
    }
    int offset = first;
    for (size_t k = 0; k < j; ++k) offset += from->children()[k]->leaves();
    if (!MatchLeaves(from->children()[j], to->children()[i], offset, order)) return false;
  }
  return true;
}

}  // namespace

Structure::Structure(Kind kind, std::vector<StructureRef> children, std::vector<std::string> names,
                     ForeignRef foreign, bool counted)
    : kind_(kind),
      counted_(counted),
      leaves_(kind == Kind::kLeaf ? 1 : 0),
      children_(std::move(children)),
      names_(std::move(names)),
      form_(std::move(foreign)),
      foreign_(form_ ? form_->object : nullptr) {
  for (const StructureRef& child : children_) leaves_ += child->leaves();
}

bool Structure::TryRetain() const {
  int64_t refs = refs_.load(std::memory_order_relaxed);
  // relaxed: the table's mutex orders the construction of the structure before this.
  while (refs > 0 && !refs_.compare_exchange_weak(refs, refs + 1, std::memory_order_relaxed)) {
  }
  return refs > 0;
}

void Structure::Destroy() const {
  StructureTable::The().Forget(this);
  delete this;  // without the mutex: children and classes may be destroyed with it
}

StructureRef Structure::Make(Kind kind, std::vector<StructureRef> children,
                             std::vector<std::string> names, ForeignRef foreign) {
  const Structure* found = StructureTable::The().Find(kind, children, names, foreign);
  StructureRef ref;
  ref.bits_ = reinterpret_cast<uintptr_t>(found) | (found->counted_ ? StructureRef::kCounted : 0);
  return ref;
}

size_t Structure::count() {
  StructureTable& table = StructureTable::The();
  std::lock_guard lock(table.mutex);
  return table.entries.size();
}

const Structure* Structure::Leaf() {
  static const StructureRef leaf = Make(Kind::kLeaf, {}, {}, nullptr);
  return leaf;
}

const Structure* Structure::None() {
  static const StructureRef none = Make(Kind::kNone, {}, {}, nullptr);
  return none;
}

StructureRef Structure::Tuple(std::vector<StructureRef> children) {
  return Make(Kind::kTuple, std::move(children), {}, nullptr);
}

std::string Structure::LeafPath(int leaf) const {
  for (size_t i = 0; i < children_.size(); ++i) {
    int count = children_[i]->leaves();
    if (leaf >= count) {
      leaf -= count;
      continue;
    }
    std::string step = kind_ == Kind::kTuple  ? "[" + std::to_string(i) + "]"
                       : kind_ == Kind::kDict ? "['" + names_[i] + "']"
                                              : "." + names_[i];
    return step + children_[i]->LeafPath(leaf);
  }
  return "";
}

std::string Structure::ToString(const std::vector<std::string>& leaves) const {
  if (kind_ == Kind::kLeaf) return leaves.empty() ? "leaf" : leaves[0];
  if (kind_ == Kind::kNone) return "None";
  bool dict = kind_ == Kind::kDict;
  std::string text = dict ? "{" : "(";
  size_t begin = 0;
  for (size_t i = 0; i < children_.size(); ++i) {
    if (i) text += ", ";
    if (dict)
      text += "'" + names_[i] + "': ";
    else if (kind_ != Kind::kTuple)
      text += names_[i] + "=";
    const size_t end = begin + static_cast<size_t>(children_[i]->leaves());
    std::vector<std::string> own;
    if (!leaves.empty()) own.assign(&leaves[begin], &leaves[begin] + (end - begin));
    begin = end;
    text += children_[i]->ToString(own);
  }
  if (kind_ == Kind::kTuple && children_.size() == 1) text += ",";
  return text + (dict ? "}" : ")");
}

std::vector<int> LeafOrder(const Structure* from, const Structure* to) {
  std::vector<int> order;
  if (!MatchLeaves(from, to, 0, order)) order.clear();
  return order;
}

}  // namespace penstock
