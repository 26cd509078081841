// io.decode_csv: lines of fields to columns. https://www.rfc-editor.org/rfc/rfc4180
#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <span>

#include "compute/io/csv_delimiters.h"
#include "compute/io/csv_number.h"
#include "compute/new_op.h"
#include "compute/operand.h"
#include "data/error.h"

namespace penstock {
namespace {

// Iterates over the fields of one line.
class CsvLine {
 public:
  // `blank`: an empty line has one empty field, instead of none.
  CsvLine(std::string_view line, char delimiter, bool quotes, bool blank)
      : line_(line), delimiter_(delimiter), quotes_(quotes), more_(blank || !line.empty()) {}

  // False after the last field. The field stays valid until the next call.
  bool Next(std::string_view* field) {
    if (!more_) return false;
    if (quotes_ && at_ < line_.size() && line_[at_] == '"')
      *field = Quoted();
    else
      *field = Plain();
    more_ = at_ < line_.size();  // a delimiter: another field follows, which may be empty
    ++at_;
    return true;
  }

 private:
  std::string_view Plain() {
    size_t end = std::min(line_.find(delimiter_, at_), line_.size());
    std::string_view field = line_.substr(at_, end - at_);
    auto wrong = std::ranges::find_if(
        field, [&](char c) { return c == '\n' || c == '\r' || (c == '"' && quotes_); });
    if (wrong != field.end()) {
      throw Error(ErrorKind::kData,
                  "a quote or line end at byte {} stands in a field without quotes",
                  wrong - line_.begin());
    }
    at_ = end;
    return field;
  }

  std::string_view Quoted() {
    size_t start = at_++;
    unquoted_.clear();
    for (;;) {
      size_t quote = line_.find('"', at_);
      if (quote == std::string_view::npos) {
        throw Error(ErrorKind::kData, "the quote at byte {} is not closed", start);
      }
      unquoted_.append(line_, at_, quote - at_);
      at_ = quote + 1;
      if (at_ == line_.size() || line_[at_] == delimiter_) return unquoted_;
      if (line_[at_] != '"') {
        throw Error(ErrorKind::kData,
                    "the quote at byte {} is followed by neither a quote nor the "
                    "end of the field",
                    quote);
      }
      unquoted_.push_back('"');
      ++at_;
    }
  }

  std::string_view line_;
  char delimiter_;
  bool quotes_;
  bool more_;
  size_t at_ = 0;
  std::string unquoted_;
};

// The same for a line without quotes, whose delimiters are known.
class PlainFields {
 public:
  PlainFields(std::string_view line, std::span<const uint32_t> delimiters)
      : line_(line), delimiters_(delimiters) {}

  bool Next(std::string_view* field) {
    if (next_ > delimiters_.size()) return false;
    const size_t end = next_ < delimiters_.size() ? delimiters_[next_] : line_.size();
    *field = line_.substr(begin_, end - begin_);
    begin_ = end + 1;
    ++next_;
    return true;
  }

 private:
  const std::string_view line_;
  const std::span<const uint32_t> delimiters_;
  size_t next_ = 0, begin_ = 0;
};

struct CsvColumn {
  int64_t column;  // of the line
  DType dtype;
  bool required;
  Tensor otherwise;
};

// The values of a column, one per line. Not movable: a scalar, the result for a single line, is
// stored inside its tensor.
class CsvValues {
 public:
  CsvValues() = default;
  CsvValues(const CsvValues&) = delete;
  CsvValues& operator=(const CsvValues&) = delete;

  void Begin(const CsvColumn& column, const Tensor& records) {
    if (column.dtype.is_reference()) {
      spans_.reserve(2 * static_cast<size_t>(records.elements()));
    } else {
      numbers_ = Tensor::Make(column.dtype, records.shape());
      next_ = numbers_.mutable_data();
    }
  }

  void Add(std::string_view field, const CsvColumn& column) {
    bool missing = field.data() == nullptr;
    if (column.dtype.is_reference()) {
      spans_.push_back(static_cast<int64_t>(text_.size()));
      text_.append(missing ? column.otherwise.string() : field);
      spans_.push_back(static_cast<int64_t>(text_.size()));
      return;
    }
    if (missing)
      std::memcpy(next_, column.otherwise.data(), column.dtype.itemsize);
    else if (!ReadCsvNumber(field, column.dtype.code, next_))
      throw Error(ErrorKind::kData, "'{}' is no {}", field, column.dtype.name());
    next_ += column.dtype.itemsize;
  }

  Tensor Take(const CsvColumn& column, const Shape& shape) {
    if (!column.dtype.is_reference()) return std::move(numbers_);
    BufferRef bytes = Buffer::Allocate(text_.size());
    BufferRef places = Buffer::Allocate(spans_.size() * sizeof(int64_t));
    if (!text_.empty()) std::memcpy(bytes->data(), text_.data(), text_.size());
    if (!spans_.empty())
      std::memcpy(places->data(), spans_.data(), spans_.size() * sizeof(int64_t));
    return Tensor::Packed(column.dtype.code, shape, std::move(places), std::move(bytes));
  }

 private:
  Tensor numbers_;
  uint8_t* next_ = nullptr;     // the next number to write
  std::string text_;            // of strings, back to back
  std::vector<int64_t> spans_;  // begin and end of each string
};

// Arguments: a table with a row (column of the line, required) for each output, and its defaults.
class DecodeCsv final : public Op {
 public:
  explicit DecodeCsv(const Args& args)
      : delimiter_(args.Text("field_delim").at(0)),
        quotes_(args.Bool("use_quote_delim")),
        all_(args.Bool("all")),
        blank_(args.Has("blank") && args.Bool("blank")),
        na_value_(args.Text("na_value")) {
    const std::vector<Tensor>& leaves = args.Nested("columns").leaves;
    auto* row = reinterpret_cast<const int64_t*>(leaves.at(0).data());
    for (size_t i = 1; i < leaves.size(); ++i, row += 2) {
      columns_.push_back({row[0], leaves[i].dtype(), row[1] != 0, leaves[i]});
    }
  }

  size_t outputs() const override { return columns_.size(); }
  bool by_rows(const std::vector<Tensor>&) const override { return true; }

  std::vector<Tensor> Call(const std::vector<Tensor>& inputs, RandomKey) const override {
    CheckInputs("decode_csv", inputs, 1);
    const Tensor& records = inputs[0];
    TypeCode code = records.dtype().code;
    bool empty = code == TypeCode::kObject && records.elements() == 0;
    if (code != TypeCode::kBytes && code != TypeCode::kText && !empty) {
      throw Error(ErrorKind::kType, "decode_csv: records must be bytes or str, got {}",
                  records.dtype().name());
    }
    std::vector<CsvValues> values(columns_.size());
    for (size_t i = 0; i < values.size(); ++i) values[i].Begin(columns_[i], records);
    std::vector<uint32_t> delimiters;
    for (int64_t i = 0; i < records.elements(); ++i) {
      try {
        Read(records.string(i), delimiters, values);
      } catch (const Error& error) {
        if (records.shape().rank() == 0) {
          throw Error(error.kind(), "decode_csv: {}", error.message());
        }
        throw Error(error.kind(), "decode_csv: record {}: {}", i, error.message());
      }
    }
    std::vector<Tensor> results;
    for (size_t i = 0; i < columns_.size(); ++i) {
      results.push_back(values[i].Take(columns_[i], records.shape()));
    }
    return results;
  }

 private:
  // `delimiters`: a buffer for the positions of a line's delimiters.
  void Read(std::string_view line, std::vector<uint32_t>& delimiters,
            std::vector<CsvValues>& values) const {
    for (char end : {'\n', '\r'}) {
      if (!line.empty() && line.back() == end) line.remove_suffix(1);
    }
    // Most lines have no quotes, and one search finds all of their fields.
    std::optional<size_t> found;
    if (!line.empty() && line.size() < std::numeric_limits<uint32_t>::max()) {
      if (delimiters.size() < line.size()) delimiters.resize(2 * line.size());
      found = FindDelimiters(line, delimiter_, quotes_, delimiters.data());
    }
    if (found) {
      ReadFields(PlainFields(line, {delimiters.data(), *found}), values);
    } else {
      ReadFields(CsvLine(line, delimiter_, quotes_, blank_), values);
    }
  }

  template <typename Fields>
  void ReadFields(Fields fields, std::vector<CsvValues>& values) const {
    std::string_view field;
    int64_t number = 0;
    size_t next = 0;
    for (; (all_ || next < columns_.size()) && fields.Next(&field); ++number) {
      if (next == columns_.size() || columns_[next].column != number) continue;
      const CsvColumn& column = columns_[next];
      if (field.empty() || field == na_value_) {
        if (column.required) {
          throw Error(ErrorKind::kData, "field {} is empty and has no default", number);
        }
        field = {};
      }
      try {
        values[next].Add(field, column);
      } catch (const Error& error) {
        throw Error(error.kind(), "field {}: {}", number, error.message());
      }
      ++next;
    }
    if (next == columns_.size() && (!all_ || number == static_cast<int64_t>(next))) return;
    throw Error(ErrorKind::kData, "{} fields were expected, got {}",
                all_ ? static_cast<int64_t>(columns_.size()) : columns_.back().column + 1, number);
  }

  const char delimiter_;
  const bool quotes_;
  const bool all_;    // the columns are all fields of a line
  const bool blank_;  // an empty line is an empty field
  const std::string na_value_;
  std::vector<CsvColumn> columns_;
};

const RegisterOp io_decode_csv_op("io.decode_csv", NewOp<DecodeCsv>);

}  // namespace
}  // namespace penstock
