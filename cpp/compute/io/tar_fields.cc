// io.tar_fields and io.tar_members: the contents of a sample in a tar archive, by file name.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "compute/new_op.h"
#include "compute/operand.h"
#include "compute/strings/number_text.h"
#include "compute/strings/string_items.h"
#include "data/error.h"
#include "storage/tar.h"

namespace penstock {
namespace {

constexpr std::string_view kTarKey = "__key__";

// A file of a sample. Its field is in lower case, as in WebDataset.
struct TarFile {
  std::string name, key, field;
  std::string_view contents;
  bool sparse;
};

std::string InLowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

// The files in a record of TarSampleReader.
std::vector<TarFile> FilesOf(std::string_view record) {
  const ByteWindow window{reinterpret_cast<const uint8_t*>(record.data()), record.size(), 0, true};
  std::vector<TarFile> files;
  for (size_t at = 0;;) {
    TarStep step = ReadTarMember(window, at);
    if (step.kind == TarStep::kEnd) break;
    if (step.kind != TarStep::kMember || step.member.next > record.size()) {
      throw Error(ErrorKind::kData,
                  "TarDataset: a sample of a tar archive was expected, got {} bytes "
                  "that are none",
                  record.size());
    }
    TarMember& member = step.member;
    at = member.next;
    const TarName name = member.file ? SplitTarName(member.name) : TarName{};
    if (!name.named) continue;
    files.push_back({"", std::string(name.key), InLowerCase(name.field),
                     record.substr(member.begin, member.size), member.sparse});
    files.back().name = std::move(member.name);
  }
  if (files.empty()) throw Error(ErrorKind::kData, "TarDataset: a sample has no files");
  return files;
}

void RequireStored(const TarFile& file) {
  if (!file.sparse) return;
  throw Error(ErrorKind::kData,
              "TarDataset: sample '{}': the file '{}' is sparse, and only files that are stored as "
              "they are can be read; write the archive without --sparse",
              file.key, file.name);
}

[[noreturn]] void ThrowTwice(const TarFile& file) {
  throw Error(ErrorKind::kData, "TarDataset: sample '{}': one file '{}' was expected, got two",
              file.key, file.field);
}

// The type that the contents of a file become.
enum class TarForm : int64_t { kBytes, kText, kNumber };

// Scalars, one for each record. Strings share the memory of the records where possible.
class TarColumn {
 public:
  void Add(std::string_view item) { items_.push_back(item); }
  void Add(int64_t number) { numbers_.push_back(number); }
  Tensor TakeNumbers(const Shape& shape) const {
    Tensor made = Tensor::Make(DType::Of(TypeCode::kInt64), shape);
    std::copy(numbers_.begin(), numbers_.end(), reinterpret_cast<int64_t*>(made.mutable_data()));
    return made;
  }
  Tensor Take(TypeCode code, const Tensor& records, const Shape& shape) const {
    if (records.storage() != Storage::kPacked) return Tensor::Strings(code, shape, items_);
    BufferRef spans = Buffer::Allocate(2 * sizeof(int64_t) * items_.size());
    auto* to = reinterpret_cast<int64_t*>(spans->data());
    auto* base = reinterpret_cast<const char*>(records.buffer()->data());
    for (std::string_view item : items_) {
      *to++ = item.data() - base;
      *to++ = item.data() - base + static_cast<int64_t>(item.size());
    }
    return Tensor::Packed(code, shape, std::move(spans), records.buffer());
  }

 private:
  std::vector<std::string_view> items_;
  std::vector<int64_t> numbers_;
};

// A requested file: "jpg", or the first of "jpg;jpeg" that a sample has.
struct TarRequest {
  std::string text;  // as the user wrote it
  std::vector<std::string> fields;
  TarForm form;

  const TarFile& In(const std::vector<TarFile>& files) const {
    for (const std::string& field : fields) {
      auto is_it = [&](const TarFile& file) { return file.field == field; };
      auto found = std::find_if(files.begin(), files.end(), is_it);
      if (found == files.end()) continue;
      if (std::find_if(found + 1, files.end(), is_it) != files.end()) ThrowTwice(*found);
      return *found;
    }
    std::string came;
    for (const TarFile& file : files) came += (came.empty() ? "'" : ", '") + file.field + "'";
    throw Error(ErrorKind::kData, "TarDataset: sample '{}': a file '{}' was expected, got {}",
                files[0].key, text, came);
  }
};

class TarFields final : public Op {
 public:
  explicit TarFields(const Args& args) {
    const Tensor& names = args.Nested("fields").leaves.at(0);
    const std::vector<int64_t>& forms = args.Ints("forms");
    for (int64_t i = 0; i < names.elements(); ++i) {
      const auto form = static_cast<TarForm>(forms.at(static_cast<size_t>(i)));
      TarRequest request{std::string(names.string(i)), {}, form};
      std::string_view rest = request.text;
      for (size_t end = 0;; rest.remove_prefix(end + 1)) {
        end = rest.find(';');
        request.fields.push_back(InLowerCase(rest.substr(0, end)));
        if (end == std::string_view::npos) break;
      }
      requests_.push_back(std::move(request));
    }
  }

  size_t outputs() const override { return requests_.size(); }
  bool by_rows(const std::vector<Tensor>&) const override { return true; }

  std::vector<Tensor> Call(const std::vector<Tensor>& inputs, RandomKey) const override {
    CheckInputs("tar_fields", inputs, 1);
    const Tensor& records = inputs[0];
    StringKind("tar_fields", "record", records);
    std::vector<TarColumn> columns(requests_.size());
    std::vector<std::string> keys;
    for (int64_t row = 0; row < records.elements(); ++row) {
      const std::vector<TarFile> files = FilesOf(records.string(row));
      keys.push_back(files[0].key);
      for (size_t i = 0; i < requests_.size(); ++i) {
        if (!IsKey(requests_[i])) AddContents(requests_[i], files, columns[i]);
      }
    }
    std::vector<Tensor> made;
    for (size_t i = 0; i < requests_.size(); ++i) {
      if (IsKey(requests_[i])) {
        const std::vector<std::string_view> views(keys.begin(), keys.end());
        made.push_back(Tensor::Strings(TypeCode::kText, records.shape(), views));
      } else if (requests_[i].form == TarForm::kNumber) {
        made.push_back(columns[i].TakeNumbers(records.shape()));
      } else {
        const bool text = requests_[i].form == TarForm::kText;
        made.push_back(
            columns[i].Take(text ? TypeCode::kText : TypeCode::kBytes, records, records.shape()));
      }
    }
    return made;
  }

 private:
  static bool IsKey(const TarRequest& request) { return request.text == kTarKey; }

  static void AddContents(const TarRequest& request, const std::vector<TarFile>& files,
                          TarColumn& column) {
    const TarFile& file = request.In(files);
    RequireStored(file);
    if (request.form == TarForm::kNumber) {
      int64_t number;
      if (ParseNumber(file.contents, &number)) return column.Add(number);
      throw Error(ErrorKind::kData,
                  "TarDataset: sample '{}': the file '{}' must hold an int64, got {}", file.key,
                  file.name, QuotedNumber(file.contents));
    }
    if (request.form == TarForm::kText && !IsUtf8(file.contents)) {
      throw Error(ErrorKind::kData, "TarDataset: sample '{}': the file '{}' is not UTF-8", file.key,
                  file.name);
    }
    column.Add(file.contents);
  }

  std::vector<TarRequest> requests_;
};

// The key of a sample, the fields of all its files, and their contents.
class TarMembers final : public Op {
 public:
  size_t outputs() const override { return 3; }

  std::vector<Tensor> Call(const std::vector<Tensor>& inputs, RandomKey) const override {
    CheckInputs("tar_members", inputs, 1);
    const Tensor& record = inputs[0];
    const std::vector<TarFile> files = FilesOf(OneString("tar_members", "record", record));
    std::vector<std::string_view> fields;
    TarColumn contents;
    for (const TarFile& file : files) {
      RequireStored(file);
      if (std::find(fields.begin(), fields.end(), file.field) != fields.end()) ThrowTwice(file);
      fields.push_back(file.field);
      contents.Add(file.contents);
    }
    const Shape shape{static_cast<int64_t>(files.size())};
    return {Tensor::String(TypeCode::kText, files[0].key),
            Tensor::Strings(TypeCode::kText, shape, fields),
            contents.Take(TypeCode::kBytes, record, shape)};
  }
};

const RegisterOp io_tar_fields_op("io.tar_fields", NewOp<TarFields>);
const RegisterOp io_tar_members_op("io.tar_members", NewOp<TarMembers>);

}  // namespace
}  // namespace penstock
