// snapshot: stores the elements of the first full pass as a saved dataset, and reads it in later
// passes.
#include "data/foreign_names.h"
#include "engine/cache_fills.h"
#include "engine/registry.h"
#include "stages/cache/filling_pass.h"
#include "storage/crc32c.h"
#include "storage/saved_folder.h"

namespace penstock {
namespace {

struct SnapshotOptions {
  std::string stage;   // "save" is a snapshot that is always written; its write failures are errors
  std::string folder;  // of this pipeline's snapshot
  std::string fingerprint;
  Codec codec = Codec::kNone;
  bool always = false;
  PlannedFunction shard;   // maps an element to its shard; null: one file
  PlannedFunction reader;  // maps the folder's name to a dataset
  bool in_order = true;    // reading preserves the order of writing
};

class SnapshotDataset final : public Dataset {
 public:
  explicit SnapshotDataset(SnapshotOptions options) : options_(std::move(options)) {}
  int64_t cardinality() const override { return input().cardinality(); }
  MaybeSpec spec() const override { return input_spec(); }
  const SnapshotOptions& options() const { return options_; }
  CacheStore* cache_store() const override { return options_.always ? nullptr : &store_; }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  // Older snapshots do not contain what determined their elements; their manifest identifies them.
  CacheFillPtr Held() const {
    if (!IsSavedFolder(options_.folder)) return nullptr;
    Manifest manifest = Manifest::Read(options_.folder, "snapshot");
    if (!manifest.randomness.empty()) return CacheFill::FromFile(*this, manifest.randomness);
    std::string text = manifest.ToText();
    RunContext context{};
    context.place.branch = {Crc32c(text.data(), text.size())};
    context.identity = std::make_shared<const RunIdentity>();
    return std::make_shared<CacheFill>(*this, context);
  }

  SnapshotOptions options_;
  mutable FileStore store_{[this] { return Held(); }};
};

class FolderSink final : public RowSink {
 public:
  FolderSink(const SnapshotOptions& options, FunctionPtr shard, const std::string& fill,
             const StageRandom& random, MaybeSpec spec)
      : options_(options),
        shard_(std::move(shard)),
        random_(random),
        spec_(std::move(spec)),
        writer_(options.folder, {options.fingerprint, fill},
                {options_.stage.c_str(), options.codec, false}) {}

  void Append(const Block& rows) override {
    if (!shard_) return writer_.Append(rows, 0);
    for (int64_t i = 0; i < rows.rows; ++i) {
      Block row = rows.Slice(i, 1);
      int64_t shard = ShardOf(row);
      writer_.Append(row, shard);
    }
  }
  int64_t rows() const override { return writer_.rows(); }
  void Commit() override {
    if (!options_.always && IsSavedFolder(options_.folder)) return;  // another process was faster
    writer_.Commit(spec_);
  }

 private:
  int64_t ShardOf(const Block& row);

  const SnapshotOptions& options_;
  const FunctionPtr shard_;
  const StageLabel stage_{options_.stage, "", ""};
  StageRandom random_;
  MaybeSpec spec_;
  FolderWriter writer_;
};

int64_t FolderSink::ShardOf(const Block& row) {
  std::vector<Block> out;
  shard_->Map(Block(row), {&stage_, random_, rows()}, out);
  if (!out.empty() && out[0].error) throw *out[0].error;
  if (!out.empty() && out[0].rows == 1) {
    Element element = out[0].Row(0);
    bool whole = element.leaves.size() == 1 && element.leaves[0].shape().rank() == 0;
    DType dtype = whole ? element.leaves[0].dtype() : DType();
    std::optional<int64_t> shard;
    if (dtype.code == TypeCode::kInt64) shard = element.leaves[0].value<int64_t>();
    if (dtype.code == TypeCode::kInt32) shard = element.leaves[0].value<int32_t>();
    if (shard && *shard >= 0 && *shard < FolderWriter::kMostShards) return *shard;
    if (shard) {
      throw Error(ErrorKind::kInvalidArgument,
                  "{}: shard_func must return a number in [0, {}), got {} for element {}",
                  options_.stage, FolderWriter::kMostShards, *shard, rows());
    }
  }
  throw Error(ErrorKind::kType, "{}: shard_func must return an int for each element",
              options_.stage);
}

// A pass iterates over one fill from beginning to end: the fill in the snapshot when the pass
// starts, or else its own. It reads the snapshot if that contains the fill; otherwise it produces
// the fill. A state records which, because the two may differ in order.
class SnapshotIterator final : public BlockIterator {
 public:
  SnapshotIterator(std::shared_ptr<const SnapshotDataset> data, RunContext context)
      : data_(std::move(data)), options_(data_->options()), context_(std::move(context)) {
    if (options_.always) return;
    RunFills& fills = context_.session->fills();
    fill_ = fills.For(*data_, context_);
    bool planned = context_.fills && context_.fills->Of(*data_);
    known_ = planned || !(*fill_ == CacheFill(*data_, context_));
  }

  void VisitState(StateVisitor& visitor) override {
    if (fill_ && visitor.saving()) {
      fill_->VisitState(visitor);
    } else if (fill_) {
      fill_ = context_.session->fills().Same(*data_, std::make_shared<CacheFill>(*data_, visitor));
    }
    visitor.Bool(known_);
    // After a failure neither continues, which the state encodes as both.
    bool reading = reading_ != nullptr || failed_;
    bool filling = filling_.has_value() || failed_;
    visitor.Bool(reading);
    visitor.Bool(filling);
    const bool failed = reading && filling;
    if (!visitor.saving()) {
      reading_.reset();
      filling_.reset();
      failed_ = failed;
    }
    if (failed) return;
    if (!visitor.saving()) {
      if (reading) {
        if (!Holds()) ThrowGone();
        Read();
      }
      if (filling) Fill(false);
    }
    if (reading) VisitChild(visitor, *reading_);
    if (filling) filling_->VisitState(visitor);
    if (filling) visitor.Count(given_, "elements given");
  }

 protected:
  Block DoNextBlock(int64_t max_rows) override {
    if (failed_) return Block::AtEnd();
    if (!reading_ && !filling_) Decide();
    return reading_ ? ReadOn(max_rows) : Make(max_rows);
  }

 private:
  // Whether the snapshot exists and holds the fill of this pass.
  bool Holds() const {
    if (!IsSavedFolder(options_.folder)) return false;
    CacheFillPtr held = data_->cache_store()->fill();
    return held ? *held == *fill_ : true;  // if it cannot be read, reading it reports why
  }

  [[noreturn]] void ThrowGone() const {
    throw Error(ErrorKind::kState,
                "set_state: the state goes on with the elements of the snapshot in {}, which is "
                "{}; bring it back, or start the pass from its begin",
                options_.folder,
                IsSavedFolder(options_.folder) ? "another one by now" : "not there any more");
  }

  // Whether the run continues from a state; then it ignores what others have written since.
  bool Restored() const { return context_.fills && context_.fills->restored(); }

  Block ReadOn(int64_t max_rows) {
    Block block = reading_->NextBlock(max_rows);
    bool last = block.end;
    EndAlone(block);
    // A saved folder emits its end together with the last element.
    bool through = data_->cardinality() >= 0 ? last : block.end;
    if (through && fill_) context_.session->fills().Kept(*data_, fill_);
    return block;
  }

  Block Make(int64_t max_rows) {
    Block block = filling_->Next(max_rows);
    FillingPass::Outcome outcome = filling_->TakeOutcome();
    if (fill_ && outcome != FillingPass::Outcome::kNone) {
      RunFills& fills = context_.session->fills();
      if (Holds()) {
        fills.Kept(*data_, fill_);
      } else if (outcome == FillingPass::Outcome::kWhole || Restored()) {
        fills.Owe(*data_, fill_);
      }
    }
    Number(block);
    return block;
  }

  // Assigns rows the identities that they have when read later, so that the randomness of later
  // stages is the same in both passes.
  void Number(Block& block) {
    block.Renumber(given_);
    given_ += block.rows;
  }

  void Decide() {
    try {
      bool there = fill_ && IsSavedFolder(options_.folder);
      // The pass that fills a snapshot has the order of its input, also when it is repeated.
      if (there && (known_ || options_.in_order) && Holds()) return Read();
      if (known_ && !options_.in_order) {
        if (there) ThrowGone();
        WriteAll();
        return Read();
      }
      Fill(!there);
    } catch (const Error& error) {
      failed_ = !error.transient();  // reported once: no elements follow it
      throw;
    }
  }

  // Writes the snapshot that the run had written or read before its state was saved.
  void WriteAll() {
    Fill(true);
    while (true) {
      if (context_.cancel.cancelled()) throw Error(ErrorKind::kCancelled, "");
      Block block = filling_->Next(kRowsAtOnce);
      if (block.error) throw *std::move(block.error);
      if (block.end) break;
    }
    filling_.reset();
    if (!Holds()) ThrowGone();
  }

  void Read() {
    Element name;
    name.leaves.push_back(Tensor::String(TypeCode::kText, options_.folder));
    const StageLabel stage{options_.stage, data_->label().name, ""};
    CallInfo info{&stage, data_->Randomness(context_), 0};
    info.session = context_.session;
    const int64_t misses = ForeignMisses();
    try {
      opened_ = context_.Called(options_.reader)->Open(name, info);
    } catch (const Error& error) {
      if (error.transient() || ForeignMisses() == misses) throw;
      // Classes that no element of this process has had are only known while an element that the
      // pipeline produced is alive.
      const Step kept = data_->StartInput(InputContext())->Next();
      opened_ = context_.Called(options_.reader)->Open(name, info);
    }
    RunContext context = context_.Opened();
    context.ragged = false;
    reading_ = opened_->Start(context);
  }

  void Fill(bool write) {
    FillingOptions options{options_.stage, data_->cardinality(), !options_.always};
    std::unique_ptr<RowSink> sink;
    if (write) {
      sink = MakeSink(*context_.session, options, [this] {
        return std::make_unique<FolderSink>(options_, context_.Called(options_.shard),
                                            fill_ ? fill_->text() : "",
                                            data_->Randomness(InputContext()), data_->spec());
      });
    }
    // If another pass was faster, only the fill of a restored run is still needed.
    bool whole = write ? sink != nullptr : Restored();
    filling_.emplace(data_->StartInput(InputContext()), std::move(sink), whole, *context_.session,
                     options);
  }

  RunContext InputContext() const { return fill_ ? fill_->Of(context_) : context_; }

  std::shared_ptr<const SnapshotDataset> data_;
  const SnapshotOptions& options_;
  RunContext context_;
  CacheFillPtr fill_;   // null for save
  bool known_ = false;  // the fill was complete before the pass, in the snapshot or in the run
  DatasetPtr opened_;
  IteratorPtr reading_;
  std::optional<FillingPass> filling_;
  int64_t given_ = 0;  // rows delivered by a filling pass
  static constexpr int64_t kRowsAtOnce = 256;
  bool failed_ = false;  // the snapshot can neither be read nor written
};

IteratorPtr SnapshotDataset::MakeIterator(const RunContext& context) const {
  return std::make_unique<SnapshotIterator>(
      std::static_pointer_cast<const SnapshotDataset>(shared_from_this()), context);
}

const RegisterDataset snapshot_stage(
    "snapshot",
    {.keeps_sizes = true,
     .keeping = {"path", "compression", "shard_func", "structures", "reorders"},
     .replays = true,
     .share_states = {"always"}},
    [](const std::vector<DatasetPtr>&, const Args& args) -> std::shared_ptr<Dataset> {
      SnapshotOptions options;
      options.always = args.Has("always") && args.Bool("always");
      options.stage = options.always ? "save" : "snapshot";
      options.folder = args.Text("path");
      options.fingerprint = args.Text("fingerprint");
      // Each pipeline with a snapshot under this path has its own folder.
      if (!options.always) options.folder += "/" + options.fingerprint;
      options.codec = CodecOfName(options.stage.c_str(), args.Text("compression"));
      if (args.Has("shard_func")) options.shard = args.Callable("shard_func");
      if (args.Has("reader")) options.reader = args.Callable("reader");
      options.in_order = !options.shard && !(args.Has("reorders") && args.Bool("reorders"));
      return std::make_shared<SnapshotDataset>(std::move(options));
    });

}  // namespace
}  // namespace penstock
