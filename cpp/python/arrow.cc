// Converts Arrow's C data interface (https://arrow.apache.org/docs/format/CDataInterface.html) to
// columns, without an Arrow library.
#include "python/arrow.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "data/gather_rows.h"
#include "python/errors.h"
#include "python/gil.h"
#include "python/pytree.h"

namespace penstock {
namespace {

// The layouts below are fixed by the interface.
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema*);
  int (*get_next)(ArrowArrayStream*, ArrowArray*);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};

template <typename Struct>
void ReleaseNow(Struct* held) {
  if (held->release) held->release(held);
  delete held;
}

// The producer may need the GIL to free its memory, and the last reader may be on any thread.
template <typename Struct>
void ReleaseWithGil(Struct* held) {
  DeferredCall([](void* data) { ReleaseNow(static_cast<Struct*>(data)); }, held);
}

using HeldArray = std::shared_ptr<ArrowArray>;
HeldArray NewArray() { return {new ArrowArray{}, ReleaseWithGil<ArrowArray>}; }
using HeldSchema = std::unique_ptr<ArrowSchema, void (*)(ArrowSchema*)>;
HeldSchema NewSchema() { return {new ArrowSchema{}, ReleaseNow<ArrowSchema>}; }

BufferRef Shared(const HeldArray& owner, const void* data, size_t bytes) {
  if (!data) return Buffer::Allocate(0);
  auto* held = new HeldArray(owner);
  try {
    return Buffer::BorrowConstant(
        data, bytes, [](void* context, void*, size_t) { delete static_cast<HeldArray*>(context); },
        held);
  } catch (...) {
    delete held;
    throw;
  }
}

bool IsSet(const void* bits, int64_t i) {
  return (static_cast<const uint8_t*>(bits)[i / 8] >> (i % 8)) & 1;
}

bool StartsWith(std::string_view text, std::string_view with) {
  return text.substr(0, with.size()) == with;
}

// The dtype of a format whose items are plain bytes in the engine's own layout.
std::optional<DType> DenseType(std::string_view format) {
  static constexpr std::pair<char, TypeCode> kCodes[] = {
      {'c', TypeCode::kInt8},    {'C', TypeCode::kUInt8},  {'s', TypeCode::kInt16},
      {'S', TypeCode::kUInt16},  {'i', TypeCode::kInt32},  {'I', TypeCode::kUInt32},
      {'l', TypeCode::kInt64},   {'L', TypeCode::kUInt64}, {'e', TypeCode::kFloat16},
      {'f', TypeCode::kFloat32}, {'g', TypeCode::kFloat64}};
  if (format.size() == 1) {
    for (auto [name, code] : kCodes) {
      if (name == format[0]) return DType::Of(code);
    }
  }
  auto unit = [&](char letter) -> std::string_view {
    return letter == 's' ? "s" : letter == 'm' ? "ms" : letter == 'u' ? "us" : "ns";
  };
  if (format == "tdm") return DType::OfTime(TypeCode::kDatetime64, "ms");
  // A time zone would follow the colon.
  if (StartsWith(format, "ts") && format.size() == 4) {
    return DType::OfTime(TypeCode::kDatetime64, unit(format[2]));
  }
  if (StartsWith(format, "tD")) return DType::OfTime(TypeCode::kTimedelta64, unit(format[2]));
  return std::nullopt;
}

// The name of a format that has no column type.
std::string_view NameOf(std::string_view format) {
  static constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"n", "null"},      {"d:", "decimal"}, {"tt", "time of day"}, {"ts", "timestamp with a zone"},
      {"ti", "interval"}, {"+m", "map"},     {"+u", "union"},       {"+r", "run-end encoded"}};
  for (auto [begin, name] : kNames) {
    if (StartsWith(format, begin)) return name;
  }
  return format;
}

int64_t NumberAfter(std::string_view format, size_t at) {
  int64_t number = 0;
  std::from_chars(format.data() + at, format.data() + format.size(), number);
  return number;
}

// Rows [begin, begin + count) of an array, numbered from the array's own offset.
struct Part {
  const ArrowSchema& schema;
  const ArrowArray& array;
  int64_t begin;
  int64_t count;

  std::string_view format() const { return schema.format; }
  int64_t first() const { return array.offset + begin; }
  const void* buffer(int64_t i) const { return i < array.n_buffers ? array.buffers[i] : nullptr; }
  template <typename T>
  const T* items(int64_t i) const {
    return static_cast<const T*>(buffer(i)) + first();
  }
  Part child(int64_t i, int64_t from, int64_t rows) const {
    return {*schema.children[i], *array.children[i], from, rows};
  }
  bool null(int64_t row) const { return buffer(0) && !IsSet(buffer(0), first() + row); }
  int64_t nulls() const {
    if (array.null_count == 0 || !buffer(0)) return 0;
    int64_t found = 0;
    for (int64_t row = 0; row < count; ++row) found += null(row);
    return found;
  }
};

class ArrowReader {
 public:
  explicit ArrowReader(const std::string& stage) : stage_(stage) {}

  // The columns of a batch, in the order of its fields. Fields of structs are included.
  std::vector<Column> Read(const ArrowSchema& schema, HeldArray batch) {
    owner_ = std::move(batch);
    columns_.clear();
    Fields({schema, *owner_, 0, owner_->length}, "");
    return std::move(columns_);
  }

 private:
  void Fields(const Part& part, const std::string& path) {
    if (int64_t nulls = part.nulls()) throw Missing(path, nulls);
    for (int64_t i = 0; i < part.schema.n_children; ++i) {
      const Part field = part.child(i, part.first(), part.count);
      const std::string name = path + (path.empty() ? "" : ".") + field.schema.name;
      if (field.format() == "+s") {
        Fields(field, name);
      } else {
        columns_.push_back(Leaf(field, name));
      }
    }
  }

  Column Leaf(const Part& part, const std::string& path) {
    const std::string_view format = part.format();
    if (part.schema.dictionary) return Decoded(part, path);
    if (auto dtype = DenseType(format)) return Dense(part, *dtype, path);
    if (format == "+l") return Lists<int32_t>(part, path);
    if (format == "+L") return Lists<int64_t>(part, path);
    if (format == "+vl") return ListViews<int32_t>(part, path);
    if (format == "+vL") return ListViews<int64_t>(part, path);
    if (StartsWith(format, "+w:")) return FixedLists(part, path);
    if (int64_t nulls = part.nulls(); nulls && format != "tdD") throw Missing(path, nulls);
    if (format == "tdD") return Days(part);
    if (format == "b") return Bools(part);
    if (format == "u" || format == "z") return Strings<int32_t>(part);
    if (format == "U" || format == "Z") return Strings<int64_t>(part);
    if (format == "vu" || format == "vz") return Views(part);
    if (StartsWith(format, "w:")) return FixedStrings(part);
    throw Error(ErrorKind::kType,
                "{}: column {} has values of Arrow's type {}, which NumPy does not have; cast it "
                "first, or leave it out",
                stage_, path, NameOf(format));
  }

  Error Missing(const std::string& path, int64_t nulls) const {
    return {ErrorKind::kInvalidArgument,
            "{}: column {} has {} missing values, for which its type has none in NumPy; fill them "
            "(null_values, fill_null, fillna), or drop these rows",
            stage_, path, nulls};
  }

  static TypeCode CodeOf(const Part& part) {
    const char kind = part.format().back();
    return kind == 'u' || kind == 'U' ? TypeCode::kText : TypeCode::kBytes;
  }

  Tensor Dense(const Part& part, DType dtype, const std::string& path) {
    const size_t size = dtype.itemsize;
    const auto* items =
        static_cast<const uint8_t*>(part.buffer(1)) + static_cast<size_t>(part.first()) * size;
    const size_t bytes = static_cast<size_t>(part.count) * size;
    const int64_t nulls = part.nulls();
    if (nulls == 0) {
      return Tensor::View(dtype, {part.count}, Shared(owner_, part.count ? items : nullptr, bytes),
                          0);
    }
    // These types have a value that represents a missing one.
    uint64_t missing;
    switch (dtype.code) {
      case TypeCode::kFloat16:
        missing = 0x7e00;
        break;
      case TypeCode::kFloat32:
        missing = 0x7fc00000;
        break;
      case TypeCode::kFloat64:
        missing = 0x7ff8000000000000;
        break;
      case TypeCode::kDatetime64:
      case TypeCode::kTimedelta64:
        missing = uint64_t{1} << 63;  // NaT
        break;
      default:
        throw Missing(path, nulls);
    }
    Tensor filled = Tensor::Make(dtype, {part.count});
    std::memcpy(filled.mutable_data(), items, bytes);
    for (int64_t row = 0; row < part.count; ++row) {
      if (!part.null(row)) continue;
      std::memcpy(filled.mutable_data() + static_cast<size_t>(row) * size, &missing, size);
    }
    return filled;
  }

  Tensor Days(const Part& part) {
    Tensor days = Tensor::Make(DType::OfTime(TypeCode::kDatetime64, "D"), {part.count});
    auto* to = reinterpret_cast<int64_t*>(days.mutable_data());
    for (int64_t row = 0; row < part.count; ++row) {
      to[row] = part.null(row) ? std::numeric_limits<int64_t>::min() : part.items<int32_t>(1)[row];
    }
    return days;
  }

  Tensor Bools(const Part& part) {
    Tensor bools = Tensor::Make(DType::Of(TypeCode::kBool), {part.count});
    for (int64_t row = 0; row < part.count; ++row) {
      bools.mutable_data()[row] = IsSet(part.buffer(1), part.first() + row);
    }
    return bools;
  }

  static BufferRef SpansFor(int64_t count) {
    return Buffer::Allocate(2 * sizeof(int64_t) * static_cast<size_t>(count));
  }

  template <typename Offset>
  Tensor Strings(const Part& part) {
    BufferRef spans = SpansFor(part.count);
    auto* span = reinterpret_cast<int64_t*>(spans->data());
    const Offset* ends = part.items<Offset>(1);
    for (int64_t row = 0; row < part.count; ++row) {
      *span++ = ends[row];
      *span++ = ends[row + 1];
    }
    const auto bytes = part.count ? static_cast<size_t>(ends[part.count]) : 0;
    return Tensor::Packed(CodeOf(part), {part.count}, std::move(spans),
                          Shared(owner_, part.buffer(2), bytes));
  }

  Tensor FixedStrings(const Part& part) {
    const int64_t size = NumberAfter(part.format(), 2);
    BufferRef spans = SpansFor(part.count);
    auto* span = reinterpret_cast<int64_t*>(spans->data());
    for (int64_t row = 0; row < part.count; ++row) {
      *span++ = (part.first() + row) * size;
      *span++ = (part.first() + row + 1) * size;
    }
    const auto bytes = static_cast<size_t>((part.first() + part.count) * size);
    return Tensor::Packed(TypeCode::kBytes, {part.count}, std::move(spans),
                          Shared(owner_, part.buffer(1), bytes));
  }

  // Strings of up to 12 bytes are stored in their view, longer ones in one of several buffers.
  Tensor Views(const Part& part) {
    struct View {
      int32_t size;
      char prefix[4];
      int32_t buffer;
      int32_t offset;
    };
    constexpr int32_t kInline = 12;
    std::vector<std::string_view> found(static_cast<size_t>(part.count));
    for (int64_t row = 0; row < part.count; ++row) {
      const View& view = part.items<View>(1)[row];
      const char* bytes =
          view.size <= kInline
              ? view.prefix
              : static_cast<const char*>(part.buffer(2 + view.buffer)) + view.offset;
      found[static_cast<size_t>(row)] = {bytes, static_cast<size_t>(view.size)};
    }
    return Tensor::Strings(CodeOf(part), {part.count}, found);
  }

  template <typename Offset>
  Column Lists(const Part& part, const std::string& path) {
    if (int64_t nulls = part.nulls()) throw Missing(path, nulls);
    std::vector<int64_t> splits(static_cast<size_t>(part.count) + 1);
    const Offset* ends = part.items<Offset>(1);
    const int64_t begin = part.count ? ends[0] : 0;
    for (int64_t row = 0; row < part.count; ++row) {
      splits[static_cast<size_t>(row) + 1] = ends[row + 1] - begin;
    }
    return {Items(part, begin, splits.back(), path), std::move(splits)};
  }

  // Lists that may be in any order, overlap, and skip items.
  template <typename Offset>
  Column ListViews(const Part& part, const std::string& path) {
    if (int64_t nulls = part.nulls()) throw Missing(path, nulls);
    const Offset* begins = part.items<Offset>(1);
    const Offset* sizes = part.items<Offset>(2);
    const int64_t most = part.array.children[0]->length;
    std::vector<int64_t> splits(static_cast<size_t>(part.count) + 1);
    int64_t low = most;
    int64_t high = 0;
    bool in_order = true;  // each list begins where the previous one ends
    for (int64_t row = 0; row < part.count; ++row) {
      const int64_t begin = begins[row];
      const int64_t size = sizes[row];
      if (begin < 0 || size < 0 || begin > most || size > most - begin) {
        throw Error(
            ErrorKind::kData,
            "{}: column {} is damaged: list {} has {} items from index {} on, but there are {}",
            stage_, path, row, size, begin, most);
      }
      splits[static_cast<size_t>(row) + 1] = splits[static_cast<size_t>(row)] + size;
      if (size == 0) continue;
      in_order = in_order && (high == 0 || begin == high);
      low = std::min(low, begin);
      high = std::max(high, begin + size);
    }
    low = std::min(low, high);
    Tensor items = Items(part, low, high - low, path);
    if (in_order) return {std::move(items), std::move(splits)};
    std::vector<int64_t> numbers;
    numbers.reserve(static_cast<size_t>(splits.back()));
    for (int64_t row = 0; row < part.count; ++row) {
      for (int64_t i = 0; i < sizes[row]; ++i) numbers.push_back(begins[row] - low + i);
    }
    return {Taken(items, numbers), std::move(splits)};
  }

  Tensor FixedLists(const Part& part, const std::string& path) {
    if (int64_t nulls = part.nulls()) throw Missing(path, nulls);
    const int64_t size = NumberAfter(part.format(), 3);
    Tensor items = Items(part, part.first() * size, part.count * size, path);
    Shape shape = items.shape().WithoutFirst().Prepend(size).Prepend(part.count);
    return items.Reshaped(shape);
  }

  // The items inside lists.
  Tensor Items(const Part& part, int64_t begin, int64_t count, const std::string& path) {
    const Part inside = part.child(0, begin, count);
    Column items;
    if (inside.format() != "+s") items = Leaf(inside, path);
    if (inside.format() == "+s" || items.ragged() || items.rank() + 2 > kMaxRank) {
      throw Error(ErrorKind::kType,
                  "{}: column {} has lists of {}; lists of numbers, strings and fixed-size lists "
                  "are rows, flatten the others first",
                  stage_, path, inside.format() == "+s" ? "structs" : "lists of any size");
    }
    return std::move(items.items);
  }

  Column Decoded(const Part& part, const std::string& path) {
    if (int64_t nulls = part.nulls()) throw Missing(path, nulls);
    const Part all{*part.schema.dictionary, *part.array.dictionary, 0,
                   part.array.dictionary->length};
    const Column words = Leaf(all, path);
    if (words.ragged()) {
      throw Error(ErrorKind::kType, "{}: column {} is a dictionary of lists; cast it first", stage_,
                  path);
    }
    std::vector<int64_t> numbers(static_cast<size_t>(part.count));
    for (int64_t row = 0; row < part.count; ++row) {
      numbers[static_cast<size_t>(row)] = Number(part, row);
    }
    const auto outside = [&](int64_t number) { return number < 0 || number >= all.count; };
    if (std::ranges::any_of(numbers, outside)) {
      throw Error(ErrorKind::kData,
                  "{}: column {} is damaged: an index of its dictionary, which has "
                  "{} values, is out of range",
                  stage_, path, all.count);
    }
    return Taken(words.items, numbers);
  }

  // The rows with these numbers.
  static Tensor Taken(const Tensor& from, const std::vector<int64_t>& numbers) {
    const auto count = static_cast<int64_t>(numbers.size());
    Shape shape = from.shape();
    shape[0] = count;
    if (from.storage() == Storage::kPacked) {
      std::vector<std::string_view> found;
      found.reserve(numbers.size());
      for (int64_t number : numbers) found.push_back(from.string(number));
      return Tensor::Strings(from.dtype().code, shape, found);
    }
    Tensor taken = Tensor::Make(from.dtype(), shape);
    const size_t bytes = count ? taken.nbytes() / numbers.size() : 0;
    GatherRows(taken.mutable_data(), bytes, count, [&](int64_t row) {
      return from.data() + static_cast<size_t>(numbers[static_cast<size_t>(row)]) * bytes;
    });
    return taken;
  }

  // Reads one item of a dictionary's index array.
  static int64_t Number(const Part& part, int64_t row) {
    switch (part.format()[0]) {
      case 'c':
        return part.items<int8_t>(1)[row];
      case 'C':
        return part.items<uint8_t>(1)[row];
      case 's':
        return part.items<int16_t>(1)[row];
      case 'S':
        return part.items<uint16_t>(1)[row];
      case 'i':
        return part.items<int32_t>(1)[row];
      case 'I':
        return part.items<uint32_t>(1)[row];
      default:
        return part.items<int64_t>(1)[row];
    }
  }

  const std::string& stage_;
  HeldArray owner_;
  std::vector<Column> columns_;
};

// Moves the struct out of the capsule; null with an error set.
template <typename Struct>
bool MoveOut(PyObject* capsule, const char* name, Struct* to) {
  auto* from = static_cast<Struct*>(PyCapsule_GetPointer(capsule, name));
  if (!from) return false;
  *to = std::exchange(*from, Struct{});
  return true;
}

// Nested dicts of column numbers: they define the structure of the rows and the column of each
// leaf. Null with an error set.
PyRef NamesOf(const ArrowSchema& schema, int64_t* next, const std::string& stage) {
  PyRef names = PyRef::Steal(PyDict_New());
  for (int64_t i = 0; names && i < schema.n_children; ++i) {
    const ArrowSchema& field = *schema.children[i];
    const bool nested = !field.dictionary && std::string_view(field.format) == "+s";
    PyRef inside =
        nested ? NamesOf(field, next, stage) : PyRef::Steal(PyLong_FromLongLong((*next)++));
    const std::string_view given = field.name ? field.name : "";
    PyRef name = PyRef::Steal(
        PyUnicode_DecodeUTF8(given.data(), static_cast<Py_ssize_t>(given.size()), nullptr));
    if (!name && PyErr_ExceptionMatches(PyExc_UnicodeDecodeError)) {
      PyErr_Clear();
      throw Error(ErrorKind::kInvalidArgument,
                  "{}: names of columns must be UTF-8, got {}; rename it", stage, given);
    }
    if (name && PyDict_Contains(names.get(), name.get()) == 1) {
      throw Error(ErrorKind::kInvalidArgument,
                  "{}: names of columns must be unique, {} occurs twice", stage, given);
    }
    if (!inside || !name || PyDict_SetItem(names.get(), name.get(), inside.get()) < 0) return {};
  }
  return names;
}

LeafSpec SpecOf(const Column& column) {
  if (column.ragged()) {
    Shape shape = column.items.shape();
    shape[0] = -1;
    return {column.dtype(), shape};
  }
  return {column.dtype(), column.items.shape().WithoutFirst()};
}

// An array without rows, in the layout of a schema.
struct NoRows {
  explicit NoRows(const ArrowSchema& schema) {
    array.n_children = schema.n_children;
    array.n_buffers = 3;
    array.buffers = buffers;
    for (int64_t i = 0; i < schema.n_children; ++i) {
      children.push_back(std::make_unique<NoRows>(*schema.children[i]));
      pointers.push_back(&children.back()->array);
    }
    array.children = pointers.data();
    if (schema.dictionary) {
      children.push_back(std::make_unique<NoRows>(*schema.dictionary));
      array.dictionary = &children.back()->array;
    }
  }
  ArrowArray array{};
  const void* buffers[3] = {};
  std::vector<std::unique_ptr<NoRows>> children;
  std::vector<ArrowArray*> pointers;
};

// Takes over the batches of a table.
class TableReader {
 public:
  explicit TableReader(const std::string& stage) : reader_(stage), stage_(stage) {}

  Table Read(PyObject* table) {
    const bool stream = PyObject_HasAttrString(table, "__arrow_c_stream__") == 1;
    PyRef capsules = PyRef::Steal(CallPython([&] {
      return PyObject_CallMethod(table, stream ? "__arrow_c_stream__" : "__arrow_c_array__",
                                 nullptr);
    }));
    if (!capsules) throw CurrentPythonError();
    if (stream) {
      ReadStream(capsules.get());
    } else {
      PyObject* of_schema = nullptr;
      PyObject* of_array = nullptr;
      HeldArray array = NewArray();
      if (!PyArg_ParseTuple(capsules.get(), "OO", &of_schema, &of_array) ||
          !MoveOut(of_schema, "arrow_schema", schema_.get()) ||
          !MoveOut(of_array, "arrow_array", array.get())) {
        throw CurrentPythonError();
      }
      Begin();
      Add(std::move(array));
    }
    return std::move(rows_);
  }

 private:
  void ReadStream(PyObject* capsule) {
    auto release = [](ArrowArrayStream* held) { ReleaseNow(held); };
    std::unique_ptr<ArrowArrayStream, decltype(release)> stream(new ArrowArrayStream{}, release);
    if (!MoveOut(capsule, "arrow_array_stream", stream.get())) throw CurrentPythonError();
    auto check = [&](int code) {
      if (code == 0) return;
      const char* text = stream->get_last_error(stream.get());
      throw Error(ErrorKind::kData, "{}: the table cannot be read: {}", stage_,
                  std::string_view(text ? text : "no reason was given"));
    };
    check(stream->get_schema(stream.get(), schema_.get()));
    Begin();
    for (;;) {
      HeldArray array = NewArray();
      check(stream->get_next(stream.get(), array.get()));
      if (!array->release) break;
      Add(std::move(array));
    }
  }

  // Determines the structure and the columns.
  void Begin() {
    if (std::string_view(schema_->format) != "+s" || schema_->n_children == 0) {
      throw Error(ErrorKind::kInvalidArgument,
                  "{}: a table with at least one column was expected, got one of Arrow's type {} "
                  "with {} columns",
                  stage_, std::string_view(schema_->format), schema_->n_children);
    }
    int64_t columns = 0;
    PyRef names = NamesOf(*schema_, &columns, stage_);
    Flattened flat;
    if (!names || !Flatten(names.get(), &flat)) throw CurrentPythonError();
    rows_.spec.structure = flat.structure;
    for (PyObject* leaf : flat.leaves) {
      order_.push_back(static_cast<size_t>(PyLong_AsLongLong(leaf)));
    }
    auto none = std::make_shared<NoRows>(*schema_);
    const std::vector<Column> empty = reader_.Read(*schema_, {none, &none->array});
    for (size_t column : order_) rows_.spec.leaves.push_back(SpecOf(empty[column]));
  }

  void Add(HeldArray array) {
    const int64_t count = array->length;
    if (count == 0) return;
    std::vector<Column> columns = reader_.Read(*schema_, std::move(array));
    Block block;
    block.structure = rows_.spec.structure;
    block.rows = count;
    for (size_t column : order_) block.columns.push_back(std::move(columns[column]));
    rows_.batches.push_back(std::move(block));
  }

  ArrowReader reader_;
  const std::string& stage_;
  HeldSchema schema_ = NewSchema();
  std::vector<size_t> order_;  // the column number of each leaf
  Table rows_;
};

}  // namespace

Table TableOfArrow(PyObject* object, const std::string& stage) {
  return TableReader(stage).Read(object);
}

}  // namespace penstock
