// Interning and printing of structures.
#include "element/structure.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>

#include "runtime/fork.h"

namespace penstock {
namespace {

using Key = std::tuple<Structure::Kind, std::vector<const Structure*>, std::vector<std::string>,
                       const void*>;

struct Table {
  std::mutex mutex;
  std::map<Key, std::unique_ptr<const Structure>> entries;
};

Table& TheTable() {
  // Leaked: structures live as long as the process.
  static Table& table = *[] {
    auto* made = new Table;
    HoldAcrossFork(made->mutex);
    return made;
  }();
  return table;
}

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

const Structure* Structure::Make(Kind kind, std::vector<const Structure*> children,
                                 std::vector<std::string> names, const void* foreign) {
  Table& table = TheTable();
  std::lock_guard lock(table.mutex);
  Key key{kind, std::move(children), std::move(names), foreign};
  auto& entry = table.entries[key];
  if (!entry) {
    auto* made = new Structure;
    made->kind_ = kind;
    made->children_ = std::get<1>(key);
    made->names_ = std::get<2>(key);
    made->foreign_ = foreign;
    made->leaves_ = kind == Kind::kLeaf ? 1 : 0;
    for (auto* child : made->children_) made->leaves_ += child->leaves();
    entry.reset(made);
  }
  return entry.get();
}

const Structure* Structure::Leaf() {
  static const Structure* leaf = Make(Kind::kLeaf, {}, {}, nullptr);
  return leaf;
}

const Structure* Structure::None() {
  static const Structure* none = Make(Kind::kNone, {}, {}, nullptr);
  return none;
}

const Structure* Structure::Tuple(std::vector<const Structure*> children) {
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

std::string Structure::ToString() const {
  if (kind_ == Kind::kLeaf) return "leaf";
  if (kind_ == Kind::kNone) return "None";
  bool dict = kind_ == Kind::kDict;
  std::string text = dict ? "{" : "(";
  for (size_t i = 0; i < children_.size(); ++i) {
    if (i) text += ", ";
    if (dict)
      text += "'" + names_[i] + "': ";
    else if (kind_ != Kind::kTuple)
      text += names_[i] + "=";
    text += children_[i]->ToString();
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
