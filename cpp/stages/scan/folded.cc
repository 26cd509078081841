// Calls a function with the current value, and checks, saves and restores the value.
#include "stages/scan/folded.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "storage/chunk/chunk.h"

namespace penstock {
namespace {

[[noreturn]] void ThrowDamaged() {
  throw Error(
      ErrorKind::kInvalidArgument,
      "set_state: the state holds a value of another kind than initial_state; use the bytes "
      "of get_state unchanged, and the pipeline as it was");
}

Shape ShapeOf(const std::vector<int64_t>& dims, size_t most) {
  if (dims.size() > static_cast<size_t>(kMaxRank)) ThrowDamaged();
  // At most as many items as there are bytes. Neither their product may overflow, nor the product
  // of the non-zero sizes: a size of 0 may occur at any axis.
  size_t items = 1;
  const bool empty = std::find(dims.begin(), dims.end(), 0) != dims.end();
  if (empty) most = size_t{1} << 56;
  for (int64_t size : dims) {
    if (size < 0 || (size > 0 && items > most / static_cast<size_t>(size))) ThrowDamaged();
    if (size > 0) items *= static_cast<size_t>(size);
  }
  return {dims.data(), dims.size()};
}

void VisitType(StateVisitor& visitor, DType dtype) {
  std::string name = dtype.name();
  visitor.Text(name);
  if (name != dtype.name()) ThrowDamaged();
}

void SaveLeaf(StateVisitor& visitor, const Tensor& leaf) {
  std::vector<int64_t> dims(leaf.shape().dims().begin(), leaf.shape().dims().end());
  visitor.Ints(dims);
  std::string bytes;
  std::vector<int64_t> sizes;
  if (leaf.dtype().is_reference()) {
    for (int64_t i = 0, n = leaf.elements(); i < n; ++i) {
      bytes += leaf.string(i);
      sizes.push_back(static_cast<int64_t>(leaf.string(i).size()));
    }
    visitor.Ints(sizes);
  } else {
    bytes.assign(reinterpret_cast<const char*>(leaf.data()), leaf.nbytes());
  }
  visitor.Text(bytes);
}

Tensor RestoreLeaf(StateVisitor& visitor, DType dtype) {
  std::vector<int64_t> dims;
  visitor.Ints(dims);
  std::vector<int64_t> sizes;
  if (dtype.is_reference()) visitor.Ints(sizes);
  std::string bytes;
  visitor.Text(bytes);
  if (!dtype.is_reference()) {
    Shape shape = ShapeOf(dims, bytes.size());
    if (static_cast<size_t>(shape.elements()) * dtype.itemsize != bytes.size()) ThrowDamaged();
    if (!AreItems(dtype, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size())) {
      ThrowDamaged();
    }
    if (shape.rank() == 0) return Tensor::ScalarBytes(dtype, bytes.data());
    Tensor leaf = Tensor::Make(dtype, shape);
    std::memcpy(leaf.mutable_data(), bytes.data(), bytes.size());
    return leaf;
  }
  Shape shape = ShapeOf(dims, sizes.size());
  if (static_cast<size_t>(shape.elements()) != sizes.size()) ThrowDamaged();
  std::vector<std::string_view> items;
  std::string_view left = bytes;
  for (int64_t size : sizes) {
    if (size < 0 || static_cast<size_t>(size) > left.size()) ThrowDamaged();
    items.push_back(left.substr(0, static_cast<size_t>(size)));
    left.remove_prefix(static_cast<size_t>(size));
  }
  if (!left.empty()) ThrowDamaged();
  if (shape.rank() == 0) return Tensor::String(dtype.code, items[0]);
  return Tensor::Strings(dtype.code, shape, items);
}

}  // namespace

Folded::Folded(const char* stage, Element initial)
    : stage_(stage), initial_(ElementSpec::Of(initial)), value_(std::move(initial)) {
  for (const LeafSpec& leaf : initial_.leaves)
    opaque_ = opaque_ || leaf.dtype.code == TypeCode::kObject;
}

Element Folded::Call(Function& function, const CallInfo& info, Element element) {
  if (!interrupted()) {
    Element both;
    both.structure = Structure::Tuple({value_.structure, element.structure});
    both.origin = element.origin;
    both.leaves = value_.leaves;
    std::move(element.leaves.begin(), element.leaves.end(), std::back_inserter(both.leaves));
    pending_.structure = both.structure;
    pending_.rows = 1;
    pending_.origins.first = both.origin;
    pending_.elements.clear();
    pending_.elements.push_back(std::move(both));
  }
  std::vector<Block> made;
  try {
    function.Map(std::move(pending_), info, made);
  } catch (const Error&) {  // interrupted: pending_ holds the arguments for the next call
    throw;
  } catch (...) {
    pending_ = Block();
    throw;
  }
  pending_ = Block();
  for (Block& block : made) {
    if (block.error) throw *std::move(block.error);
    if (block.rows > 0) return block.Row(0);
  }
  throw Error(ErrorKind::kRuntime, "{}: the function gave no result", std::string_view(stage_));
}

void Folded::Set(const Structure* structure, const Element& result) {
  std::vector<Tensor> leaves = result.leaves;
  leaves.resize(static_cast<size_t>(structure->leaves()));
  ElementSpec came{structure, {}};
  for (const Tensor& leaf : leaves) came.leaves.push_back({leaf.dtype(), leaf.shape(), false});
  bool fits = Conform(structure, leaves, initial_.structure);
  for (size_t i = 0; fits && i < leaves.size(); ++i)
    fits = leaves[i].dtype() == initial_.leaves[i].dtype;
  if (!fits) {
    throw Error(
        ErrorKind::kType,
        "{}: the new state must have the structure and dtypes of initial_state, {}, got {}; "
        "give initial_state the type that the function returns",
        std::string_view(stage_), initial_.ToString(), came.ToString());
  }
  std::ranges::move(leaves, value_.leaves.begin());
}

void Folded::VisitState(StateVisitor& visitor) {
  for (size_t i = 0; i < value_.leaves.size(); ++i) {
    VisitType(visitor, initial_.leaves[i].dtype);
    if (visitor.saving())
      SaveLeaf(visitor, value_.leaves[i]);
    else
      value_.leaves[i] = RestoreLeaf(visitor, initial_.leaves[i].dtype);
  }
}

}  // namespace penstock
