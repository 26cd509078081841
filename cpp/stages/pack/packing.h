// Packs in the making: rows of fixed length that sequences are put into, one behind the other.
#pragma once

#include <memory>
#include <vector>

#include "data/padding_rules.h"

namespace penstock {

// A part of an element: which one says the position of the element in the input and a number.
struct Segment {
  int64_t position = 0;
  int64_t part = 0;            // where it begins, or the number of the piece
  int64_t items = 0;           // 0: as many as the piece has
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
