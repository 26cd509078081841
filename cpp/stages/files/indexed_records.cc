// indexed_records: random access to the records of files with an index.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "engine/registry.h"
#include "runtime/blocking.h"
#include "runtime/memory.h"
#include "stages/files/file_dataset.h"
#include "stages/files/index_file.h"
#include "storage/open_files.h"

namespace penstock {
namespace {

class IndexedRecordsDataset final : public Dataset, public Indexed {
 public:
  // The names of the files, a function that opens one, and the folder of the indexes; "": next to
  // the files.
  IndexedRecordsDataset(const Indexed& names, const FunctionPtr& reader, const std::string& folder);
  int64_t cardinality() const override { return size_; }
  MaybeSpec spec() const override { return spec_; }
  const Indexed* indexed() const override { return this; }
  int64_t size() const override { return size_; }
  int64_t row_bytes() const override { return size_ > 0 ? bytes_ / size_ : 0; }
  Block Rows(int64_t first, int64_t count) const override {
    std::vector<int64_t> rows(static_cast<size_t>(count));
    std::iota(rows.begin(), rows.end(), first);
    return Gather(rows.data(), count);
  }
  Block Gather(const int64_t* rows, int64_t count) const override;

 protected:
  IteratorPtr MakeIterator(const RunContext&) const override {
    return MakeRowIterator(shared_from_this(), *this);
  }

 private:
  struct File {
    std::shared_ptr<const RecordFile> records;
    int64_t first = 0;  // index of its first row
    std::optional<FixedLayout> layout = std::nullopt;
    std::shared_ptr<RecordIndex> index = nullptr;  // null: the layout determines the offsets
    IndexedFile of{};
  };
  // A requested row and the location of its bytes.
  struct Wanted {
    int64_t row;
    const File* file = nullptr;
    int64_t offset = 0;  // in the file
    size_t size = 0;
    size_t to = 0;  // offset in the memory of all requested rows
  };
  // The reads from one file.
  struct Reads {
    const File* of;
    OpenFiles::FilePtr file;
    std::vector<ByteRange> ranges;
  };

  void AddFile(std::shared_ptr<const RecordFile> records, const std::string& folder);
  void ReadIndex(File& file, const std::string& folder) const;
  void Measure(File& file) const;
  void RequireSame(const File& file, InputFile& opened) const;
  OpenFiles::FilePtr Open(const File& file) const;
  Origin OriginOf(const Wanted& wanted) const;
  Block ReadRows(const int64_t* rows, int64_t count) const;
  // Returns the rows in ascending order.
  std::vector<Wanted*> Located(std::vector<Wanted>& wanted) const;
  std::vector<Wanted*> InOrder(std::vector<Wanted>& wanted) const;
  void RequireShort(const Wanted& wanted) const;
  void Read(const std::vector<Wanted*>& ascending, uint8_t* to) const;
  void Finish(std::vector<Reads>& all) const;
  [[noreturn]] void ThrowShorter(const File& file, InputFile& opened, int64_t at) const;
  static bool EndsWith(const Found& record, const Wanted& wanted, RecordReader& reader,
                       const uint8_t* bytes);
  std::optional<Error> FindIn(const Wanted& wanted, RecordReader& reader, const uint8_t* bytes,
                              int64_t* span) const;

  void AddNames(const std::vector<Wanted>& wanted, Block& block) const;

  const MaybeSpec spec_;
  std::vector<File> files_;
  int64_t size_ = 0;
  int64_t bytes_ = 0;
  bool fits_ = false;       // the files fit into memory
  mutable OpenFiles open_;  // a cache; thread-safe
};

IndexedRecordsDataset::IndexedRecordsDataset(const Indexed& names, const FunctionPtr& reader,
                                             const std::string& folder)
    : spec_(reader->opened_spec()) {
  constexpr int64_t kMostLoaded = int64_t{32} << 20;  // bytes of the indexes of all files
  static const StageLabel& label = *new StageLabel{"indexed_records", "", ""};
  for (int64_t i = 0; i < names.size(); ++i) {
    Element name = names.Rows(i, 1).Row(0);
    auto records = std::dynamic_pointer_cast<const RecordFile>(reader->Open(name, {&label, {}, i}));
    if (!records) throw Error(ErrorKind::kType, "indexed_records: files of records were expected");
    AddFile(std::move(records), folder);
  }
  // Larger data would not stay in the page cache.
  fits_ = bytes_ <= AvailableMemory() / 4;
  int64_t distances = 0;
  for (const File& file : files_) distances += file.index ? file.index->distance_bytes() : 0;
  if (distances > kMostLoaded) return;
  for (const File& file : files_) {
    if (file.index) file.index->Load();
  }
}

void IndexedRecordsDataset::AddFile(std::shared_ptr<const RecordFile> records,
                                    const std::string& folder) {
  const std::string_view stage = records->format().stage;
  const std::string& path = *records->path();
  if (records->compression() != Compression::kNone) {
    throw Error(ErrorKind::kInvalidArgument,
                "{}: with indexed, a file that is not compressed was expected, got {} as {}: no "
                "record of it can be read without all before it; decompress it first",
                stage, path, NameOf(records->compression()));
  }
  File file{std::move(records), size_};
  file.layout = file.records->Reader()->layout();
  file.layout ? Measure(file) : ReadIndex(file, folder);
  size_ += file.of.records;
  bytes_ += file.of.size;
  files_.push_back(std::move(file));
}

void IndexedRecordsDataset::ReadIndex(File& file, const std::string& folder) const {
  const std::string_view stage = file.records->format().stage;
  const std::string& path = *file.records->path();
  const std::string index = IndexPathOf(path, folder);
  try {
    file.index = std::make_shared<RecordIndex>(index, std::string(stage));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kNotFound && error.os_error() != ENOENT) throw;
    throw Error::FromErrno(ENOENT, index,
                           Format("{}: {} has no index; make it once, with ps.index(files) or "
                                  "python -m penstock index FILE...: cannot open",
                                  stage, path));
  }
  file.of = file.index->of();
  if (file.of.format != file.records->Boundaries()) {
    throw Error(ErrorKind::kInvalidArgument,
                "{}: an index of {} was expected for {}, got one of {}; make it with the arguments "
                "that the file is read with",
                stage, file.records->Boundaries(), path, file.of.format);
  }
  RequireSame(file, *OpenFile(path, {.throughout = false}));
}

// Records of one size need no index: the file size determines their number.
void IndexedRecordsDataset::Measure(File& file) const {
  constexpr size_t kMagic = 16;  // bytes that identify compressed files
  const std::string& path = *file.records->path();
  const FixedLayout& layout = *file.layout;
  const auto opened = OpenFile(path, {.throughout = false});
  IndexedFile& of = file.of;
  of.size = opened->size();
  of.version = opened->version();
  if (of.size < 0) {
    throw Error(ErrorKind::kInvalidArgument,
                "{}: with indexed, a regular file was expected, got {}: the size of a pipe or a "
                "device is not known; copy it to a file first",
                file.records->format().stage, path);
  }
  uint8_t first[kMagic];
  const CompressionSeen seen = LookAt(first, opened->Read(0, first, kMagic));
  if (IsNamedSo(path, seen)) {
    throw file.records->Fault(0, "a file that is not compressed was expected; " + seen.Advice());
  }
  const int64_t body = of.size < layout.header ? -1 : of.size - layout.header - layout.footer;
  of.records = std::max<int64_t>(body, 0) / layout.record;
  of.end = layout.header + of.records * layout.record;
  if (body == of.records * layout.record) return;
  // As in iteration, the rest is a damaged record.
  const int64_t rest = of.records > 0 ? of.end : 0;
  const Found found = file.records->Reader()->Find(
      {.size = static_cast<size_t>(of.size - rest), .offset = rest, .ended = true});
  of.problem = file.records->Fault(of.records++, found.problem).message();
  of.end = rest;
}

void IndexedRecordsDataset::RequireSame(const File& file, InputFile& opened) const {
  const IndexedFile& of = file.of;
  if (opened.size() == of.size && opened.version() == of.version) return;
  Origin origin;
  origin.file = file.records->path();
  const bool indexed = file.index != nullptr;
  throw Error(ErrorKind::kData,
              "{}: {} has been written to since {} was made (it had {} bytes, now it has {}); {}",
              file.records->format().stage, *origin.file,
              std::string_view(indexed ? file.index->path() : "this dataset"), of.size,
              opened.size(),
              std::string_view(indexed ? "run ps.index again" : "make the dataset again"))
      .At(std::move(origin));
}

OpenFiles::FilePtr IndexedRecordsDataset::Open(const File& file) const {
  return open_.Get(static_cast<size_t>(&file - files_.data()), [&] {
    OpenFiles::FilePtr opened = OpenFile(*file.records->path(), {.throughout = false});
    RequireSame(file, *opened);
    if (fits_) opened->Map();
    return opened;
  });
}

Origin IndexedRecordsDataset::OriginOf(const Wanted& wanted) const {
  Origin origin{static_cast<uint64_t>(wanted.row), wanted.row, nullptr, -1};
  if (wanted.file) {
    origin.file = wanted.file->records->path();
    origin.offset = wanted.offset;
  }
  return origin;
}

Block IndexedRecordsDataset::Gather(const int64_t* rows, int64_t count) const {
  // Short reads of regular files, perhaps by several threads, that no signal should end.
  LeaveForeignLock();
  ScopedBlockingHook none(nullptr);
  return RowsOrError(rows[0], count, [&](int64_t most) { return ReadRows(rows, most); });
}

// Radix sort for many rows: comparisons of random numbers are unpredictable branches.
std::vector<IndexedRecordsDataset::Wanted*> IndexedRecordsDataset::InOrder(
    std::vector<Wanted>& wanted) const {
  constexpr size_t kMany = 128;
  constexpr int kDigit = 10;  // bits
  struct Key {
    uint64_t row;
    Wanted* wanted;
  };
  std::vector<Key> keys;
  keys.reserve(wanted.size());
  for (Wanted& each : wanted) keys.push_back({static_cast<uint64_t>(each.row), &each});
  if (!std::ranges::is_sorted(keys, {}, &Key::row)) {
    if (keys.size() < kMany) {
      std::ranges::sort(keys, {}, &Key::row);
    } else {
      std::vector<Key> sorted(keys.size());
      const int bits = std::bit_width(static_cast<uint64_t>(size_));
      for (int shift = 0; shift < bits; shift += kDigit) {
        auto digit = [shift](const Key& key) { return key.row >> shift & ((1u << kDigit) - 1); };
        std::array<size_t, 1 << kDigit> begins{};
        for (const Key& key : keys) ++begins[digit(key)];
        size_t begin = 0;
        for (size_t& each : begins) begin += std::exchange(each, begin);
        for (const Key& key : keys) sorted[begins[digit(key)]++] = key;
        keys.swap(sorted);
      }
    }
  }
  std::vector<Wanted*> ascending;
  ascending.reserve(keys.size());
  for (const Key& key : keys) ascending.push_back(key.wanted);
  return ascending;
}

std::vector<IndexedRecordsDataset::Wanted*> IndexedRecordsDataset::Located(
    std::vector<Wanted>& wanted) const {
  std::vector<Wanted*> ascending = InOrder(wanted);
  const File* file = nullptr;
  std::optional<RecordIndex::Finder> finder;
  for (Wanted* each : ascending) {
    if (!file || each->row >= file->first + file->of.records) {
      auto after = std::upper_bound(files_.begin(), files_.end(), each->row,
                                    [](int64_t row, const File& next) { return row < next.first; });
      file = &*(after - 1);
      if (file->index) finder.emplace(*file->index);
    }
    const int64_t number = each->row - file->first;
    int64_t end = 0;
    if (file->index) {
      finder->Find(number, &each->offset, &end);
    } else {
      each->offset = std::min(file->layout->header + number * file->layout->record, file->of.end);
      end = std::min(each->offset + file->layout->record, file->of.end);
    }
    each->file = file;
    each->size = static_cast<size_t>(end - each->offset);
    RequireShort(*each);
  }
  return ascending;
}

// Check before allocating memory: an index may contain anything.
void IndexedRecordsDataset::RequireShort(const Wanted& wanted) const {
  constexpr size_t kFrame = size_t{1} << 20;  // overhead of formats that store more than the record
  const RecordFile& records = *wanted.file->records;
  if (wanted.size <= 2 * records.max_record() + kFrame) return;
  throw records
      .Fault(wanted.row - wanted.file->first,
             Format("a record of {} bytes is longer than max_record_bytes, which is {}; give a "
                    "larger one if the file is as it should be",
                    wanted.size, records.max_record()))
      .At(OriginOf(wanted));
}

Block IndexedRecordsDataset::ReadRows(const int64_t* rows, int64_t count) const {
  constexpr size_t kMostBytes = size_t{64} << 20;  // of several rows
  std::vector<Wanted> wanted;
  wanted.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) wanted.push_back({rows[i]});
  std::vector<Wanted*> ascending = Located(wanted);
  size_t bytes = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (i > 0 && bytes + wanted[i].size > kMostBytes)
      return ReadRows(rows, static_cast<int64_t>(i));
    wanted[i].to = bytes;
    bytes += wanted[i].size;
  }
  BufferRef memory = Buffer::Allocate(std::max<size_t>(bytes, 1));
  Read(ascending, memory->data());

  Block block;
  BufferRef spans = Buffer::Allocate(2 * sizeof(int64_t) * wanted.size());
  auto* span = reinterpret_cast<int64_t*>(spans->data());
  const File* file = nullptr;
  std::unique_ptr<RecordReader> reader;
  for (const Wanted& each : wanted) {
    if (each.file != file) reader = (file = each.file)->records->Reader();
    block.error = FindIn(each, *reader, memory->data(), span);
    if (block.error) break;
    block.origins.Add(block.rows++, OriginOf(each));
    span += 2;
  }
  if (block.rows > 0) {
    block.structure = spec_->structure;
    if (wanted[0].file->records->with_name()) AddNames(wanted, block);
    block.columns.push_back(
        Tensor::Packed(TypeCode::kBytes, {block.rows}, std::move(spans), std::move(memory)));
  }
  return block;
}

// Adds the file name of each row.
void IndexedRecordsDataset::AddNames(const std::vector<Wanted>& wanted, Block& block) const {
  std::vector<std::string_view> names;
  for (int64_t row = 0; row < block.rows; ++row) {
    names.push_back(*wanted[static_cast<size_t>(row)].file->records->path());
  }
  block.columns.push_back(Tensor::Strings(TypeCode::kText, {block.rows}, names));
}

void IndexedRecordsDataset::Read(const std::vector<Wanted*>& ascending, uint8_t* to) const {
  const size_t most = MostKeptOpen();
  std::vector<Reads> all;
  for (const Wanted* each : ascending) {
    if (all.empty() || all.back().of != each->file) {
      if (all.size() == most) Finish(all);
      all.push_back({each->file, Open(*each->file), {}});
    }
    std::vector<ByteRange>& ranges = all.back().ranges;
    if (!ranges.empty()) {
      ByteRange& last = ranges.back();
      if (last.offset + static_cast<int64_t>(last.size) == each->offset &&
          last.to + last.size == to + each->to) {
        last.size += each->size;
        continue;
      }
    }
    ranges.push_back({each->offset, to + each->to, each->size});
  }
  Finish(all);
}

// Requests all ranges before waiting for any.
void IndexedRecordsDataset::Finish(std::vector<Reads>& all) const {
  for (Reads& reads : all) reads.file->ReadReady(reads.ranges);
  for (const Reads& reads : all) {
    for (ByteRange range : reads.ranges) {
      while (range.ready < range.size) {
        const int64_t at = range.offset + static_cast<int64_t>(range.ready);
        size_t got = reads.file->Read(at, range.to + range.ready, range.size - range.ready);
        if (got == 0) ThrowShorter(*reads.of, *reads.file, at);
        range.ready += got;
      }
    }
    RequireSame(*reads.of, *reads.file);  // the file may have been modified meanwhile
  }
  all.clear();
}

void IndexedRecordsDataset::ThrowShorter(const File& file, InputFile& opened, int64_t at) const {
  RequireSame(file, opened);
  throw Error(ErrorKind::kData, "{}: {} was expected to have a byte {}, it ends before",
              file.records->format().stage, *file.records->path(), at);
}

// Whether no further record follows `record` in the requested bytes.
bool IndexedRecordsDataset::EndsWith(const Found& record, const Wanted& wanted,
                                     RecordReader& reader, const uint8_t* bytes) {
  for (size_t at = record.next; at < wanted.size;) {
    const auto offset = wanted.offset + static_cast<int64_t>(at);
    const Found rest = reader.Find({bytes + wanted.to + at, wanted.size - at, offset, true});
    if (rest.kind == Found::kEnd) break;
    if (rest.kind != Found::kSkip) return false;
    at += rest.next;
  }
  return record.next <= wanted.size;
}

// Finds the record in its bytes; returns an error if it is invalid.
std::optional<Error> IndexedRecordsDataset::FindIn(const Wanted& wanted, RecordReader& reader,
                                                   const uint8_t* bytes, int64_t* span) const {
  const RecordFile& records = *wanted.file->records;
  const IndexedFile& of = wanted.file->of;
  const int64_t number = wanted.row - wanted.file->first;
  if (number + 1 == of.records && !of.problem.empty()) {
    return Error(ErrorKind::kData, "{}", of.problem).At(OriginOf(wanted));
  }
  const Found found = wanted.file->layout
                          ? Found{.kind = Found::kRecord, .size = wanted.size, .next = wanted.size}
                          : reader.Find({bytes + wanted.to, wanted.size, wanted.offset, true});
  std::string problem;
  if (found.kind == Found::kBad || found.kind == Found::kLost) {
    problem = found.problem;
  } else if (found.kind != Found::kRecord || !EndsWith(found, wanted, reader, bytes)) {
    problem = Format(
        "the index says that it has bytes {} to {}, where there is another one; run "
        "ps.index again",
        wanted.offset, wanted.offset + static_cast<int64_t>(wanted.size));
  } else if (found.size > records.max_record()) {
    problem = Format("a record of {} bytes is longer than max_record_bytes, which is {}",
                     found.size, records.max_record());
  } else {
    span[0] = static_cast<int64_t>(wanted.to + found.begin);
    span[1] = span[0] + static_cast<int64_t>(found.size);
    return std::nullopt;
  }
  return records.Fault(number, problem).At(OriginOf(wanted));
}

std::shared_ptr<Dataset> MakeIndexedRecords(const std::vector<DatasetPtr>& inputs,
                                            const Args& args) {
  const Indexed* names = inputs[0]->indexed();
  if (!names) {
    throw Error(ErrorKind::kType, "indexed_records: a list of names was expected, got {}",
                inputs[0]->name());
  }
  return std::make_shared<IndexedRecordsDataset>(*names, args.Callable("reader").usual,
                                                 args.Has("folder") ? args.Text("folder") : "");
}

const RegisterDataset indexed_records_stage("indexed_records", MakeIndexedRecords);

}  // namespace
}  // namespace penstock
