// numpy_rows: the rows of arrays in NumPy files, read on demand, with random access.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/registry.h"
#include "runtime/blocking.h"
#include "runtime/memory.h"
#include "storage/npy.h"
#include "storage/open_files.h"
#include "storage/remote.h"

namespace penstock {
namespace {

using FilePtr = OpenFiles::FilePtr;

// A member of a .npz file. Its checksum covers all of its bytes, so all are read before the first
// row is returned. A decompressed member stays in memory. Thread-safe.
class MemberContents {
 public:
  explicit MemberContents(NpzMember member) : member_(std::move(member)) {}

  // Whether the items are in the .npz file itself. `open` opens that file for the calling thread
  // only. Call it without a foreign lock.
  template <typename Open>
  bool Prepare(const std::string& owner, const Open& open) {
    std::lock_guard lock(mutex_);
    if (ready_) return !inflated_;
    const auto file = open();
    if (member_.deflated) {
      inflated_ =
          MemoryFile(InflateNpzMember(*file, member_, owner), static_cast<size_t>(member_.size));
    } else {
      CheckNpzMember(*file, member_, owner);
    }
    ready_ = true;
    return !inflated_;
  }
  // Call after Prepare has returned false.
  const FilePtr& inflated() const { return inflated_; }

 private:
  const NpzMember member_;
  std::mutex mutex_;  // protects the fields below until ready_
  bool ready_ = false;
  FilePtr inflated_;  // null: the member is not compressed
};

struct NumpyArray {
  NpyArray of;
  std::unique_ptr<MemberContents> member = nullptr;  // null for a .npy file
};

// The arrays of one file, in the order of the leaves; all have as many rows.
struct NumpyFile {
  std::shared_ptr<const std::string> path;
  std::vector<NumpyArray> arrays;
  int64_t first = 0;  // index of its first row in the dataset
  int64_t rows = 0;
  FilePtr memory = nullptr;  // the contents of a remote file; null for a local file
  // The file's status when the dataset was created.
  int64_t size = 0;
  std::string version = "";

  std::string owner() const { return "NumpyDataset: " + *path; }
};

// Enumerates the items of an array stored in Fortran order, as their positions in C order.
class FortranOrder final {
 public:
  explicit FortranOrder(const Shape& shape) : shape_(shape), at_(shape.rank()) {
    int64_t stride = 1;
    strides_.resize(at_.size());
    for (size_t axis = at_.size(); axis-- > 0; stride *= shape[static_cast<int>(axis)]) {
      strides_[axis] = stride;
    }
  }

  size_t Next() {
    const int64_t now = position_;
    for (size_t axis = 0; axis < at_.size(); ++axis) {
      position_ += strides_[axis];
      if (++at_[axis] < shape_[static_cast<int>(axis)]) break;
      position_ -= at_[axis] * strides_[axis];
      at_[axis] = 0;
    }
    return static_cast<size_t>(now);
  }

 private:
  const Shape shape_;
  std::vector<int64_t> at_, strides_;
  int64_t position_ = 0;
};

bool IsZip(InputFile& file) {
  char first[2];
  return file.size() >= 4 && ReadFully(file, 0, first, sizeof(first)) &&
         std::memcmp(first, "PK", sizeof(first)) == 0;
}

class NumpyRows final : public Dataset, public Indexed {
 public:
  // `names`: the array of each leaf, or "" for the only array of a .npy file.
  NumpyRows(const Tensor& paths, const Element& names) : structure_(names.structure) {
    int64_t bytes = 0;
    for (int64_t i = 0; i < paths.elements(); ++i) {
      const auto path = std::make_shared<const std::string>(paths.string(i));
      try {
        bytes += Add(path, names.leaves);
      } catch (Error& error) {
        Origin origin;
        origin.file = path;
        throw error.At(std::move(origin));
      }
    }
    // Larger data would not stay in the page cache.
    fits_ = bytes <= AvailableMemory() / 4;
  }

  int64_t cardinality() const override { return rows_; }
  MaybeSpec spec() const override { return ElementSpec{structure_, leaves_}; }
  const Indexed* indexed() const override { return this; }
  int64_t size() const override { return rows_; }

  Block Rows(int64_t first, int64_t count) const override {
    LeaveForeignLock();
    return RowsOrError(first, count, [&](int64_t most) { return ReadInOrder(first, most); });
  }
  Block Gather(const int64_t* indices, int64_t count) const override {
    LeaveForeignLock();
    return RowsOrError(count > 0 ? indices[0] : 0, count,
                       [&](int64_t most) { return ReadAny(indices, most); });
  }

 protected:
  IteratorPtr MakeIterator(const RunContext&) const override {
    return MakeRowIterator(shared_from_this(), *this);
  }

 private:
  // Returns the size of a local file in bytes.
  int64_t Add(const std::shared_ptr<const std::string>& path, const std::vector<Tensor>& names) {
    NumpyFile file;
    file.path = path;
    const std::string owner = file.owner();
    FilePtr opened;
    if (IsRemote(*path)) {
      size_t size = 0;
      BufferRef bytes = ReadWholeFile(*path, &size);
      opened = file.memory = MemoryFile(std::move(bytes), size);
    } else {
      opened = OpenFile(*path, {.throughout = false});
      if (opened->size() < 0) {
        throw Error::FromErrno(EINVAL, *path, "cannot read (a regular file was expected)");
      }
    }
    file.size = opened->size();
    file.version = opened->version();
    file.first = rows_;
    const bool zip = IsZip(*opened);
    const auto members = zip ? ReadNpzDirectory(*opened, owner) : std::vector<NpzMember>();
    for (const Tensor& name : names) {
      file.arrays.push_back(Array(*opened, zip, members, name.string(), *path));
    }
    file.rows = file.arrays.at(0).of.shape[0];
    for (size_t leaf = 0; leaf < file.arrays.size(); ++leaf) Check(*path, file, leaf);
    rows_ += file.rows;
    const int64_t bytes = file.memory ? 0 : file.size;
    if (file.rows > 0 || files_.empty()) files_.push_back(std::move(file));
    return bytes;
  }

  static NumpyArray Array(InputFile& file, bool zip, const std::vector<NpzMember>& members,
                          std::string_view name, const std::string& path) {
    if (zip && name.empty()) {
      throw Error(ErrorKind::kInvalidArgument,
                  "NumpyDataset: {}: a .npy file was expected, got a .npz file; give its arrays by "
                  "their names",
                  path);
    }
    if (!zip && !name.empty()) {
      throw Error(ErrorKind::kData,
                  "NumpyDataset: {}: a .npz file with an array '{}' was expected, got a file of "
                  "another format",
                  path, name);
    }
    const std::string owner = "NumpyDataset: " + path;
    if (!zip) return {ReadNpyHeader(file, owner)};
    const NpzMember* member = FindNpzMember(members, name);
    if (!member) {
      throw Error(ErrorKind::kInvalidArgument,
                  "{}: an array '{}' was expected, but the file has none", owner, name);
    }
    return {ReadNpzHeader(file, *member, owner), std::make_unique<MemberContents>(*member)};
  }

  void Check(const std::string& path, const NumpyFile& file, size_t leaf) {
    const NpyArray& array = file.arrays[leaf].of;
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
  // The file that contains a row; the first file if there are no rows.
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
  // The offset of a leaf's row in its file.
  int64_t OffsetOf(const NumpyFile& file, size_t leaf, int64_t row) const {
    return static_cast<int64_t>(file.arrays[leaf].of.begin + Bytes(leaf) * RowIn(file, row));
  }

  // --- opening ---

  FilePtr Open(const NumpyFile& file) const {
    if (file.memory) return file.memory;
    return open_.Get(static_cast<size_t>(&file - files_.data()), [&] {
      FilePtr opened = OpenFile(*file.path, {.throughout = false});
      RequireSame(file, *opened);
      if (fits_) opened->Map();
      return opened;
    });
  }
  // The file that contains the items of an array.
  FilePtr FileWith(const NumpyFile& file, size_t leaf) const {
    MemberContents* member = file.arrays[leaf].member.get();
    if (!member) return Open(file);
    const bool stored = member->Prepare(file.owner(), [&]() -> FilePtr {
      if (file.memory) return file.memory;
      FilePtr opened = OpenFile(*file.path);
      RequireSame(file, *opened);
      return opened;
    });
    return stored ? Open(file) : member->inflated();
  }

  void RequireSame(const NumpyFile& file, InputFile& opened) const {
    if (file.memory || (opened.size() == file.size && opened.version() == file.version)) return;
    throw Error(ErrorKind::kData,
                "{} was modified after this dataset was created (it had {} bytes, now it has {}); "
                "create the dataset again",
                file.owner(), file.size, opened.size());
  }

  // Call after a read. Throws unless the read was `whole` and the file is unchanged.
  void RequireRead(bool whole, const NumpyFile& file, size_t leaf, InputFile& opened) const {
    if (!file.arrays[leaf].member || !file.arrays[leaf].member->inflated()) {
      RequireSame(file, opened);
    }
    if (whole) return;
    throw Error(ErrorKind::kData, "{} ends before its last row", file.owner());
  }

  template <typename Read>
  auto Located(const NumpyFile& file, const Read& read) const {
    try {
      return read();
    } catch (Error& error) {
      if (error.transient()) throw;
      Origin origin;
      origin.file = file.path;
      throw error.At(std::move(origin));
    }
  }

  // --- reading ---

  Block ReadInOrder(int64_t first, int64_t count) const {
    constexpr size_t kMostBytes = size_t{256} << 20;  // of several rows
    size_t row = 1;
    for (size_t leaf = 0; leaf < leaves_.size(); ++leaf) row += Bytes(leaf);
    count = std::clamp<int64_t>(static_cast<int64_t>(kMostBytes / row), 1, count);
    Block block = Begun(count);
    block.origins = RowOrigins::From(first);
    for (size_t leaf = 0; leaf < leaves_.size(); ++leaf) {
      block.columns.push_back(InOrder(leaf, first, count));
    }
    return block;
  }

  Tensor InOrder(size_t leaf, int64_t first, int64_t count) const {
    const Shape shape = leaves_[leaf].shape.Prepend(count);
    const size_t bytes = Bytes(leaf);
    Tensor column;
    uint8_t* to = nullptr;
    while (count > 0) {
      const NumpyFile& file = FileOf(first);
      const int64_t rows = std::min(count, file.rows - (first - file.first));
      const size_t size = static_cast<size_t>(rows) * bytes;
      const bool done = Located(file, [&] {
        const FilePtr opened = FileWith(file, leaf);
        const bool scattered = file.arrays[leaf].of.fortran;
        const int64_t offset = OffsetOf(file, leaf, first);
        const ScopedBlockingHook none(nullptr);  // threads share the file
        if (!to && rows == count && !scattered) {
          const LentBytes lent = opened->Lend(offset, size);
          if (lent.size == size && IsAligned(lent, leaf)) {
            column = Tensor::View(leaves_[leaf].dtype, shape, lent.memory, lent.position);
            return true;
          }
        }
        if (!to) {
          column = Tensor::Make(leaves_[leaf].dtype, shape);
          to = column.mutable_data();
        }
        const bool whole = scattered ? ReadScattered(*opened, file, leaf, first, rows, to)
                                     : ReadStretch(*opened, offset, to, size);
        RequireRead(whole, file, leaf, *opened);
        return false;
      });
      if (done) break;
      to += size;
      first += rows;
      count -= rows;
    }
    return column;
  }
  // Returns false if the file ends early. If the file is likely to be cached, reads in pieces that
  // ReadReady copies from memory.
  bool ReadStretch(InputFile& file, int64_t offset, uint8_t* to, size_t size) const {
    constexpr size_t kPiece = size_t{64} << 10;
    constexpr size_t kTogether = 16;
    while (fits_ && size > 0) {
      std::array<ByteRange, kTogether> pieces;
      size_t count = 0;
      for (; count < kTogether && size > 0; ++count) {
        const size_t piece = std::min(size, kPiece);
        pieces[count] = {offset, to, piece};
        offset += static_cast<int64_t>(piece);
        to += piece;
        size -= piece;
      }
      if (!ReadAll(file, std::span(pieces.data(), count))) return false;
    }
    return ReadFully(file, offset, to, size);
  }
  // Requests all ranges before waiting for any.
  static bool ReadAll(InputFile& file, std::span<ByteRange> ranges) {
    file.ReadReady(ranges);
    return std::ranges::all_of(ranges, [&](const ByteRange& range) {
      return ReadFully(file, range.offset + static_cast<int64_t>(range.ready),
                       range.to + range.ready, range.size - range.ready);
    });
  }

  // Reads rows of an array in Fortran order. Each item of a row lies in a different column of the
  // file, and each column holds the items of all rows consecutively. Returns false if the file ends
  // early.
  bool ReadScattered(InputFile& opened, const NumpyFile& file, size_t leaf, int64_t first,
                     int64_t count, uint8_t* to) const {
    constexpr size_t kMostRanges = 1024;
    constexpr size_t kMostBytes = size_t{1} << 20;
    const LeafSpec& spec = leaves_[leaf];
    const size_t item = spec.dtype.itemsize, stretch = static_cast<size_t>(count) * item;
    const size_t most = std::clamp<size_t>(kMostBytes / stretch, 1, kMostRanges);
    const auto columns = static_cast<size_t>(spec.shape.elements());
    std::vector<uint8_t> items(std::min(most, columns) * stretch);
    std::vector<ByteRange> ranges;
    auto offset = static_cast<int64_t>(file.arrays[leaf].of.begin + RowIn(file, first) * item);
    FortranOrder place(spec.shape);
    for (size_t done = 0; done < columns;) {
      ranges.clear();
      for (; done < columns && ranges.size() < most; ++done) {
        ranges.push_back({offset, items.data() + ranges.size() * stretch, stretch});
        offset += file.rows * static_cast<int64_t>(item);
      }
      if (!ReadAll(opened, ranges)) return false;
      for (const ByteRange& range : ranges) {
        Spread(range.to, item, count, to + place.Next() * item, Bytes(leaf));
      }
    }
    return true;
  }

  // Copies `count` items to addresses `stride` bytes apart.
  static void Spread(const uint8_t* from, size_t item, int64_t count, uint8_t* to, size_t stride) {
    auto spread = [&](auto size) {
      for (int64_t i = 0; i < count; ++i, from += size, to += stride) std::memcpy(to, from, size);
    };
    switch (item) {
      case 1:
        return spread(std::integral_constant<size_t, 1>());
      case 2:
        return spread(std::integral_constant<size_t, 2>());
      case 4:
        return spread(std::integral_constant<size_t, 4>());
      case 8:
        return spread(std::integral_constant<size_t, 8>());
      default:
        return spread(item);
    }
  }

  // Whether items are aligned for the CPU; np.savez does not align them.
  bool IsAligned(const LentBytes& bytes, size_t leaf) const {
    constexpr size_t kAlign = 16;
    const auto item = static_cast<size_t>(leaves_[leaf].dtype.itemsize);
    return bytes.size > 0 && bytes.position % std::min(item, kAlign) == 0;
  }

  Block ReadAny(const int64_t* indices, int64_t count) const {
    Block block = Begun(count);
    block.origins.keys.assign(indices, indices + count);
    for (size_t leaf = 0; leaf < leaves_.size(); ++leaf) {
      Tensor column = Tensor::Make(leaves_[leaf].dtype, leaves_[leaf].shape.Prepend(count));
      Collect(leaf, indices, count, column.mutable_data());
      block.columns.push_back(std::move(column));
    }
    return block;
  }

  // Requests all rows of one file before waiting for any.
  void Collect(size_t leaf, const int64_t* indices, int64_t count, uint8_t* to) const {
    const size_t bytes = Bytes(leaf);
    std::vector<int64_t> order;  // sorted by file; empty: there is only one file
    if (files_.size() > 1) {
      for (int64_t i = 0; i < count; ++i) order.push_back(i);
      std::ranges::sort(order, {}, [&](int64_t i) { return indices[i]; });
    }
    std::vector<ByteRange> ranges;
    ranges.reserve(static_cast<size_t>(count));
    for (int64_t done = 0; done < count;) {
      const NumpyFile& file = FileOf(indices[order.empty() ? 0 : order[static_cast<size_t>(done)]]);
      ranges.clear();
      for (; done < count; ++done) {
        const int64_t i = order.empty() ? done : order[static_cast<size_t>(done)];
        if (indices[i] >= file.first + file.rows) break;
        ranges.push_back(
            {OffsetOf(file, leaf, indices[i]), to + static_cast<size_t>(i) * bytes, bytes});
      }
      Located(file, [&] {
        file.arrays[leaf].of.fortran ? ReadScatteredRows(file, leaf, ranges)
                                     : ReadRanges(file, leaf, ranges);
      });
    }
  }

  void ReadRanges(const NumpyFile& file, size_t leaf, std::vector<ByteRange>& ranges) const {
    const FilePtr opened = FileWith(file, leaf);
    const ScopedBlockingHook none(nullptr);  // threads share the file
    RequireRead(ReadAll(*opened, ranges), file, leaf, *opened);
  }

  // The offsets in `rows` are those the rows would have in C order.
  void ReadScatteredRows(const NumpyFile& file, size_t leaf,
                         const std::vector<ByteRange>& rows) const {
    const FilePtr opened = FileWith(file, leaf);
    const ScopedBlockingHook none(nullptr);  // threads share the file
    for (const ByteRange& range : rows) {
      const int64_t begin = OffsetOf(file, leaf, file.first);
      const int64_t row = file.first + (range.offset - begin) / static_cast<int64_t>(range.size);
      RequireRead(ReadScattered(*opened, file, leaf, row, 1, range.to), file, leaf, *opened);
    }
  }

  const StructureRef structure_;
  std::vector<LeafSpec> leaves_;  // of a row
  std::vector<NumpyFile> files_;  // with rows; at least one
  int64_t rows_ = 0;
  bool fits_ = false;       // the files fit into memory
  mutable OpenFiles open_;  // a cache; thread-safe
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
