// load: the rows of a saved dataset, or of one of its files, with random access if all rows have
// one size.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "engine/registry.h"
#include "runtime/blocking.h"
#include "storage/chunk/chunk_cursor.h"
#include "storage/chunk/chunk_layout.h"
#include "storage/record_reader.h"
#include "storage/saved_folder.h"

namespace penstock {
namespace {

using Index = std::shared_ptr<const ChunkIndex>;

// Rows of one size, stored uncompressed: each can be read with one read. The checksum of a chunk is
// verified before its first row is read, and again after the file was written to.
class FixedRows final : public Indexed {
 public:
  // Returns null if the rows do not qualify.
  static std::unique_ptr<FixedRows> Of(const std::vector<Index>& files);
  int64_t size() const override { return size_; }
  Block Rows(int64_t first, int64_t count) const override;
  Block Gather(const int64_t* indices, int64_t count) const override;

 private:
  struct File {
    File(Index from, int64_t row)
        : index(std::move(from)),
          first(row),
          stamp(index->Stamp()),
          verified(index->entries().size()) {}
    Index index;
    int64_t first;                        // index of its first row in the dataset
    mutable std::atomic<uint64_t> stamp;  // of the file, as last seen
    // The stamp under which the checksum of each chunk was verified; 0: not yet.
    mutable std::vector<std::atomic<uint64_t>> verified;
  };
  // The reads of one call.
  struct Reads {
    bool verify = false;  // verify the checksums of all chunks that are read
    std::vector<std::pair<const File*, uint64_t>> files;  // and their stamps before they were read
  };
  // Calls `read` with Reads, and again if a file was written to before the reads ended.
  template <typename Read>
  Block Unchanged(const Read& read) const;
  // Reads up to `count` consecutive rows within one chunk, and returns how many.
  int64_t ReadRun(int64_t row, int64_t count, Block& to, int64_t place, Reads& reads) const;
  Block Empty(int64_t count) const;

  std::deque<File> files_;
  ElementSpec layout_;
  std::vector<size_t> row_bytes_;
  int64_t size_ = 0;
};

class LoadDataset final : public Dataset {
 public:
  LoadDataset(std::vector<Index> files, std::shared_ptr<const ElementSpec> declared);
  int64_t cardinality() const override { return rows_; }
  MaybeSpec spec() const override { return spec_ ? spec_ : probed_spec(); }
  const Indexed* indexed() const override { return fixed_.get(); }
  const std::vector<Index>& files() const { return files_; }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  std::vector<Index> files_;
  MaybeSpec spec_;
  std::unique_ptr<FixedRows> fixed_;
  int64_t rows_ = 0;
};

class LoadIterator final : public BlockIterator {
 public:
  LoadIterator(std::shared_ptr<const LoadDataset> data, int64_t batch_rows)
      : data_(std::move(data)), batch_rows_(batch_rows) {}

  void VisitState(StateVisitor& visitor) override {
    visitor.Position(row_, data_->cardinality());
    if (!visitor.saving()) cursor_.reset();
  }
  std::optional<Error> Discard(int64_t& steps) override {
    row_ += std::min(steps, data_->cardinality() - row_);
    steps = 0;
    cursor_.reset();
    return std::nullopt;
  }

 protected:
  Block DoNextBlock(int64_t max_rows) override {
    while (row_ < data_->cardinality()) {
      if (!cursor_) Open();
      Block block;
      int64_t before = cursor_->row();
      try {
        block = cursor_->Next(max_rows);
      } catch (...) {
        // A damaged chunk yields one error for all its rows; the next chunk follows.
        row_ += cursor_->row() - before;
        throw;
      }
      if (block.end) cursor_.reset();
      if (block.rows == 0) continue;
      // The identity of an element is its index in the dataset.
      block.Renumber(row_);
      block.origins.first.index = row_;
      for (size_t i = 0; i < block.elements.size(); ++i) {
        block.elements[i].origin.index = row_ + static_cast<int64_t>(i);
      }
      row_ += block.rows;
      block.end = row_ == data_->cardinality();
      return block;
    }
    return Block::AtEnd();
  }

 private:
  void Open() {
    int64_t first = 0;
    for (auto& index : data_->files()) {
      if (row_ < first + index->rows()) {
        cursor_.emplace(index, batch_rows_);
        cursor_->Seek(row_ - first);
        return;
      }
      first += index->rows();
    }
  }

  std::shared_ptr<const LoadDataset> data_;
  int64_t batch_rows_;
  std::optional<ChunkCursor> cursor_;
  int64_t row_ = 0;
};

std::unique_ptr<FixedRows> FixedRows::Of(const std::vector<Index>& files) {
  auto fixed = std::make_unique<FixedRows>();
  bool begun = false;
  for (auto& index : files) {
    for (auto& entry : index->entries()) {
      ChunkForm form = index->form(entry);
      auto columns = FixedColumnsOf(form);
      if (!columns || columns->offsets.empty() || entry.codec != Codec::kNone || entry.keyed ||
          columns->bytes != entry.stored || (begun && !(form.layout == fixed->layout_))) {
        return nullptr;
      }
      fixed->layout_ = form.layout;
      fixed->row_bytes_ = columns->row_bytes;
      begun = true;
    }
    fixed->files_.emplace_back(index, fixed->size_);
    fixed->size_ += index->rows();
  }
  return begun ? std::move(fixed) : nullptr;
}

Block FixedRows::Empty(int64_t count) const {
  Block block;
  block.structure = layout_.structure;
  block.rows = count;
  for (auto& leaf : layout_.leaves) {
    block.columns.push_back(Tensor::Make(leaf.dtype, leaf.shape.Prepend(count)));
  }
  return block;
}

template <typename Read>
Block FixedRows::Unchanged(const Read& read) const {
  LeaveForeignLock();
  Reads reads;
  Block block = read(reads);
  std::ranges::sort(reads.files);
  const auto repeated = std::ranges::unique(reads.files);
  reads.files.erase(repeated.begin(), repeated.end());
  bool changed = false;
  for (const auto& [file, stamp] : reads.files) {
    const uint64_t now = file->index->Stamp();
    if (now == stamp) continue;
    file->stamp.store(now, std::memory_order_release);
    changed = true;
  }
  if (!changed) return block;
  reads.verify = true;  // whatever happens to the file meanwhile
  return read(reads);
}

int64_t FixedRows::ReadRun(int64_t row, int64_t count, Block& to, int64_t place,
                           Reads& reads) const {
  auto after = std::upper_bound(files_.begin(), files_.end(), row,
                                [](int64_t r, const File& file) { return r < file.first; });
  const File& file = *(after - 1);
  size_t chunk = file.index->ChunkOf(row - file.first);
  const ChunkEntry& entry = file.index->entries()[chunk];
  // release/acquire: a chunk verified by one thread need not be verified by another.
  const uint64_t stamp = file.stamp.load(std::memory_order_acquire);
  if (reads.files.empty() || reads.files.back() != std::pair(&file, stamp)) {
    reads.files.emplace_back(&file, stamp);
  }
  int64_t skipped = row - file.first - entry.first;
  count = std::min(count, entry.rows - skipped);
  std::optional<Block> whole;  // rows of a chunk verified by this call
  if (reads.verify || file.verified[chunk].load(std::memory_order_acquire) != stamp) {
    whole = file.index->Read(chunk).Rows(skipped, count);
    file.verified[chunk].store(stamp, std::memory_order_release);
  }
  size_t at = 0;
  for (size_t leaf = 0; leaf < row_bytes_.size(); ++leaf) {
    size_t bytes = row_bytes_[leaf];
    at = AlignUp(at, kColumnAlign);
    uint8_t* target = to.columns[leaf].items.mutable_data() + static_cast<size_t>(place) * bytes;
    const size_t size = static_cast<size_t>(count) * bytes;
    if (whole) {
      if (size > 0) std::memcpy(target, whole->columns[leaf].items.data(), size);
    } else if (!file.index->ReadAt(entry.offset + at + static_cast<size_t>(skipped) * bytes, target,
                                   size)) {
      file.index->ThrowDamaged(chunk, "the file has become shorter");
    }
    at += static_cast<size_t>(entry.rows) * bytes;
  }
  return count;
}

// Returns the rows read before an error, followed by the error.
Block UpTo(Block&& block, int64_t rows, const Error& error) {
  Block read = block.Slice(0, rows);
  read.error = error;
  return read;
}

Block FixedRows::Gather(const int64_t* indices, int64_t count) const {
  return Unchanged([&](Reads& reads) {
    Block block = Empty(count);
    block.origins.keys.assign(indices, indices + count);
    for (int64_t i = 0; i < count;) {
      int64_t run = 1;
      while (i + run < count && indices[i + run] == indices[i] + run) ++run;
      try {
        i += ReadRun(indices[i], run, block, i, reads);
      } catch (const Error& error) {
        return UpTo(std::move(block), i, error);
      }
    }
    return block;
  });
}

Block FixedRows::Rows(int64_t first, int64_t count) const {
  return Unchanged([&](Reads& reads) {
    Block block = Empty(count);
    block.origins = RowOrigins::From(first);
    for (int64_t i = 0; i < count;) {
      try {
        i += ReadRun(first + i, count - i, block, i, reads);
      } catch (const Error& error) {
        return UpTo(std::move(block), i, error);
      }
    }
    return block;
  });
}

LoadDataset::LoadDataset(std::vector<Index> files, std::shared_ptr<const ElementSpec> declared)
    : files_(std::move(files)), fixed_(FixedRows::Of(files_)) {
  bool one = true;
  for (auto& index : files_) {
    rows_ += index->rows();
    if (!index->spec() || !one) {
      one = one && index->rows() == 0;
      continue;
    }
    spec_ = spec_ ? ElementSpec::Cover(*spec_, *index->spec()) : index->spec();
    one = spec_.has_value();
  }
  if (!one) spec_.reset();
  if (!declared || !spec_) return;
  auto both = ElementSpec::Cover(*declared, *spec_);
  if (!both || !(*both == *declared)) {
    throw Error(ErrorKind::kInvalidArgument,
                "load: the elements were expected to be {}, as element_spec says, got {}; leave "
                "element_spec out to take them as they are",
                declared->ToString(), spec_->ToString());
  }
}

IteratorPtr LoadDataset::MakeIterator(const RunContext& context) const {
  return std::make_unique<LoadIterator>(
      std::static_pointer_cast<const LoadDataset>(shared_from_this()), context.batch_rows);
}

std::shared_ptr<Dataset> Opened(const Args& args, const std::string& stage) {
  const std::string& folder = args.Text("path");
  std::shared_ptr<const ElementSpec> declared;
  if (args.Has("element_spec")) declared = std::make_shared<ElementSpec>(args.Spec("element_spec"));
  int64_t max_bytes =
      args.Has("max_record_bytes") ? args.IntAtLeast("max_record_bytes", 1) : kMaxRecordBytes;
  std::vector<Index> files;
  if (args.Has("alone")) {
    files.push_back(
        std::make_shared<const ChunkIndex>(stage, folder, OpenPlainFile(folder), max_bytes));
    return std::make_shared<LoadDataset>(std::move(files), std::move(declared));
  }
  Manifest manifest = Manifest::Read(folder, stage);
  int64_t only = args.Int("shard", -1);
  for (size_t i = 0; i < manifest.shards.size(); ++i) {
    if (only >= 0 && static_cast<size_t>(only) != i) continue;
    const Manifest::Shard& shard = manifest.shards[i];
    std::string path = folder + "/" + shard.name;
    auto index = std::make_shared<const ChunkIndex>(stage, path, OpenPlainFile(path), max_bytes);
    if (index->content() != shard.content || index->rows() != shard.rows) {
      Origin origin;
      origin.file = std::make_shared<const std::string>(index->path());
      throw Error(ErrorKind::kData,
                  "{}: {} rows with content {} were expected in {}, got another file; save the "
                  "dataset again",
                  stage, shard.rows, shard.content, index->path())
          .At(std::move(origin));
    }
    files.push_back(std::move(index));
  }
  return std::make_shared<LoadDataset>(std::move(files), std::move(declared));
}

std::shared_ptr<Dataset> MakeLoad(const std::vector<DatasetPtr>&, const Args& args) {
  const std::string stage = args.Has("shown_as") ? args.Text("shown_as") : "load";
  try {
    return Opened(args, stage);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kData || error.message().starts_with(stage)) throw;
    throw Error(ErrorKind::kData, "{}: {}", stage, error.message()).At(error.origin());
  }
}

// `alone`: the path names a single file, as written by `cache`, not a folder.
// `shown_as`: the name in errors, if `load` is part of another stage.
const RegisterDataset load_stage(
    "load", {.reads = "path", .arguments = {{"element_spec", ArgumentForm::kSpec}}}, MakeLoad);

}  // namespace
}  // namespace penstock
