// Packs that are being filled: rows of fixed length that sequences are put into, one after the
// other.
#pragma once

#include <memory>
#include <vector>

#include "data/padding_rules.h"

namespace penstock {

// A segment of an element, identified by the element's position in the input and a number.
struct Segment {
  int64_t position = 0;
  int64_t part = 0;            // where it begins, or its number
  int64_t items = 0;           // 0: all of a numbered one
  std::vector<Tensor> leaves;  // 1-D views; none while it waits to be pulled again
};

struct OpenPack {
  int64_t number = 0;  // of all packs begun
  Origin origin;       // of the first segment
  std::vector<Segment> segments;
  std::vector<int64_t> used;  // items of each leaf

  void Add(Segment segment);
};

// What all packs of a run have in common.
class PackLayout {
 public:
  PackLayout(const Structure* structure, std::vector<DType> dtypes, std::vector<LeafPadding> leaves)
      : structure_(structure), dtypes_(std::move(dtypes)), leaves_(std::move(leaves)) {}

  const Structure* structure() const { return structure_; }
  size_t leaves() const { return leaves_.size(); }
  int64_t length(size_t leaf) const { return leaves_[leaf].shape[0]; }
  const std::vector<DType>& dtypes() const { return dtypes_; }
  bool Fits(const OpenPack& pack, const Segment& segment) const;
  // No leaf has room for another item.
  bool Full(const OpenPack& pack) const;
  // (values, segment ids, positions), each nested as elements are.
  Element Make(const OpenPack& pack) const;

 private:
  StructureRef structure_;
  std::vector<DType> dtypes_;
  std::vector<LeafPadding> leaves_;
};

}  // namespace penstock
