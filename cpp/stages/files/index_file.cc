// An index is built by iterating over the file, which yields the offset of each record.
#include "stages/files/index_file.h"

#include "engine/session.h"
#include "stages/files/file_dataset.h"
#include "storage/remote.h"

namespace penstock {
namespace {

constexpr const char* kSuffix = ".psindex";

std::shared_ptr<const RecordFile> OpenRecords(const FunctionPtr& reader, const std::string& file) {
  static const StageLabel& label = *new StageLabel{"index", "", ""};
  Element name{{Tensor::String(TypeCode::kText, file)}, Structure::Leaf(), {}};
  auto records = std::dynamic_pointer_cast<const RecordFile>(reader->Open(name, {&label, {}}));
  if (!records) {
    throw Error(ErrorKind::kType, "index: a file of records was expected, got {}", file);
  }
  if (records->compression() != Compression::kNone) {
    throw Error(ErrorKind::kInvalidArgument,
                "index: a file that is not compressed was expected, got {} as {}: no record of it "
                "can be read without all before it; decompress it first",
                file, NameOf(records->compression()));
  }
  return records;
}

}  // namespace

std::string IndexPathOf(const std::string& file, const std::string& folder) {
  if (folder.empty()) return file + kSuffix;
  // The signature of a URL changes and is secret.
  const bool web = file.starts_with("http") && IsRemote(file);
  const std::string path = web ? file.substr(0, file.find('?')) : file;
  return folder + "/" + path.substr(path.find_last_of("/\\") + 1) + kSuffix;
}

IndexedFile WriteRecordIndex(const FunctionPtr& reader, const std::string& file,
                             const std::string& target, const CancelToken& cancel,
                             const std::function<void(int64_t)>& progress) {
  constexpr int64_t kRows = 1024;
  constexpr int64_t kReportBytes = int64_t{16} << 20;
  auto records = OpenRecords(reader, file);
  IndexedFile of;
  of.format = records->Boundaries();
  auto opened = OpenFile(file, {.cancel = &cancel});
  of.size = of.end = opened->size();
  of.version = opened->version();
  if (of.size < 0) {
    throw Error(ErrorKind::kInvalidArgument,
                "index: a regular file was expected, got {}, which is a pipe or a device", file);
  }
  RecordIndexWriter writer(target);
  RunOptions options;
  options.threads = 1;
  options.counted = false;
  Session session(records, options, {}, &cancel);
  int64_t reported = 0;
  int64_t at = 0;
  for (bool ended = false; !ended;) {
    Block block = session.NextBlock(kRows);
    ended = block.end;
    for (int64_t offset : block.origins.offsets) writer.Add(at = offset);
    if (block.error) {
      const Error& error = *block.error;
      const bool nothing = writer.records() == 0;  // it may be a file of another kind
      if (error.kind() != ErrorKind::kData || error.origin().offset < 0 || nothing) throw error;
      writer.Add(at = error.origin().offset);
      of.problem = error.message();
    } else if (block.rows > 0) {
      of.problem.clear();
    }
    session.SetUndelivered(0);
    if (at >= reported + kReportBytes) progress(reported = at);
  }
  if (opened->size() != of.size || opened->version() != of.version) {
    throw Error(ErrorKind::kData, "index: {} was expected to stay as it is, and was written to",
                file);
  }
  of.warnings = session.TakeWarnings();
  progress(of.size);
  of.records = writer.records();
  writer.Finish(of);
  return of;
}

}  // namespace penstock
