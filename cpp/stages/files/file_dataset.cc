// The records of one file as elements of bytes; the state is a byte offset.
#include "stages/files/file_dataset.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include "data/block_size.h"
#include "data/printable.h"
#include "engine/copied_args.h"
#include "engine/session.h"
#include "stages/files/byte_source.h"
#include "stages/files/stretches.h"
#include "storage/remote.h"

namespace penstock {
namespace {

constexpr const char* kFileName = "filename";
constexpr const char* kWithFileName = "with_filename";
constexpr const char* kCalls = "num_parallel_calls";
constexpr const char* kShownAs = "shown_as";
constexpr int64_t kMostAtOnce = 256 << 20;   // per read: memory for it is allocated up front
constexpr int64_t kLeastStretch = 64 << 10;  // minimum that is worth waking a thread for
constexpr int64_t kMostReaders = 1024;
constexpr int64_t kFewestStretches = 4;  // minimum that is worth starting threads for

Compression CompressionIn(const Args& args, const FileFormat& format) {
  if (args.Has("compression_type")) {
    return CompressionOf(args.Text("compression_type"), format.stage);
  }
  if (!format.named_compression) return Compression::kNone;
  const Compression named = CompressionByName(args.Text(kFileName));
  return CompressionOf(NameOf(named), format.stage);  // checks that it is supported in this build
}

// The number of reader threads; 0: none.
int64_t CallsIn(const Args& args) {
  if (!args.Has(kCalls)) return 0;
  return args.Int(kCalls) == kAutotune ? kAutotune : args.IntAtLeast(kCalls, 1);
}

bool WithName(const Args& args) { return args.Has(kWithFileName) && args.Bool(kWithFileName); }

ElementSpec RecordSpec(const Args& args) {
  const LeafSpec record{DType::Of(TypeCode::kBytes), {}, false};
  if (!WithName(args)) return {Structure::Leaf(), {record}};
  return {Structure::Tuple({Structure::Leaf(), Structure::Leaf()}),
          {{DType::Of(TypeCode::kText), {}, false}, record}};
}

class FileDataset final : public RecordFile {
 public:
  FileDataset(FileFormat format, Args args)
      : format_(std::move(format)),
        args_(std::move(args)),
        path_(std::make_shared<const std::string>(args_.Text(kFileName))),
        compression_(CompressionIn(args_, format_)),
        chunk_(static_cast<size_t>(std::min(args_.IntAtLeast("buffer_size", 0), kMostAtOnce))),
        max_record_(static_cast<size_t>(args_.Has("max_record_bytes")
                                            ? args_.IntAtLeast("max_record_bytes", 1)
                                            : kMaxRecordBytes)),
        with_name_(WithName(args_)),
        calls_(CallsIn(args_)) {
    format_.maker(args_);  // checks the arguments
  }
  int64_t cardinality() const override { return kUnknown; }
  MaybeSpec spec() const override { return RecordSpec(args_); }
  bool with_name() const override { return with_name_; }
  const std::shared_ptr<const std::string>& path() const override { return path_; }
  const FileFormat& format() const override { return format_; }
  Compression compression() const override { return compression_; }
  size_t max_record() const override { return max_record_; }
  int64_t chunk() const { return static_cast<int64_t>(chunk_); }
  // The number of threads to use in a run.
  int Threads(const RunContext& context) const {
    if (!format_.lines || compression_ != Compression::kNone || IsRemote(*path_)) return 0;
    if (!context.threads) return 0;
    return static_cast<int>(calls_ == kAutotune ? context.session->threads()
                                                : std::min(calls_, kMostReaders));
  }
  // `size`: of the file when it was opened.
  std::unique_ptr<ByteSource> Open(std::shared_ptr<InputFile> file, int64_t size) const {
    return std::make_unique<ByteSource>(OpenStream(std::move(file), size, compression_, chunk_),
                                        chunk_);
  }
  std::unique_ptr<RecordReader> Reader() const override { return format_.maker(args_); }

  std::string Boundaries() const override;

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  const FileFormat format_;
  Args args_;
  std::shared_ptr<const std::string> path_;
  Compression compression_;
  size_t chunk_;
  size_t max_record_;
  bool with_name_;
  int64_t calls_;
};

// The records of a block: their positions in the window's memory and in the file.
class RowSpans {
 public:
  explicit RowSpans(int64_t most)
      : buffer_(Buffer::Allocate(2 * sizeof(int64_t) * static_cast<size_t>(most))),
        ends_(reinterpret_cast<int64_t*>(buffer_->data())) {}

  // Adds records of a window that begins at `position` of the memory and at `offset` of the file.
  void Add(std::span<const RecordSpan> records, size_t position, int64_t offset) {
    size_t rows = offsets_.size();
    offsets_.resize(rows + records.size());
    int64_t* offsets = offsets_.data() + rows;
    size_t at = 0;
    for (const RecordSpan& record : records) {
      *ends_++ = static_cast<int64_t>(position + record.begin);
      *ends_++ = static_cast<int64_t>(position + record.begin + record.size);
      *offsets++ = offset + static_cast<int64_t>(at + record.header);
      at = record.next;
    }
  }
  int64_t rows() const { return static_cast<int64_t>(offsets_.size()); }
  void MoveTo(Block& block, BufferRef bytes) {
    block.rows = rows();
    block.origins.first.offset = offsets_.front();
    block.origins.offsets = std::move(offsets_);
    block.columns.push_back(
        Tensor::Packed(TypeCode::kBytes, {block.rows}, std::move(buffer_), std::move(bytes)));
  }

 private:
  BufferRef buffer_;
  int64_t* ends_;
  std::vector<int64_t> offsets_;
};

class FileIterator final : public BlockIterator {
 public:
  FileIterator(std::shared_ptr<const FileDataset> data, const RunContext& context)
      : data_(std::move(data)),
        cancel_(context.cancel),
        session_(*context.session),
        threads_(data_->Threads(context)) {}

  void VisitState(StateVisitor& visitor) override {
    if (bytes_) offset_ = bytes_->window().offset;
    visitor.Count(offset_, "the byte in the file");
    visitor.Count(index_, "records given");
    visitor.Bool(finished_);
  }

  int64_t RequestFirst() override {
    if (bytes_ || finished_ || !IsRemote(*data_->path())) return 0;
    if (!requested_) requested_ = OpenFile(*data_->path(), ReadingFrom(offset_));
    return requested_->RequestFirst();
  }

  std::optional<Error> Pass(int64_t& steps) override {
    while (steps > 0) {
      try {
        steps -= Jump(steps);
      } catch (const Error& error) {
        if (error.transient()) return error;  // other errors are met again at their position
      }
      if (steps == 0) break;
      Block block = NextBlock(jumps_ ? 1 : std::min(steps, kMostBlockRows));
      if (block.error && block.error->transient()) return block.error;
      if (block.rows == 0 && !block.error) break;
      steps -= std::min<int64_t>(steps, block.rows + block.error.has_value());
    }
    return std::nullopt;
  }

 protected:
  Block DoNextBlock(int64_t max_rows) override {
    if (finished_) return Block::AtEnd();
    if (cancel_.cancelled()) return Block::Of(Error(ErrorKind::kCancelled, ""));
    try {
      if (stretches_) {
        Block block;
        if (FromStretches(std::min(max_rows, kMostBlockRows), block)) return block;
        LeaveStretches();
      }
      if (!bytes_) Open();
      Block block = Records(std::min(max_rows, kMostBlockRows));
      if (threads_ > 0 && block.rows > 0) ReadStretches();
      return block;
    } catch (Error& error) {
      if (error.transient()) return Block::Of(std::move(error));
      if (error.os_error() == ENOMEM) throw;
      if (error.kind() == ErrorKind::kData) return Fail(error.message(), true);
      if (error.os_error() == ENOENT && !IsRemote(*data_->path()) &&
          data_->path()->find_first_of("*?[") != std::string::npos) {
        return Fail(
            Error::FromErrno(ENOENT, *data_->path(),
                             data_->format().stage +
                                 ": cannot open; Dataset.list_files lists the files of a pattern"),
            true);
      }
      return Fail(Named(std::move(error)), true);
    }
  }

 private:
  Reading ReadingFrom(int64_t begin) const {
    return {.cancel = &cancel_, .budget = &session_.budget(), .begin = begin};
  }

  // Opens the file, once per pass: if it is replaced or removed meanwhile, the old one is read to
  // its end.
  void OpenOnce() {
    if (file_) return;
    std::shared_ptr<InputFile> file = std::move(requested_);
    if (!file) file = OpenFile(*data_->path(), ReadingFrom(offset_));
    if (data_->compression() == Compression::kNone) size_ = file->size();
    if (size_ >= 0 && offset_ > size_) {
      throw Error(ErrorKind::kData,
                  "the state was saved at byte {}, but the file has only {} bytes: it is not the "
                  "same file",
                  offset_, size_);
    }
    file_ = std::move(file);
  }

  // The bytes from `begin` on. May be called by several threads.
  std::unique_ptr<ByteSource> Bytes(int64_t begin) const {
    auto bytes = data_->Open(file_, size_);
    if (session_.slow().limit_ns() > 0) {
      bytes->Time(session_.slow(),
                  Format("{} of {}", label().text(), WithoutSecrets(*data_->path())));
    }
    if (begin > 0) bytes->Seek(begin);
    return bytes;
  }

  void Open() {
    OpenOnce();
    auto bytes = Bytes(offset_);
    reader_ = data_->Reader();
    bytes_ = std::move(bytes);
    jumps_ = reader_->extent_bytes() && bytes_->left() >= 0;
  }

  // --- with threads ---

  // Called after the first records, which have shown what kind of file it is: lets threads read the
  // rest if it is long enough.
  void ReadStretches() {
    const int threads = std::exchange(threads_, 0);  // only once
    const int64_t left = bytes_->left();
    StretchPlan plan;
    plan.size = std::max(data_->chunk(), kLeastStretch);
    plan.count = left / plan.size;
    if (plan.count < kFewestStretches) return;
    plan.begin = bytes_->window().offset;
    plan.max_record = data_->max_record();
    plan.open = [this](int64_t begin) { return Bytes(begin); };
    plan.reader = [this] { return data_->Reader(); };
    try {
      stretches_.emplace(session_, label(), cancel_.Child(), stats(), threads, std::move(plan));
    } catch (const std::system_error& refusal) {
      session_.NoteRefusal(label(), refusal);
      return;
    }
    offset_ = bytes_->window().offset;
    bytes_.reset();
    threads_add_busy_ = true;
  }

  // Returns rows, or an error after which to ask again. Returns false if the rest must be read
  // sequentially.
  bool FromStretches(int64_t most, Block& block) {
    while (row_ == stretch_.rows()) {
      if (!std::exchange(whole_, true) || stretches_->done()) return false;
      stretch_ = FileStretch();
      row_ = 0;
      try {
        const WaitStatus status = stretches_->Take(stretch_);
        if (status != WaitStatus::kReady) {
          block = Block::Of(Error(
              status == WaitStatus::kInterrupted ? ErrorKind::kInterrupted : ErrorKind::kCancelled,
              ""));
          return true;
        }
      } catch (const std::system_error& refusal) {
        session_.NoteRefusal(label(), refusal);
        whole_ = false;
      }
      whole_ = whole_ && stretch_.whole;
      // The file was modified meanwhile.
      if (stretch_.rows() > 0 && stretch_.offsets.front() != offset_) return false;
    }
    TakeRows(std::min(most, stretch_.rows() - row_), block);
    return true;
  }

  void TakeRows(int64_t rows, Block& block) {
    const auto first = stretch_.offsets.begin() + row_;
    block.rows = rows;
    block.origins.first = {static_cast<uint64_t>(index_), index_, data_->path(), *first};
    block.origins.offsets.assign(first, first + rows);
    if (data_->with_name()) AddName(rows, block);
    block.columns.push_back(Tensor::Packed(TypeCode::kBytes, {rows}, stretch_.spans, stretch_.bytes,
                                           static_cast<size_t>(row_)));
    row_ += rows;
    index_ += rows;
    offset_ = row_ < stretch_.rows() ? first[rows] : stretch_.next;
  }

  void LeaveStretches() {
    stretches_.reset();
    stretch_ = FileStretch();
    row_ = 0;
    threads_add_busy_ = false;
  }

  // --- sequentially ---

  // Adds the name of this stage to a system error.
  Error Named(Error error) const {
    const std::string why = ": " + std::generic_category().message(error.os_error());
    if (error.os_error() == 0 || !error.message().ends_with(why)) return error;
    const std::string what = error.message().substr(0, error.message().size() - why.size());
    return Error::FromErrno(error.os_error(), *data_->path(), data_->format().stage + ": " + what);
  }
  // Returns an error in place of a record; `last`: nothing follows it.
  Block Fail(Error error, bool last) {
    Origin origin{static_cast<uint64_t>(index_), index_, data_->path(),
                  bytes_ ? bytes_->window().offset : offset_};
    finished_ = finished_ || last;
    ++index_;
    return Block::Of(error.At(std::move(origin)));
  }
  Block Fail(const std::string& problem, bool last) {
    return Fail(data_->Fault(index_, problem), last);
  }

  // Skips up to `most` records whose ends are known before they are read; returns how many.
  int64_t Jump(int64_t most) {
    int64_t passed = 0;
    while (jumps_ && !finished_ && passed < most) {
      if (cancel_.cancelled()) throw Error(ErrorKind::kCancelled, "");
      bytes_->Fill(*reader_->extent_bytes());
      const Extent extent = reader_->FindExtent(Window());
      if (extent.next == 0 || extent.whole > data_->max_record()) break;
      if (extent.whole > bytes_->window().size) {  // the file must contain all of it
        const int64_t left = bytes_->left();
        if (left < 0 || extent.whole > static_cast<uint64_t>(left)) break;
      }
      bytes_->Jump(extent.next);
      ++index_;
      ++passed;
    }
    return passed;
  }

  Block Records(int64_t most) {
    if (!recognized_) {
      recognized_ = true;
      Recognize();
      if (compressed_) return Fail(NotPlain(), true);
    }
    RowSpans spans(most);
    Block block;
    block.origins.first = {static_cast<uint64_t>(index_), index_, data_->path(),
                           bytes_->window().offset};
    for (;;) {
      TakeRun(most, spans);
      // The next call finds what follows these records.
      if (spans.rows() > 0) break;
      Found found = reader_->Find(Window());
      if (found.kind == Found::kMore) {
        if (bytes_->window().ended) return Fail(bytes_->problem(), true);
        if (auto problem = Grow(found)) return Fail(*problem, true);
      } else if (found.kind == Found::kSkip) {
        bytes_->Skip(found.next);
      } else if (found.kind == Found::kEnd) {
        if (!EndsSound()) return Fail(bytes_->problem(), true);
        finished_ = true;
        if (const std::string_view doubt = reader_->doubt(); !doubt.empty()) {
          session_.Warn(Format("{}: {}: {}", data_->format().stage, *data_->path(), doubt));
        }
        return Block::AtEnd();
      } else if (found.kind == Found::kRecord) {
        return Fail(TooLong(found.size, true), true);
      } else {
        bool last = found.kind == Found::kLost;
        Block failed = Fail(found.problem + Advice(), last);
        if (!last) bytes_->Skip(found.next);
        return failed;
      }
    }
    if (data_->with_name()) AddName(spans.rows(), block);
    spans.MoveTo(block, bytes_->buffer());
    return block;
  }

  // Adds the file name as a column: stored once, shared by all rows.
  void AddName(int64_t rows, Block& block) {
    const std::string& name = *data_->path();
    if (!name_) {
      name_ = Buffer::Allocate(name.size() + 1);
      std::memcpy(name_->data(), name.data(), name.size());
      structure_ = Structure::Tuple({Structure::Leaf(), Structure::Leaf()});
    }
    BufferRef spans = Buffer::Allocate(2 * sizeof(int64_t) * static_cast<size_t>(rows));
    auto* to = reinterpret_cast<int64_t*>(spans->data());
    for (int64_t row = 0; row < rows; ++row) {
      *to++ = 0;
      *to++ = static_cast<int64_t>(name.size());
    }
    block.structure = structure_;
    block.columns.push_back(Tensor::Packed(TypeCode::kText, {rows}, std::move(spans), name_));
  }

  // Takes the whole records at the beginning of the window.
  void TakeRun(int64_t most, RowSpans& spans) {
    constexpr size_t kAtOnce = 64;  // spans that fit in the L1 cache
    std::array<RecordSpan, kAtOnce> found;
    ByteWindow window = Window();
    while (spans.rows() < most) {
      auto room = std::min<size_t>(kAtOnce, static_cast<size_t>(most - spans.rows()));
      size_t count = reader_->FindRun(window, std::span(found.data(), room));
      if (count > 0) {
        const size_t whole = count;
        // Rarely needed: windows are usually too small for a record that is too long.
        if (found[count - 1].next > data_->max_record()) count = NotTooLong({found.data(), count});
        if (count == 0) return;
        spans.Add({found.data(), count}, bytes_->position(), window.offset);
        index_ += static_cast<int64_t>(count);
        bytes_->Skip(found[count - 1].next);
        if (count < whole) return;
        window = Window();
      }
      if (count < room) return;
    }
  }

  ByteWindow Window() const {
    ByteWindow window = bytes_->window();
    // If the end is faulty, the records before it are complete and are returned first.
    if (window.ended && !bytes_->problem().empty()) window.ended = false;
    if (short_) window.ended = true;
    return window;
  }

  // Call after the last record, because the checksum of compressed data follows it.
  bool EndsSound() {
    while (data_->compression() != Compression::kNone && !bytes_->window().ended) {
      bytes_->Skip(bytes_->window().size);
      bytes_->Fill(1);
    }
    return bytes_->problem().empty();
  }

  // The number of records before the first one that is too long.
  size_t NotTooLong(std::span<const RecordSpan> records) const {
    auto longer = [&](const RecordSpan& record) { return record.size > data_->max_record(); };
    return static_cast<size_t>(std::find_if(records.begin(), records.end(), longer) -
                               records.begin());
  }
  std::string TooLong(size_t size, bool exact) const {
    return Format(
        "a record of {} bytes{} is longer than max_record_bytes, which is {}; give a larger one if "
        "the file is as it should be",
        size, exact ? "" : " or more", data_->max_record());
  }

  // Returns why the record cannot be read; nullopt once more of its bytes are available.
  std::optional<std::string> Grow(const Found& found) {
    // If the file is too short for the record, do not read it, whatever length it claims.
    int64_t left = found.exact ? bytes_->left() : -1;
    if (left >= 0 && static_cast<uint64_t>(left) < found.need) {
      short_ = true;
      return std::nullopt;
    }
    constexpr size_t kLineEnd = 2;
    if (found.size > data_->max_record() + (found.exact ? 0 : kLineEnd - 1)) {
      return TooLong(found.size, found.exact);
    }
    size_t need = found.need;
    if (found.size > 0 && !found.exact) {
      need = std::min(need, bytes_->window().size - found.size + data_->max_record() + kLineEnd);
    }
    bytes_->Fill(need);
    return std::nullopt;
  }

  // Checks the first bytes of a file opened as uncompressed.
  void Recognize() {
    const Beginning beginning = data_->format().beginning;
    if (bytes_->window().offset != 0 || data_->compression() != Compression::kNone) return;
    bytes_->Fill(1);
    do {
      seen_ = LookAt(bytes_->window().data, bytes_->window().size);
      if (seen_.need > 0) bytes_->Fill(seen_.need);
    } while (seen_.need > 0 && bytes_->window().size >= seen_.need);
    compressed_ = (beginning == Beginning::kText && seen_.certain) ||
                  (beginning == Beginning::kAnyBytes && IsNamedSo(*data_->path(), seen_));
  }
  std::string NotPlain() const {
    return "a file that is not compressed was expected; " + seen_.Advice();
  }

  // For a problem with the first record.
  std::string Advice() const {
    if (bytes_->window().offset != 0 || seen_.name.empty()) return "";
    return "; " + seen_.Advice();
  }

  std::shared_ptr<const FileDataset> data_;
  CancelToken cancel_;
  Session& session_;
  std::unique_ptr<InputFile> requested_;  // before the first step; starts at offset_
  std::shared_ptr<InputFile> file_;       // shared with the threads
  int64_t size_ = -1;                     // of file_ when it was opened; -1 if unknown
  std::unique_ptr<ByteSource> bytes_;
  std::unique_ptr<RecordReader> reader_;
  int64_t offset_ = 0;
  int64_t index_ = 0;
  bool recognized_ = false;  // the first bytes were checked
  bool compressed_ = false;  // they showed that the file is compressed
  CompressionSeen seen_;
  BufferRef name_;          // file name, if elements contain it
  StructureRef structure_;  // of elements with a file name
  bool short_ = false;      // the file ends within the record that begins here
  bool jumps_ = false;      // the next record can be found without reading this one
  bool finished_ = false;
  int threads_;  // threads to start for the rest; 0: none, or already started
  FileStretch stretch_;
  int64_t row_ = 0;                          // index in the stretch
  bool whole_ = true;                        // the next stretch continues where this one ends
  std::optional<StretchReaders> stretches_;  // last: joined before its dependencies are destroyed
};

std::string FileDataset::Boundaries() const {
  constexpr std::array<std::string_view, 7> kOthers{
      kFileName,     kWithFileName,     kCalls, kShownAs, "compression_type",
      "buffer_size", "max_record_bytes"};
  std::string text = kind();
  for (const auto& [name, value] : args_.values()) {
    if (std::ranges::find(kOthers, name) != kOthers.end()) continue;
    if (auto* flag = std::get_if<bool>(&value)) text += Format(" {}={}", name, int{*flag});
    if (auto* number = std::get_if<int64_t>(&value)) text += Format(" {}={}", name, *number);
    if (auto* letters = std::get_if<std::string>(&value)) text += Format(" {}={}", name, *letters);
  }
  return text;
}

IteratorPtr FileDataset::MakeIterator(const RunContext& context) const {
  return std::make_unique<FileIterator>(
      std::static_pointer_cast<const FileDataset>(shared_from_this()), context);
}

class ReaderFunction final : public Function {
 public:
  ReaderFunction(std::string kind, Args args) : kind_(std::move(kind)), args_(std::move(args)) {}

  void Map(Block&&, const CallInfo& info, std::vector<Block>&) override {
    throw Error(ErrorKind::kType, "{}: a reader opens files, it maps nothing", info.stage->kind);
  }
  DatasetPtr Open(const Element& element, const CallInfo& info) override {
    if (element.leaves.size() != 1 || element.leaves[0].shape().rank() != 0 ||
        !element.leaves[0].dtype().is_reference() ||
        element.leaves[0].dtype().code == TypeCode::kObject) {
      throw Error(ErrorKind::kType, "{}: a file name (str or bytes) was expected, got {}",
                  info.stage->kind, ElementSpec::Of(element).structure->ToString());
    }
    Args args = CopiedArgs(args_, args_.owner());
    args.Set(kFileName, std::string(element.leaves[0].string()));
    return MakeDataset(kind_, {}, args);
  }
  MaybeSpec opened_spec() const override { return RecordSpec(args_); }
  bool opens_files() const override { return true; }
  bool needs_lock() const override { return false; }

 private:
  std::string kind_;
  Args args_;
};

}  // namespace

FunctionPtr MakeReader(const std::string& kind, const Args& args) {
  Args checked = CopiedArgs(args, args.owner());
  checked.Set(kFileName, std::string());
  MakeDataset(kind, {}, checked);
  return std::make_shared<ReaderFunction>(kind, CopiedArgs(args, args.owner()));
}

StageTraits TraitsOf(const FileFormat& format) {
  StageTraits traits{.reads = kFileName, .format = format.stage};
  if (format.lines) traits.timing_arguments = {kCalls};
  return traits;
}

std::shared_ptr<RecordFile> MakeFileDataset(const FileFormat& format, const Args& args) {
  FileFormat shown = format;
  if (args.Has(kShownAs)) shown.stage = args.Text(kShownAs);
  Args copied = CopiedArgs(args, shown.stage);
  return std::make_shared<FileDataset>(std::move(shown), std::move(copied));
}

}  // namespace penstock
