// numpy_rows: the rows of arrays in NumPy's files, which are mapped into memory, with random
// access.
#include <algorithm>
#include <cstring>

#include "data/gather_rows.h"
#include "engine/registry.h"
#include "runtime/blocking.h"
#include "storage/mapped_file.h"
#include "storage/npy.h"

namespace penstock {
namespace {

// The arrays of one file, in the order of the leaves; all have as many rows.
struct NumpyFile {
  std::vector<NpyArray> arrays;
  int64_t first = 0;  // row of the dataset
  int64_t rows = 0;
};

// `name` is that of an array in a .npz file.
NpyArray OpenArray(const BufferRef& bytes, const std::string& path, std::string_view name) {
  const std::string owner = "NumpyDataset: " + path;
  for (const NpzMember& member : ReadNpzDirectory(bytes, owner)) {
    if (member.name == name) return ReadNpzMember(bytes, member, owner);
  }
  throw Error(ErrorKind::kInvalidArgument, "{}: an array '{}' was expected, and the file has none",
              owner, name);
}

bool IsZip(const BufferRef& bytes) {
  return bytes->size() >= 4 && std::memcmp(bytes->data(), "PK", 2) == 0;
}

class NumpyRows final : public Dataset, public Indexed {
 public:
  // `names`: for each leaf that of its array, or "" for the only array of a .npy file.
  NumpyRows(const Tensor& paths, const Element& names) : structure_(names.structure) {
    for (int64_t i = 0; i < paths.elements(); ++i) {
      const std::string path(paths.string(i));
      try {
        Add(path, names.leaves);
      } catch (Error& error) {
        Origin origin;
        origin.file = std::make_shared<const std::string>(path);
        throw error.At(std::move(origin));
      }
    }
  }

  int64_t cardinality() const override { return rows_; }
  MaybeSpec spec() const override { return ElementSpec{structure_, leaves_}; }
  const Indexed* indexed() const override { return this; }
  int64_t size() const override { return rows_; }

  Block Rows(int64_t first, int64_t count) const override {
    Block block = Begun(count);
    block.origins = RowOrigins::From(first);
    const NumpyFile& file = FileOf(first);
    const bool one = first - file.first + count <= file.rows;
    for (size_t leaf = 0; leaf < leaves_.size(); ++leaf) {
      const NpyArray* array = one ? &file.arrays[leaf] : nullptr;
      if (array && IsAligned(*array)) {
        block.columns.push_back(Tensor::View(leaves_[leaf].dtype,
                                             leaves_[leaf].shape.Prepend(count), array->bytes,
                                             array->begin + Bytes(leaf) * RowIn(file, first)));
        continue;
      }
      block.columns.push_back(Copied(leaf, first, count));
    }
    return block;
  }

  Block Gather(const int64_t* indices, int64_t count) const override {
    LeaveForeignLock();  // what is not in memory yet is read
    Block block = Begun(count);
    block.origins.keys.assign(indices, indices + count);
    for (size_t leaf = 0; leaf < leaves_.size(); ++leaf) {
      Tensor column = Tensor::Make(leaves_[leaf].dtype, leaves_[leaf].shape.Prepend(count));
      uint8_t* to = column.mutable_data();
      const size_t bytes = Bytes(leaf);
      if (files_.size() == 1) {
        GatherRows(to, Begin(files_[0], leaf), bytes, indices, count);
      } else {
        for (int64_t i = 0; i < count; ++i) {
          const NumpyFile& file = FileOf(indices[i]);
          std::memcpy(to + static_cast<size_t>(i) * bytes,
                      Begin(file, leaf) + bytes * RowIn(file, indices[i]), bytes);
        }
      }
      block.columns.push_back(std::move(column));
    }
    return block;
  }

 protected:
  IteratorPtr MakeIterator(const RunContext&) const override {
    return MakeRowIterator(shared_from_this(), *this);
  }

 private:
  void Add(const std::string& path, const std::vector<Tensor>& names) {
    const BufferRef bytes = MapFile(path);
    const bool zip = IsZip(bytes);
    NumpyFile file;
    file.first = rows_;
    for (const Tensor& name : names) {
      const std::string_view wanted = name.string();
      if (zip && wanted.empty()) {
        throw Error(
            ErrorKind::kInvalidArgument,
            "NumpyDataset: {}: a .npy file was expected, got a .npz file; give its arrays by "
            "their names",
            path);
      }
      if (!zip && !wanted.empty()) {
        throw Error(ErrorKind::kData,
                    "NumpyDataset: {}: a .npz file with an array '{}' was expected, got one that "
                    "does not begin so",
                    path, wanted);
      }
      file.arrays.push_back(zip ? OpenArray(bytes, path, wanted)
                                : ReadNpy(bytes, 0, bytes->size(), "NumpyDataset: " + path));
    }
    file.rows = file.arrays.at(0).shape[0];
    for (size_t leaf = 0; leaf < file.arrays.size(); ++leaf) Check(path, file, leaf);
    rows_ += file.rows;
    if (file.rows > 0 || files_.empty()) files_.push_back(std::move(file));
  }

  void Check(const std::string& path, const NumpyFile& file, size_t leaf) {
    const NpyArray& array = file.arrays[leaf];
    if (array.shape[0] != file.rows) {
      throw Error(ErrorKind::kInvalidArgument,
                  "NumpyDataset: {}: arrays of as many rows were expected, got {} and, in "
                  "element{}, {}",
                  path, file.rows, structure_->LeafPath(static_cast<int>(leaf)), array.shape[0]);
    }
    LeafSpec came{array.dtype, array.shape.WithoutFirst(), false};
    if (leaves_.size() == leaf) {
      leaves_.push_back(came);
    } else if (!(leaves_[leaf] == came)) {
      throw Error(ErrorKind::kInvalidArgument,
                  "NumpyDataset: {}: rows of {} were expected, as in the first file, got {}", path,
                  leaves_[leaf].ToString(), came.ToString());
    }
  }

  Block Begun(int64_t count) const {
    Block block;
    block.structure = structure_;
    block.rows = count;
    return block;
  }
  // The file that has a row; the first one where there are no rows.
  const NumpyFile& FileOf(int64_t row) const {
    if (files_.size() == 1) return files_[0];
    auto after = std::upper_bound(files_.begin() + 1, files_.end(), row,
                                  [](int64_t r, const NumpyFile& file) { return r < file.first; });
    return *(after - 1);
  }
  static size_t RowIn(const NumpyFile& file, int64_t row) {
    return static_cast<size_t>(row - file.first);
  }
  size_t Bytes(size_t leaf) const {
    return static_cast<size_t>(leaves_[leaf].shape.elements()) * leaves_[leaf].dtype.itemsize;
  }
  static const uint8_t* Begin(const NumpyFile& file, size_t leaf) {
    return file.arrays[leaf].bytes->data() + file.arrays[leaf].begin;
  }
  // Whether numbers lie where the CPU wants them: np.savez puts them anywhere.
  static bool IsAligned(const NpyArray& array) {
    constexpr size_t kAlign = 16;
    return array.begin % std::min<size_t>(array.dtype.itemsize, kAlign) == 0;
  }

  Tensor Copied(size_t leaf, int64_t first, int64_t count) const {
    LeaveForeignLock();
    Tensor column = Tensor::Make(leaves_[leaf].dtype, leaves_[leaf].shape.Prepend(count));
    uint8_t* to = column.mutable_data();
    const size_t bytes = Bytes(leaf);
    while (count > 0) {
      const NumpyFile& file = FileOf(first);
      const int64_t rows = std::min(count, file.rows - (first - file.first));
      const size_t size = static_cast<size_t>(rows) * bytes;
      std::memcpy(to, Begin(file, leaf) + bytes * RowIn(file, first), size);
      to += size;
      first += rows;
      count -= rows;
    }
    return column;
  }

  const StructureRef structure_;
  std::vector<LeafSpec> leaves_;  // of a row
  std::vector<NumpyFile> files_;  // with rows; at least one
  int64_t rows_ = 0;
};

const RegisterDataset numpy_rows_stage(
    "numpy_rows",
    {.reads = "filenames",
     .format = "NumpyDataset",
     .arguments = {{"filenames", ArgumentForm::kValue}, {"arrays", ArgumentForm::kValue}}},
    [](const std::vector<DatasetPtr>&, const Args& args) -> std::shared_ptr<Dataset> {
      return std::make_shared<NumpyRows>(args.Nested("filenames").leaves.at(0),
                                         args.Nested("arrays"));
    });

}  // namespace
}  // namespace penstock
