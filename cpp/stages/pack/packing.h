// Packs being filled: rows of fixed length that hold concatenated sequences.
#pragma once

#include <memory>
#include <vector>

#include "data/padding_rules.h"

namespace penstock {

// A segment of an element, identified by the element's position in the input and the part.
struct Segment {
  int64_t position = 0;
  int64_t part = 0;            // start offset, or part number
  int64_t items = 0;           // 0: all items of a numbered part
  std::vector<Tensor> leaves;  // 1-D views; empty while it waits to be pulled again
};

struct OpenPack {
  int64_t number = 0;  // among all packs started
  Origin origin;       // of the first segment
  std::vector<Segment> segments;
  std::vector<int64_t> used;  // items used per leaf

  void Add(Segment segment);
};

// The properties shared by all packs of a run.
class PackLayout {
 public:
  PackLayout(const Structure* structure, std::vector<DType> dtypes, std::vector<LeafPadding> leaves)
      : structure_(structure), dtypes_(std::move(dtypes)), leaves_(std::move(leaves)) {}

  const Structure* structure() const { return structure_; }
  size_t leaves() const { return leaves_.size(); }
  int64_t length(size_t leaf) const { return leaves_[leaf].shape[0]; }
  const std::vector<DType>& dtypes() const { return dtypes_; }
  bool Fits(const OpenPack& pack, const Segment& segment) const;
  // Whether no leaf has room for another item.
  bool Full(const OpenPack& pack) const;
  // Returns (values, segment ids, positions), each nested like the elements.
  Element Make(const OpenPack& pack) const;

 private:
  StructureRef structure_;
  std::vector<DType> dtypes_;
  std::vector<LeafPadding> leaves_;
};

}  // namespace penstock
