// The records of one file as elements of bytes; the state is a byte offset.
#include "sources/file_dataset.h"

#include <memory>

#include "sources/byte_source.h"

namespace penstock {
namespace {

class FileDataset final : public Dataset {
 public:
  FileDataset(RecordReaderMaker maker, Args args)
      : maker_(maker),
        args_(std::move(args)),
        path_(std::make_shared<const std::string>(args_.Text("filename"))),
        chunk_(static_cast<size_t>(args_.IntAtLeast("buffer_size", 0))) {}
  int64_t cardinality() const override { return kUnknown; }
  MaybeSpec spec() const override { return ElementSpec::Scalar(DType::Of(TypeCode::kBytes)); }
  const std::shared_ptr<const std::string>& path() const { return path_; }
  std::unique_ptr<ByteSource> Open() const { return OpenBytes(*path_, LocalFiles(), chunk_); }
  std::unique_ptr<RecordReader> Reader(ByteSource& bytes) const { return maker_(bytes, args_); }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  RecordReaderMaker maker_;
  Args args_;
  std::shared_ptr<const std::string> path_;
  size_t chunk_;
};

class FileIterator final : public Iterator {
 public:
  FileIterator(std::shared_ptr<const FileDataset> data, CancelToken cancel)
      : data_(std::move(data)), cancel_(std::move(cancel)) {}

  void VisitState(StateVisitor& visitor) override {
    if (bytes_) offset_ = bytes_->offset();
    visitor.Int(offset_);
    visitor.Int(index_);
    visitor.Bool(failed_);
  }

 protected:
  Step DoNext() override {
    if (failed_) return End{};
    if (cancel_.cancelled()) return Error(ErrorKind::kCancelled, "");
    if (!bytes_) {
      failed_ = true;  // a file that cannot be opened has no records
      bytes_ = data_->Open();
      reader_ = data_->Reader(*bytes_);
      if (offset_ > 0) bytes_->Seek(offset_);
      failed_ = false;
    }
    Element element;
    element.leaves.resize(1);
    Origin origin{static_cast<uint64_t>(index_), index_, data_->path(), bytes_->offset()};
    try {
      if (!reader_->Read(element.leaves[0])) return End{};
    } catch (Error& error) {
      if (error.kind() != ErrorKind::kData) failed_ = true;
      ++index_;
      return error.At(std::move(origin));
    }
    ++index_;
    element.origin = std::move(origin);
    return element;
  }

 private:
  std::shared_ptr<const FileDataset> data_;
  CancelToken cancel_;
  std::unique_ptr<ByteSource> bytes_;
  std::unique_ptr<RecordReader> reader_;
  int64_t offset_ = 0;
  int64_t index_ = 0;
  bool failed_ = false;
};

IteratorPtr FileDataset::MakeIterator(const RunContext& context) const {
  return std::make_unique<FileIterator>(
      std::static_pointer_cast<const FileDataset>(shared_from_this()), context.cancel);
}

class ReaderFunction final : public Function {
 public:
  ReaderFunction(std::string kind, Args args) : kind_(std::move(kind)), args_(std::move(args)) {}

  void Map(Block&&, const CallInfo& info, std::vector<Block>&) override {
    throw Error(ErrorKind::kType, "{}: a reader opens files, it maps nothing",
                std::string_view(info.stage));
  }
  DatasetPtr Open(const Element& element, const CallInfo& info) override {
    if (element.leaves.size() != 1 || element.leaves[0].shape().rank() != 0 ||
        !element.leaves[0].dtype().is_reference() ||
        element.leaves[0].dtype().code == TypeCode::kObject) {
      throw Error(ErrorKind::kType, "{}: a file name (str or bytes) was expected, got {}",
                  std::string_view(info.stage), ElementSpec::Of(element).structure->ToString());
    }
    Args args = args_;
    args.Set("filename", std::string(element.leaves[0].string()));
    return MakeDataset(kind_, {}, args);
  }
  MaybeSpec opened_spec() const override {
    return ElementSpec::Scalar(DType::Of(TypeCode::kBytes));
  }
  bool needs_lock() const override { return false; }

 private:
  std::string kind_;
  Args args_;
};

}  // namespace

FunctionPtr MakeReader(const std::string& kind, const Args& args) {
  return std::make_shared<ReaderFunction>(kind, args);
}

std::shared_ptr<Dataset> MakeFileDataset(RecordReaderMaker maker, const Args& args) {
  return std::make_shared<FileDataset>(maker, args);
}

}  // namespace penstock
