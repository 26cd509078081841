// cache(filename): keeps the elements of the first full pass in a file, for this process and later
// ones.
#include <functional>

#include "data/block_size.h"
#include "engine/cache_fills.h"
#include "engine/registry.h"
#include "stages/cache/filling_pass.h"
#include "storage/chunk/chunk_cursor.h"
#include "storage/file_path.h"
#include "storage/record_reader.h"

namespace penstock {
namespace {

class CacheFileDataset final : public Dataset {
 public:
  CacheFileDataset(std::string filename, std::string fingerprint)
      : filename_(std::move(filename)), fingerprint_(std::move(fingerprint)) {}
  int64_t cardinality() const override { return input().cardinality(); }
  MaybeSpec spec() const override { return input_spec(); }
  const std::string& filename() const { return filename_; }
  const std::string& fingerprint() const { return fingerprint_; }
  CacheStore* cache_store() const override { return &store_; }
  std::shared_ptr<const ChunkIndex> OpenFile() const {
    return std::make_shared<const ChunkIndex>(
        "cache", filename_, penstock::OpenFile(filename_, {.throughout = false}), kMaxRecordBytes);
  }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  CacheFillPtr Held() const {
    ChunkHeader header = ChunkIndex::Header("cache", filename_,
                                            penstock::OpenFile(filename_, {.throughout = false}));
    bool own = header.fingerprint == fingerprint_ && !header.randomness.empty();
    return own ? CacheFill::FromFile(*this, header.randomness) : nullptr;
  }

  std::string filename_;
  std::string fingerprint_;
  mutable FileStore store_{[this] { return Held(); }};
};

class FileSink final : public RowSink {
 public:
  FileSink(const std::string& filename, const ChunkHeader& header, MaybeSpec spec,
           std::function<bool()> wanted)
      : header_(header),
        wanted_(std::move(wanted)),
        spec_(std::move(spec)),
        temporary_("cache", filename, OurKind::kFile),
        writer_(temporary_.path(), header_, {"cache", Codec::kNone, true}) {}
  void Append(const Block& rows) override { writer_.Append(rows); }
  int64_t rows() const override { return writer_.rows(); }
  void Commit() override {
    if (!wanted_()) return;
    writer_.Finish(spec_);
    temporary_.Commit();
  }

 private:
  ChunkHeader header_;
  std::function<bool()> wanted_;  // called at the end
  MaybeSpec spec_;
  Temporary temporary_;
  ChunkWriter writer_;
};

// A pass iterates over one fill from beginning to end: the fill in the file when the pass starts,
// or else its own. It reads the file if that contains the fill; otherwise it produces the fill
// (again). The file and the states contain everything that determines the fill.
class CacheFileIterator final : public BlockIterator {
 public:
  CacheFileIterator(std::shared_ptr<const CacheFileDataset> data, RunContext context)
      : data_(std::move(data)),
        context_(std::move(context)),
        fill_(context_.session->fills().For(*data_, context_)) {}

  void VisitState(StateVisitor& visitor) override;

  std::optional<Error> Discard(int64_t& steps) override {
    try {
      if (!failed_) Decide();
    } catch (const Error& error) {
      return error;
    }
    if (!cursor_ || to_pass_ > 0) return Iterator::Discard(steps);
    int64_t passed = std::min(steps, cursor_->index().rows() - cursor_->row());
    cursor_->Seek(cursor_->row() + passed);
    steps_ += passed;
    steps = 0;
    if (cursor_->row() == data_->cardinality()) context_.session->fills().Kept(*data_, fill_);
    return std::nullopt;
  }

 protected:
  Block DoNextBlock(int64_t max_rows) override {
    if (failed_) return Block::AtEnd();
    Decide();
    while (to_pass_ > 0) {
      if (context_.cancel.cancelled()) return Block::Of(Error(ErrorKind::kCancelled, ""));
      Block block = Make(std::min(to_pass_, kMostBlockRows));
      if (block.error && block.error->transient()) return block;
      int64_t passed = block.rows + block.error.has_value();
      if (passed == 0) break;
      to_pass_ -= passed;
    }
    Block block = cursor_ ? Read(max_rows) : Make(max_rows);
    steps_ += block.steps();
    return block;
  }

 private:
  void Decide();
  bool OpenFile();
  std::shared_ptr<const ChunkIndex> Open();
  Block Read(int64_t max_rows);
  Block Make(int64_t max_rows);
  void Fill(bool write);

  std::shared_ptr<const CacheFileDataset> data_;
  RunContext context_;
  CacheFillPtr fill_;
  // Exactly one of them, after Decide.
  std::optional<ChunkCursor> cursor_;
  std::optional<FillingPass> filling_;
  int64_t steps_ = 0;    // delivered
  int64_t to_pass_ = 0;  // of these, to be produced again
  bool failed_ = false;  // the file can neither be read nor written
};

void CacheFileIterator::Decide() {
  if (cursor_ || filling_) return;
  try {
    if (OpenFile()) return;
    // After a restore, if the file is missing or holds another fill.
    to_pass_ = steps_;
    Fill(true);
  } catch (const Error& error) {
    failed_ = !error.transient();  // reported once: no elements follow it
    throw;
  }
}

// Opens the file. Classes that no element of this process has had are only known while an element
// that the pipeline produced is alive.
std::shared_ptr<const ChunkIndex> CacheFileIterator::Open() {
  try {
    return data_->OpenFile();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kType) throw;
  }
  const Step kept = data_->StartInput(fill_->Of(context_))->Next();
  return data_->OpenFile();
}

// Opens the file if it exists and holds the fill; warns if another pipeline wrote it.
bool CacheFileIterator::OpenFile() {
  const std::string& name = data_->filename();
  try {
    auto index = Open();
    // A file of a saved dataset has the same format, but no cache randomness.
    if (index->header().randomness.empty()) ThrowTaken("cache", name, OurKind::kFile);
    if (index->header().fingerprint != data_->fingerprint()) {
      context_.session->Warn(Format(
          "cache: {} was made by another pipeline, or its files or functions have changed since; "
          "it is made again",
          name));
      return false;
    }
    if (!(*CacheFill::FromFile(*data_, index->header().randomness) == *fill_)) return false;
    if (steps_ > index->rows()) {
      StateVisitor::ThrowDamaged("cache", "there are fewer elements in the file than were given");
    }
    cursor_.emplace(std::move(index), context_.batch_rows);
    cursor_->Seek(steps_);
    return true;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kNotFound) return false;
    if (error.kind() != ErrorKind::kData && error.kind() != ErrorKind::kType) throw;
    RequireReplaceable("cache", WithoutLink(name), OurKind::kFile);
    context_.session->Warn(Format("cache: {}; it is made again", error.message()));
    return false;
  }
}

Block CacheFileIterator::Read(int64_t max_rows) {
  try {
    Block block = cursor_->Next(max_rows);
    EndAlone(block);
    bool through = block.end || cursor_->row() == data_->cardinality();
    if (through) context_.session->fills().Kept(*data_, fill_);
    return block;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kData && error.os_error() == 0) throw;
    context_.session->Warn(Format(
        "cache: {}; its elements are computed again, and the file is made again", error.message()));
  }
  cursor_.reset();
  to_pass_ = steps_;
  Fill(true);
  return DoNextBlock(max_rows);
}

Block CacheFileIterator::Make(int64_t max_rows) {
  Block block = filling_->Next(max_rows);
  FillingPass::Outcome outcome = filling_->TakeOutcome();
  if (outcome != FillingPass::Outcome::kNone) {
    RunFills& fills = context_.session->fills();
    CacheFillPtr held = data_->cache_store()->fill();
    if (held && *held == *fill_) {
      fills.Kept(*data_, fill_);
    } else if (outcome == FillingPass::Outcome::kWhole) {
      fills.Owe(*data_, fill_);
    }
  }
  return block;
}

void CacheFileIterator::Fill(bool write) {
  FillingOptions options{"cache", data_->cardinality(), true};
  std::unique_ptr<RowSink> sink;
  if (write) {
    ChunkHeader header{data_->fingerprint(), fill_->text()};
    sink = MakeSink(*context_.session, options, [&] {
      auto wanted = [this] { return context_.session->fills().MayWrite(*data_, *fill_); };
      return std::make_unique<FileSink>(data_->filename(), header, data_->spec(), wanted);
    });
  }
  bool whole = !write || sink != nullptr;
  filling_.emplace(data_->StartInput(fill_->Of(context_)), std::move(sink), whole,
                   *context_.session, options);
}

void CacheFileIterator::VisitState(StateVisitor& visitor) {
  if (visitor.saving()) {
    fill_->VisitState(visitor);
  } else {
    fill_ = context_.session->fills().Same(*data_, std::make_shared<CacheFill>(*data_, visitor));
  }
  visitor.Count(steps_, "elements given");
  // steps_ + 1: the error was reported, and nothing follows it.
  int64_t again = failed_ ? steps_ + 1 : to_pass_;
  visitor.Count(again, "elements to be made again", steps_ + 1);
  bool filling = filling_.has_value();
  visitor.Bool(filling);
  if (!visitor.saving()) {
    cursor_.reset();
    filling_.reset();
    failed_ = again > steps_;
    visitor.Demand(!failed_ || !filling, "what has failed is not filled");
    to_pass_ = failed_ ? 0 : again;
    // The beginning is missing, so a pass that continues from a state writes no file.
    if (filling) Fill(false);
  }
  if (filling) filling_->VisitState(visitor);
}

IteratorPtr CacheFileDataset::MakeIterator(const RunContext& context) const {
  return std::make_unique<CacheFileIterator>(
      std::static_pointer_cast<const CacheFileDataset>(shared_from_this()), context);
}

const RegisterDataset cache_file_stage("cache_file",
                                       {.form_of = "cache",
                                        .keeps_sizes = true,
                                        .keeping = {"filename", "structures"},
                                        .replays = true},
                                       [](const std::vector<DatasetPtr>&,
                                          const Args& args) -> std::shared_ptr<Dataset> {
                                         return std::make_shared<CacheFileDataset>(
                                             args.Text("filename"), args.Text("fingerprint"));
                                       });

}  // namespace
}  // namespace penstock
