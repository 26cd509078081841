// The interned shape of nested elements: equal structures are the same pointer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace penstock {

class Structure {
 public:
  enum class Kind : uint8_t { kLeaf, kNone, kTuple, kNamedTuple, kDict, kRecord };

  static const Structure* Leaf();
  static const Structure* None();
  static const Structure* Tuple(std::vector<const Structure*> children);
  // `foreign` is the class of a named tuple or record (dataclass), or the canonical key tuple of a
  // dict; the foreign runtime keeps one object per meaning, so that pointers compare.
  static const Structure* Make(Kind kind, std::vector<const Structure*> children,
                               std::vector<std::string> names, const void* foreign);

  Kind kind() const { return kind_; }
  const std::vector<const Structure*>& children() const { return children_; }
  const std::vector<std::string>& names() const { return names_; }
  const void* foreign() const { return foreign_; }
  int leaves() const { return leaves_; }
  // The path of a leaf, for messages: "['image']", "[0].x", "" for a lone leaf.
  std::string LeafPath(int leaf) const;
  // "(leaf, {'a': leaf})".
  std::string ToString() const;

 private:
  Structure() = default;
  Kind kind_ = Kind::kLeaf;
  int leaves_ = 1;
  std::vector<const Structure*> children_;
  std::vector<std::string> names_;
  const void* foreign_ = nullptr;
};

// For each leaf of `to`, its number in `from`; empty when they differ in more than the order of
// dict keys.
std::vector<int> LeafOrder(const Structure* from, const Structure* to);

}  // namespace penstock
