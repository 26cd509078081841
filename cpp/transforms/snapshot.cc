// snapshot: the elements of the first full pass, kept as a saved dataset and read as one later.
#include "element/foreign_names.h"
#include "pipeline/registry.h"
#include "pipeline/saved_folder.h"
#include "transforms/filling_pass.h"

namespace penstock {
namespace {

struct SnapshotOptions {
  std::string stage;   // "save" is a snapshot that is always written, and that failing fails
  std::string folder;  // of this pipeline's snapshot
  std::string fingerprint;
  Codec codec = Codec::kNone;
  bool always = false;
  FunctionPtr shard;   // of an element; null: all in one file
  FunctionPtr reader;  // from the folder's name to a dataset
};

class SnapshotDataset final : public Dataset {
 public:
  explicit SnapshotDataset(SnapshotOptions options) : options_(std::move(options)) {}
  int64_t cardinality() const override { return input().cardinality(); }
  MaybeSpec spec() const override { return input_spec(); }
  const SnapshotOptions& options() const { return options_; }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  SnapshotOptions options_;
};

class FolderSink final : public RowSink {
 public:
  FolderSink(const SnapshotOptions& options, const StageRandom& random, MaybeSpec spec)
      : options_(options),
        random_(random),
        spec_(std::move(spec)),
        writer_(options.folder, options.fingerprint,
                {options_.stage.c_str(), options.codec, false}) {}

  void Append(const Block& rows) override {
    if (!options_.shard) return writer_.Append(rows, 0);
    for (int64_t i = 0; i < rows.rows; ++i) {
      Block row = rows.Part(i, 1);
      int64_t shard = ShardOf(row);
      writer_.Append(row, shard);
    }
  }
  int64_t rows() const override { return writer_.rows(); }
  void Commit() override {
    if (!options_.always && IsSavedFolder(options_.folder)) return;  // another was faster
    writer_.Commit(spec_);
  }

 private:
  int64_t ShardOf(const Block& row);

  const SnapshotOptions& options_;
  const StageLabel stage_{options_.stage, "", ""};
  StageRandom random_;
  MaybeSpec spec_;
  FolderWriter writer_;
};

int64_t FolderSink::ShardOf(const Block& row) {
  std::vector<Block> out;
  options_.shard->Map(Block(row), {&stage_, random_, rows()}, out);
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

// Decided at the first step: a complete snapshot is read, else one is written. A state remembers
// which, because the two may differ in order.
class SnapshotIterator final : public BlockIterator {
 public:
  SnapshotIterator(std::shared_ptr<const SnapshotDataset> data, RunContext context)
      : data_(std::move(data)), options_(data_->options()), context_(std::move(context)) {}

  void VisitState(StateVisitor& visitor) override {
    bool reading = reading_ != nullptr;
    bool filling = filling_.has_value();
    visitor.Bool(reading);
    visitor.Bool(filling);
    visitor.Demand(!reading || !filling, "it is read or written, not both");
    if (!visitor.saving()) {
      reading_.reset();
      filling_.reset();
      failed_ = false;
      if (reading && !IsSavedFolder(options_.folder)) {
        throw Error(ErrorKind::kInvalidArgument,
                    "set_state: the state was saved while the snapshot in {} was read, which is "
                    "not there any more; bring it back, or start the pass from its begin",
                    options_.folder);
      }
      if (reading) Read();
      if (filling) Fill(false);
    }
    if (reading) visitor.Child(*reading_);
    if (filling) filling_->VisitState(visitor);
    if (filling) visitor.Count(given_, "elements given");
  }

 protected:
  Block DoNextBlock(int64_t max_rows) override {
    if (failed_) return Block::AtEnd();
    if (!reading_ && !filling_) Decide();
    if (reading_) return reading_->NextBlock(max_rows);
    Block block = filling_->Next(max_rows);
    Number(block);
    return block;
  }

 private:
  // Gives rows the identities that they have when they are read later, so that randomness behind is
  // the same in both passes.
  void Number(Block& block) {
    block.first.key = static_cast<uint64_t>(given_);
    block.keys.clear();
    for (Element& element : block.elements) element.origin.key = static_cast<uint64_t>(given_++);
    if (block.elements.empty()) given_ += block.rows;
  }

  void Decide() {
    try {
      if (!options_.always && IsSavedFolder(options_.folder))
        Read();
      else
        Fill(true);
    } catch (const Error& error) {
      failed_ = !error.transient();  // told once: there are no elements behind it
      throw;
    }
  }

  void Read() {
    Element name;
    name.leaves.push_back(Tensor::String(TypeCode::kText, options_.folder));
    const StageLabel stage{options_.stage, data_->label().name, ""};
    CallInfo info{&stage, data_->Randomness(context_), 0};
    info.session = context_.session;
    const int64_t misses = ForeignMisses();
    try {
      opened_ = options_.reader->Open(name, info);
    } catch (const Error& error) {
      if (error.transient() || ForeignMisses() == misses) throw;
      // Classes that no element of this process has are known while there is one that the pipeline
      // has made.
      const Step kept = data_->StartInput(context_)->Next();
      opened_ = options_.reader->Open(name, info);
    }
    RunContext context = context_;
    context.path += ".*";
    context.ragged = false;
    reading_ = opened_->Start(context);
  }

  void Fill(bool write) {
    FillingOptions options{options_.stage, data_->cardinality(), !options_.always};
    std::unique_ptr<RowSink> sink;
    if (write) {
      sink = MakeSink(*context_.session, options, [this] {
        return std::make_unique<FolderSink>(options_, data_->Randomness(context_), data_->spec());
      });
    }
    filling_.emplace(data_->StartInput(context_), std::move(sink), *context_.session, options);
  }

  std::shared_ptr<const SnapshotDataset> data_;
  const SnapshotOptions& options_;
  RunContext context_;
  DatasetPtr opened_;
  IteratorPtr reading_;
  std::optional<FillingPass> filling_;
  int64_t given_ = 0;    // rows of the pass that fills
  bool failed_ = false;  // neither can the snapshot be read nor another be made
};

IteratorPtr SnapshotDataset::MakeIterator(const RunContext& context) const {
  return std::make_unique<SnapshotIterator>(
      std::static_pointer_cast<const SnapshotDataset>(shared_from_this()), context);
}

const RegisterDataset registration(
    "snapshot", [](const std::vector<DatasetPtr>&, const Args& args) -> std::shared_ptr<Dataset> {
      SnapshotOptions options;
      options.always = args.Has("always") && args.Bool("always");
      options.stage = options.always ? "save" : "snapshot";
      options.folder = args.Text("path");
      options.fingerprint = args.Text("fingerprint");
      // A folder for each pipeline that has its snapshot under this path.
      if (!options.always) options.folder += "/" + options.fingerprint;
      options.codec = CodecOfName(options.stage.c_str(), args.Text("compression"));
      if (args.Has("shard_func")) options.shard = args.Callable("shard_func");
      if (args.Has("reader")) options.reader = args.Callable("reader");
      return std::make_shared<SnapshotDataset>(std::move(options));
    });

}  // namespace
}  // namespace penstock
