// from_tensors: one element; from_tensor_slices: the rows of arrays in memory, with random access.
#include <string_view>
#include <vector>

#include "data/gather_rows.h"
#include "engine/random_access.h"
#include "engine/registry.h"
#include "runtime/blocking.h"

namespace penstock {
namespace {

class TensorsDataset final : public Dataset, public RandomAccess {
 public:
  explicit TensorsDataset(Element element) : element_(std::move(element)) {}
  int64_t cardinality() const override { return 1; }
  MaybeSpec spec() const override { return ElementSpec::Of(element_); }
  Step At(int64_t, const RunContext&) const override { return element_; }
  const Element& element() const { return element_; }

 protected:
  IteratorPtr MakeIterator(const RunContext&) const override;

 private:
  Element element_;
};

class TensorsIterator final : public Iterator {
 public:
  explicit TensorsIterator(std::shared_ptr<const TensorsDataset> data) : data_(std::move(data)) {}
  void VisitState(StateVisitor& visitor) override { visitor.Bool(done_); }

 protected:
  Step DoNext() override {
    if (done_) return End{};
    done_ = true;
    return data_->element();
  }

 private:
  std::shared_ptr<const TensorsDataset> data_;
  bool done_ = false;
};

IteratorPtr TensorsDataset::MakeIterator(const RunContext&) const {
  return std::make_unique<TensorsIterator>(
      std::static_pointer_cast<const TensorsDataset>(shared_from_this()));
}

Tensor GatherReferences(const Tensor& column, const int64_t* indices, int64_t rows) {
  Shape shape = column.shape();
  shape[0] = rows;
  int64_t items = 1;
  for (int i = 1; i < shape.rank(); ++i) items *= shape[i];
  if (column.storage() == Storage::kPacked) {
    std::vector<std::string_view> found;
    found.reserve(static_cast<size_t>(rows * items));
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t i = 0; i < items; ++i) found.push_back(column.string(indices[row] * items + i));
    }
    return Tensor::Strings(column.dtype().code, shape, found);
  }
  BufferRef pointers =
      Buffer::Allocate(static_cast<size_t>(rows * items) * sizeof(void*), {column.buffer()});
  GatherRows(pointers->data(), reinterpret_cast<const uint8_t*>(column.objects()),
             static_cast<size_t>(items) * sizeof(void*), indices, rows);
  return Tensor::Objects(column.dtype().code, shape, std::move(pointers));
}

class SlicesDataset final : public Dataset, public Indexed {
 public:
  explicit SlicesDataset(Element element) : element_(std::move(element)) {
    if (element_.leaves.empty()) {
      throw Error(ErrorKind::kInvalidArgument,
                  "from_tensor_slices: at least one array was expected, got none");
    }
    for (size_t i = 0; i < element_.leaves.size(); ++i) {
      const Shape& shape = element_.leaves[i].shape();
      std::string path = element_.structure->LeafPath(static_cast<int>(i));
      if (shape.rank() == 0) {
        throw Error(ErrorKind::kInvalidArgument,
                    "from_tensor_slices: tensors{} is a scalar, arrays with a first axis were "
                    "expected; use from_tensors for a single element",
                    path);
      }
      if (i == 0) size_ = shape[0];
      if (shape[0] != size_) {
        throw Error(ErrorKind::kInvalidArgument,
                    "from_tensor_slices: tensors{} has {} rows, the first array has {}", path,
                    shape[0], size_);
      }
    }
  }

  int64_t cardinality() const override { return size_; }
  MaybeSpec spec() const override { return ElementSpec::Of(element_).Unstacked(); }
  const Indexed* indexed() const override { return this; }
  int64_t size() const override { return size_; }

  Block Rows(int64_t first, int64_t rows) const override {
    Block block;
    block.structure = element_.structure;
    block.rows = rows;
    for (auto& leaf : element_.leaves) block.columns.push_back(leaf.Rows(first, rows));
    block.origins = RowOrigins::From(first);
    return block;
  }

  Block Gather(const int64_t* indices, int64_t rows) const override {
    Block block;
    block.structure = element_.structure;
    block.rows = rows;
    block.origins.keys.assign(indices, indices + rows);
    for (auto& leaf : element_.leaves) {
      if (leaf.dtype().is_reference()) {
        block.columns.push_back(GatherReferences(leaf, indices, rows));
        continue;
      }
      Shape shape = leaf.shape();
      shape[0] = rows;
      Tensor column = Tensor::Make(leaf.dtype(), shape);
      LeaveForeignLockToCopy(column.nbytes());
      size_t bytes = rows ? column.nbytes() / static_cast<size_t>(rows) : 0;
      GatherRows(column.mutable_data(), leaf.data(), bytes, indices, rows);
      block.columns.push_back(std::move(column));
    }
    return block;
  }

 protected:
  IteratorPtr MakeIterator(const RunContext&) const override;

 private:
  Element element_;
  int64_t size_ = 0;
};

IteratorPtr SlicesDataset::MakeIterator(const RunContext&) const {
  return MakeRowIterator(shared_from_this(), *this);
}

const RegisterDataset from_tensors_stage(
    "from_tensors", {.arguments = {{"tensors", ArgumentForm::kSharedValue}}},
    [](const std::vector<DatasetPtr>&, const Args& args) -> std::shared_ptr<Dataset> {
      return std::make_shared<TensorsDataset>(args.Nested("tensors"));
    });
const RegisterDataset from_tensor_slices_stage(
    "from_tensor_slices", {.arguments = {{"tensors", ArgumentForm::kSharedValue}}},
    [](const std::vector<DatasetPtr>&, const Args& args) -> std::shared_ptr<Dataset> {
      return std::make_shared<SlicesDataset>(args.Nested("tensors"));
    });

}  // namespace
}  // namespace penstock
