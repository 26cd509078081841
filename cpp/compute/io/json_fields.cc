// Converts JSON objects, one per line, to a column for each field.
#include "compute/io/json_fields.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>

#include "compute/half.h"
#include "compute/io/csv_number.h"
#include "compute/io/json_reader.h"
#include "data/block_builder.h"
#include "data/element_text.h"

namespace penstock {
namespace {

template <typename T>
bool WriteInteger(std::string_view text, uint8_t* to) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return false;  // out of the type's range
  std::memcpy(to, &value, sizeof value);
  return true;
}

bool WriteFloat(std::string_view text, TypeCode code, uint8_t* to) {
  if (code == TypeCode::kFloat16) {
    double value;
    ReadCsvNumber(text, TypeCode::kFloat64, &value);
    const Half half = HalfOf(value);
    std::memcpy(to, &half.bits, sizeof half.bits);
    return std::isfinite(FloatOf(half));
  }
  ReadCsvNumber(text, code, to);
  if (code == TypeCode::kFloat64) {
    double value;
    std::memcpy(&value, to, sizeof value);
    return std::isfinite(value);
  }
  float value;
  std::memcpy(&value, to, sizeof value);
  return std::isfinite(value);
}

// Writes a number if it is in the range of its type.
bool WriteNumber(std::string_view text, TypeCode code, uint8_t* to) {
  switch (code) {
    case TypeCode::kInt8:
      return WriteInteger<int8_t>(text, to);
    case TypeCode::kInt16:
      return WriteInteger<int16_t>(text, to);
    case TypeCode::kInt32:
      return WriteInteger<int32_t>(text, to);
    case TypeCode::kInt64:
      return WriteInteger<int64_t>(text, to);
    case TypeCode::kUInt8:
      return WriteInteger<uint8_t>(text, to);
    case TypeCode::kUInt16:
      return WriteInteger<uint16_t>(text, to);
    case TypeCode::kUInt32:
      return WriteInteger<uint32_t>(text, to);
    case TypeCode::kUInt64:
      return WriteInteger<uint64_t>(text, to);
    default:
      return WriteFloat(text, code, to);
  }
}

bool IsFloat(TypeCode code) {
  return code == TypeCode::kFloat16 || code == TypeCode::kFloat32 || code == TypeCode::kFloat64;
}

bool IsRead(DType dtype) {
  const TypeCode code = dtype.code;
  return code <= TypeCode::kUInt64 || IsFloat(code) || code == TypeCode::kBytes ||
         code == TypeCode::kText;
}

// The values of one leaf, for the rows of the open block.
class JsonColumn {
 public:
  JsonColumn(const LeafSpec& spec, const std::optional<Tensor>& otherwise)
      : spec_(spec),
        otherwise_(otherwise),
        ragged_(spec.shape.rank() > 0 && spec.shape[0] < 0),
        strings_(spec.dtype.is_reference()) {}

  bool has_default() const { return otherwise_.has_value(); }

  void Read(JsonReader& reader) {
    if (has_default() && reader.TakeWord("null")) return WriteDefault();
    ReadAxis(reader, 0);
    if (ragged_) splits_.push_back(rows_);
  }

  void WriteDefault() {
    const Tensor& value = *otherwise_;
    if (strings_) {
      for (int64_t i = 0; i < value.elements(); ++i) AddString(value.string(i));
    } else if (value.nbytes() > 0) {
      std::memcpy(Room(value.nbytes()), value.data(), value.nbytes());
    }
    if (ragged_) splits_.push_back(rows_ += value.shape()[0]);
  }

  // A snapshot of the rows so far, to return to.
  struct Mark {
    size_t used, text, spans, splits;
    int64_t rows;
  };
  Mark mark() const { return {used_, text_.size(), spans_.size(), splits_.size(), rows_}; }
  void GoBack(const Mark& mark) {
    used_ = mark.used;
    text_.resize(mark.text);
    spans_.resize(mark.spans);
    splits_.resize(mark.splits);
    rows_ = mark.rows;
  }

  Column Take(int64_t rows) {
    Shape shape = spec_.shape;
    if (ragged_)
      shape[0] = rows_;
    else
      shape = shape.Prepend(rows);
    Tensor items;
    if (strings_) {
      BufferRef text = Buffer::Allocate(text_.size());
      BufferRef spans = Buffer::Allocate(spans_.size() * sizeof(int64_t));
      if (!text_.empty()) std::memcpy(text->data(), text_.data(), text_.size());
      if (!spans_.empty()) std::memcpy(spans->data(), spans_.data(), spans->size());
      items = Tensor::Packed(spec_.dtype.code, shape, std::move(spans), std::move(text));
    } else {
      items = Tensor::Make(spec_.dtype, shape);
      if (used_ > 0) std::memcpy(items.mutable_data(), items_.data(), used_);
    }
    Column column = ragged_ ? Column(std::move(items), std::move(splits_)) : Column(items);
    splits_ = {0};
    GoBack({0, 0, 0, 1, 0});
    return column;
  }

 private:
  void ReadAxis(JsonReader& reader, int axis) {
    if (axis == spec_.shape.rank()) return ReadItem(reader);
    if (!reader.Take('[')) {
      reader.Fail(Format("a list was expected, got {},", reader.Kind()));
    }
    const int64_t wanted = spec_.shape[axis];
    int64_t count = 0;
    if (!reader.Take(']')) {
      do {
        if (count++ == wanted) break;
        ReadAxis(reader, axis + 1);
      } while (reader.Take(','));
      if (count <= wanted || wanted < 0) reader.Expect(']');
    }
    if (wanted < 0) {
      rows_ += count;
    } else if (count != wanted) {
      reader.Fail(Format("a list of {} was expected, got {}{},", wanted,
                         count > wanted ? "more than " : "", count > wanted ? wanted : count));
    }
  }

  void ReadItem(JsonReader& reader) {
    const TypeCode code = spec_.dtype.code;
    if (strings_) return AddString(reader.String());
    if (code == TypeCode::kBool) {
      const bool value = reader.TakeWord("true");
      if (!value && !reader.TakeWord("false")) {
        reader.Fail(Format("a bool was expected, got {},", reader.Kind()));
      }
      *Room(1) = value;
      return;
    }
    bool whole;
    const std::string_view text = reader.Number(&whole);
    if (!(whole || IsFloat(code)) || !WriteNumber(text, code, Room(spec_.dtype.itemsize))) {
      reader.Fail(Format("a number that {} holds was expected, got {}, which ends",
                         spec_.dtype.name(), Shortened(text)));
    }
  }

  static std::string Shortened(std::string_view text) {
    constexpr size_t kLongest = 40;
    if (text.size() <= kLongest) return std::string(text);
    return Format("{}... of {} characters", text.substr(0, kLongest), text.size());
  }

  uint8_t* Room(size_t bytes) {
    if (items_.size() < used_ + bytes) items_.resize(std::max(2 * items_.size(), used_ + bytes));
    uint8_t* to = items_.data() + used_;
    used_ += bytes;
    return to;
  }

  void AddString(std::string_view text) {
    spans_.push_back(static_cast<int64_t>(text_.size()));
    text_.append(text);
    spans_.push_back(static_cast<int64_t>(text_.size()));
  }

  const LeafSpec spec_;
  const std::optional<Tensor> otherwise_;
  const bool ragged_;
  const bool strings_;
  std::vector<uint8_t> items_;  // only partly used
  size_t used_ = 0;
  std::string text_;  // of strings, back to back
  std::vector<int64_t> spans_;
  std::vector<int64_t> splits_{0};
  int64_t rows_ = 0;  // items along the first axis, for ragged leaves
};

// An object in the spec: its fields by name.
struct JsonObject {
  struct Field {
    std::string name;
    std::string path;  // for errors
    size_t number;     // among all fields of the spec
    int leaf = -1;
    std::unique_ptr<JsonObject> inside;
  };
  std::vector<Field> fields;
  std::unordered_map<std::string_view, size_t> by_name;

  static std::unique_ptr<JsonObject> Of(const Structure& structure, const std::string& path,
                                        size_t* fields, int* leaves) {
    if (structure.kind() != Structure::Kind::kDict) {
      throw Error(ErrorKind::kType, "signature{} must be a dict of fields, got {}", path,
                  structure.ToString());
    }
    auto object = std::make_unique<JsonObject>();
    for (size_t i = 0; i < structure.children().size(); ++i) {
      const Structure& child = *structure.children()[i];
      const std::string& name = structure.names()[i];
      Field field{name, path.empty() ? name : path + "." + name, (*fields)++, -1, nullptr};
      if (child.kind() == Structure::Kind::kLeaf) {
        field.leaf = (*leaves)++;
      } else {
        field.inside = Of(child, field.path, fields, leaves);
      }
      object->fields.push_back(std::move(field));
    }
    for (size_t i = 0; i < object->fields.size(); ++i) object->by_name[object->fields[i].name] = i;
    return object;
  }

  // The index of a field in `fields`; -1 if it is not there. Fields usually come in the same order.
  int64_t Find(std::string_view name, size_t guess) const {
    if (guess < fields.size() && fields[guess].name == name) return static_cast<int64_t>(guess);
    auto found = by_name.find(name);
    return found == by_name.end() ? -1 : static_cast<int64_t>(found->second);
  }
};

// Reads lines into the columns of a block.
class JsonRows {
 public:
  JsonRows(const JsonObject& fields, size_t count, const ElementSpec& spec,
           const std::vector<std::optional<Tensor>>& defaults)
      : fields_(fields), spec_(spec), seen_(count) {
    for (size_t i = 0; i < spec.leaves.size(); ++i) {
      columns_.emplace_back(spec.leaves[i], defaults[i]);
    }
    marks_.resize(columns_.size());
  }

  int64_t rows() const { return rows_; }

  // Throws the Error of a line; nothing of that line is kept.
  void Add(std::string_view line) {
    for (size_t i = 0; i < columns_.size(); ++i) marks_[i] = columns_[i].mark();
    std::fill(seen_.begin(), seen_.end(), false);
    JsonReader reader(line);
    where_ = nullptr;
    try {
      Read(reader, fields_);
      reader.End();
    } catch (const Error& error) {
      for (size_t i = 0; i < columns_.size(); ++i) columns_[i].GoBack(marks_[i]);
      if (!where_) throw;
      throw Error(error.kind(), "field {}: {}", *where_, error.message());
    }
    ++rows_;
  }

  // The rows since the last call.
  Block Take() {
    Block block;
    block.structure = spec_.structure;
    block.rows = std::exchange(rows_, 0);
    for (JsonColumn& column : columns_) block.columns.push_back(column.Take(block.rows));
    return block;
  }

 private:
  void Read(JsonReader& reader, const JsonObject& object) {
    if (!reader.Take('{')) reader.Fail(Format("an object was expected, got {},", reader.Kind()));
    size_t next = 0;
    size_t found = 0;
    if (!reader.Take('}')) {
      do {
        const std::string_view name = reader.String();
        const int64_t number = object.Find(name, next);
        reader.Expect(':');
        if (number < 0) {
          reader.Skip();
          continue;
        }
        next = static_cast<size_t>(number) + 1;
        ReadField(reader, object.fields[static_cast<size_t>(number)]);
        ++found;
      } while (reader.Take(','));
      reader.Expect('}');
    }
    if (found == object.fields.size()) return;
    for (const JsonObject::Field& field : object.fields) {
      if (!seen_[field.number]) AddMissing(reader, field);
    }
  }

  void ReadField(JsonReader& reader, const JsonObject::Field& field) {
    const std::string* around = std::exchange(where_, &field.path);
    if (seen_[field.number]) reader.Fail("a name that comes once was expected, it comes again");
    seen_[field.number] = true;
    if (field.leaf >= 0) {
      columns_[static_cast<size_t>(field.leaf)].Read(reader);
    } else {
      Read(reader, *field.inside);
    }
    where_ = around;
  }

  void AddMissing(JsonReader& reader, const JsonObject::Field& field) {
    if (field.inside) {
      for (const JsonObject::Field& inside : field.inside->fields) AddMissing(reader, inside);
      return;
    }
    JsonColumn& column = columns_[static_cast<size_t>(field.leaf)];
    if (!column.has_default()) {
      where_ = &field.path;
      reader.Fail("it was expected, and is missing in the object that ends");
    }
    column.WriteDefault();
  }

  const JsonObject& fields_;
  const ElementSpec& spec_;
  std::vector<bool> seen_;  // for all fields
  std::vector<JsonColumn> columns_;
  std::vector<JsonColumn::Mark> marks_;
  const std::string* where_ = nullptr;  // the field being read
  int64_t rows_ = 0;
};

class JsonFields final : public Function {
 public:
  JsonFields(ElementSpec spec, std::vector<std::optional<Tensor>> defaults)
      : spec_(std::move(spec)), defaults_(std::move(defaults)) {
    int leaves = 0;
    fields_ = JsonObject::Of(*spec_.structure, "", &count_, &leaves);
    for (size_t i = 0; i < spec_.leaves.size(); ++i) Check(spec_.leaves[i], static_cast<int>(i));
  }

  void Map(Block&& lines, const CallInfo& info, std::vector<Block>& out) override {
    JsonRows rows(*fields_, count_, spec_, defaults_);
    BlockBuilder builder(lines.rows, info.slabs, info.first_row);
    int64_t first = 0;  // the first row in `rows`
    auto finish = [&](int64_t end) {
      const int64_t begin = std::exchange(first, end + 1);
      if (rows.rows() == 0) return;
      Block block = rows.Take();
      block.origins = OriginsOf(lines, begin, end);
      if (block.ragged() && !info.ragged) block.Separate();
      builder.Add(std::move(block));
    };
    for (int64_t row = 0; row < lines.rows; ++row) {
      try {
        rows.Add(Line(lines, row));
      } catch (const Error& error) {
        finish(row);
        builder.AddError(At(error, lines, row, info));
      }
    }
    finish(lines.rows);
    builder.Finish(out);
  }

  bool needs_lock() const override { return false; }

 private:
  void Check(const LeafSpec& leaf, int number) const {
    bool sizes = !leaf.any_rank;
    for (int d = 1; sizes && d < leaf.shape.rank(); ++d) sizes = leaf.shape[d] >= 0;
    if (sizes && IsRead(leaf.dtype)) return;
    throw Error(ErrorKind::kType,
                "signature{} must be of a number, bool, str or bytes, with a shape of which only "
                "the first size is None, got {}",
                spec_.structure->LeafPath(number), leaf.ToString());
  }

  static RowOrigins OriginsOf(const Block& lines, int64_t begin, int64_t end) {
    if (lines.stacked()) return lines.origins.Slice(begin, end - begin);
    RowOrigins origins;
    for (int64_t row = begin; row < end; ++row) origins.Add(row - begin, lines.origin(row));
    return origins;
  }

  static std::string_view Line(const Block& lines, int64_t row) {
    if (lines.stacked()) return lines.columns[0].items.string(row);
    return lines.elements[static_cast<size_t>(row)].leaves[0].string();
  }

  static Error At(const Error& error, const Block& lines, int64_t row, const CallInfo& info) {
    const Origin origin = lines.origin(row);
    Error failed(error.kind(), "{}: record {}: {} of the line", info.stage->kind, origin.index,
                 error.message());
    failed.In(FailedStepOf(info, row, lines.Row(row)), origin);
    return failed;
  }

  const ElementSpec spec_;
  const std::vector<std::optional<Tensor>> defaults_;
  size_t count_ = 0;  // number of fields of all objects
  std::unique_ptr<const JsonObject> fields_;
};

}  // namespace

FunctionPtr MakeJsonFields(ElementSpec spec, std::vector<std::optional<Tensor>> defaults) {
  return std::make_shared<JsonFields>(std::move(spec), std::move(defaults));
}

}  // namespace penstock
