// The interned shape of nested elements: equal structures are the same pointer.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace penstock {

class Structure;
struct ForeignForm;  // foreign_names.h
using ForeignRef = std::shared_ptr<const ForeignForm>;

// A reference that keeps a structure alive; null by default. Most structures live as long as the
// process: a reference to them is a plain pointer, and copying it writes nothing. Others are
// reference-counted.
class StructureRef {
 public:
  StructureRef() = default;
  StructureRef(std::nullptr_t) {}
  // The caller must keep the structure alive during the call; may be null.
  StructureRef(const Structure* structure);
  StructureRef(const StructureRef& other) : bits_(other.bits_) {
    if (bits_ & kCounted) Retain();
  }
  StructureRef(StructureRef&& other) noexcept : bits_(std::exchange(other.bits_, 0)) {}
  StructureRef& operator=(const StructureRef& other) {
    if (bits_ != other.bits_) StructureRef(other).Swap(*this);
    return *this;
  }
  StructureRef& operator=(StructureRef&& other) noexcept {
    StructureRef(std::move(other)).Swap(*this);
    return *this;
  }
  ~StructureRef() {
    if (bits_ & kCounted) Release();
  }

  const Structure* get() const { return reinterpret_cast<const Structure*>(bits_ & ~kCounted); }
  const Structure* operator->() const { return get(); }
  const Structure& operator*() const { return *get(); }
  explicit operator bool() const { return bits_ != 0; }
  // Borrows the pointer: only from a reference that outlives it, never from a temporary.
  operator const Structure*() const& { return get(); }
  operator const Structure*() && = delete;
  operator const Structure*() const&& = delete;
  friend bool operator==(const StructureRef& a, const StructureRef& b) {
    return a.bits_ == b.bits_;
  }
  friend bool operator==(const StructureRef& a, const Structure* b) { return a.get() == b; }

 private:
  friend class Structure;
  static constexpr uintptr_t kCounted = 1;  // in the pointer's lowest bit, which is otherwise zero

  void Swap(StructureRef& other) noexcept { std::swap(bits_, other.bits_); }
  void Retain() const;
  void Release() const;

  uintptr_t bits_ = 0;
};

class Structure {
 public:
  enum class Kind : uint8_t { kLeaf, kNone, kTuple, kNamedTuple, kDict, kRecord };

  // These two live as long as the process.
  static const Structure* Leaf();
  static const Structure* None();
  static StructureRef Tuple(std::vector<StructureRef> children);
  // `foreign` is the class of a named tuple or record (dataclass), or the canonical key tuple of a
  // dict. The foreign runtime keeps one object per meaning, so that pointers can be compared.
  static StructureRef Make(Kind kind, std::vector<StructureRef> children,
                           std::vector<std::string> names, ForeignRef foreign);
  // The number of structures in this process.
  static size_t count();

  Kind kind() const { return kind_; }
  const std::vector<StructureRef>& children() const { return children_; }
  const std::vector<std::string>& names() const { return names_; }
  const void* foreign() const { return foreign_; }
  const ForeignRef& foreign_form() const { return form_; }
  int leaves() const { return leaves_; }
  // The path of a leaf, for messages: "['image']", "[0].x"; "" for a single leaf.
  std::string LeafPath(int leaf) const;
  // "(leaf, {'a': leaf})", or with the given text for each leaf: "(int64, {'a': str})".
  std::string ToString(const std::vector<std::string>& leaves = {}) const;

 private:
  friend class StructureRef;
  friend struct StructureTable;

  Structure(Kind kind, std::vector<StructureRef> children, std::vector<std::string> names,
            ForeignRef foreign, bool counted);
  ~Structure() = default;
  bool TryRetain() const;
  void Destroy() const;

  const Kind kind_;
  const bool counted_;
  int leaves_;
  mutable std::atomic<int64_t> refs_{1};  // if counted_
  const std::vector<StructureRef> children_;
  const std::vector<std::string> names_;
  const ForeignRef form_;
  const void* const foreign_;
};

inline StructureRef::StructureRef(const Structure* structure)
    : bits_(reinterpret_cast<uintptr_t>(structure)) {
  if (structure && structure->counted_) {
    bits_ |= kCounted;
    Retain();
  }
}

// relaxed: the copier holds a reference, or another owner keeps one meanwhile.
inline void StructureRef::Retain() const { get()->refs_.fetch_add(1, std::memory_order_relaxed); }

inline void StructureRef::Release() const {
  // acq_rel: the release half orders this owner's reads before the destruction; the acquire half
  // lets the last owner's destruction follow the reads of the others.
  if (get()->refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) get()->Destroy();
}

// For each leaf of `to`, its index in `from`; empty if they differ in more than the order of dict
// keys.
std::vector<int> LeafOrder(const Structure* from, const Structure* to);

// Reorders leaves, or columns of them, as in `wanted`. Returns false, without changes, if the
// structures differ in more than the order of dict keys.
template <typename Leaves>
bool Conform(const Structure* structure, Leaves& leaves, const Structure* wanted) {
  if (structure == wanted) return true;
  const std::vector<int> order = LeafOrder(structure, wanted);
  if (order.empty()) return false;
  Leaves ordered;
  ordered.reserve(order.size());
  for (int from : order) ordered.push_back(std::move(leaves[static_cast<size_t>(from)]));
  leaves = std::move(ordered);
  return true;
}

}  // namespace penstock
