// Builds the arrays of a pack.
#include "stages/pack/packing.h"

#include <cstring>

#include "data/random.h"

namespace penstock {

void OpenPack::Add(Segment segment) {
  used.resize(segment.leaves.size());
  for (size_t i = 0; i < used.size(); ++i) used[i] += segment.leaves[i].elements();
  segments.push_back(std::move(segment));
}

bool PackLayout::Fits(const OpenPack& pack, const Segment& segment) const {
  for (size_t i = 0; i < leaves(); ++i) {
    if (pack.used[i] + segment.leaves[i].elements() > length(i)) return false;
  }
  return true;
}

bool PackLayout::Full(const OpenPack& pack) const {
  for (size_t i = 0; i < leaves(); ++i) {
    if (pack.used[i] < length(i)) return false;
  }
  return true;
}

Element PackLayout::Make(const OpenPack& pack) const {
  std::vector<Tensor> values, ids, positions;
  for (size_t leaf = 0; leaf < leaves(); ++leaf) {
    const size_t size = dtypes_[leaf].itemsize;
    const Shape shape{length(leaf)};
    Tensor value = Tensor::Make(dtypes_[leaf], shape);
    Tensor id = Tensor::Make(DTypeOf<int32_t>(), shape);
    Tensor position = Tensor::Make(DTypeOf<int32_t>(), shape);
    auto* to = value.mutable_data();
    auto* id_to = reinterpret_cast<int32_t*>(id.mutable_data());
    auto* position_to = reinterpret_cast<int32_t*>(position.mutable_data());
    int32_t number = 0;
    for (const Segment& segment : pack.segments) {
      const Tensor& part = segment.leaves[leaf];
      ++number;
      if (part.nbytes()) std::memcpy(to, part.data(), part.nbytes());
      to += part.nbytes();
      for (int64_t i = 0; i < part.elements(); ++i) {
        *id_to++ = number;
        *position_to++ = static_cast<int32_t>(i);
      }
    }
    const auto& padding = leaves_[leaf].value;
    for (int64_t i = pack.used[leaf]; i < length(leaf); ++i, to += size) {
      if (padding)
        std::memcpy(to, padding->data(), size);
      else
        std::memset(to, 0, size);
      *id_to++ = 0;
      *position_to++ = 0;
    }
    values.push_back(std::move(value));
    ids.push_back(std::move(id));
    positions.push_back(std::move(position));
  }
  Element element;
  element.structure = Structure::Tuple({structure_, structure_, structure_});
  for (auto* part : {&values, &ids, &positions}) {
    for (Tensor& leaf : *part) element.leaves.push_back(std::move(leaf));
  }
  element.origin = pack.origin;
  // One element may start several packs.
  uint64_t child = ~static_cast<uint64_t>(pack.segments.front().part);
  element.origin.key = ChildKey(pack.origin.key, child);
  return element;
}

}  // namespace penstock
