// csv_record: the records of a file of comma-separated values, without their line ends. A line end
// within quotes belongs to its field. https://www.rfc-editor.org/rfc/rfc4180
#include <cstring>
#include <optional>

#include "stages/files/file_dataset.h"

namespace penstock {
namespace {

// Scans the bytes of one record, over several calls if needed.
class CsvScanner {
 public:
  CsvScanner(char delimiter, bool quotes) : delimiter_(delimiter), quotes_(quotes) {}

  // A record begins at `offset` of the file; does nothing if that record is already being scanned.
  void Begin(int64_t offset) {
    if (offset == begin_) return;
    begin_ = offset;
    at_ = 0;
    state_ = State::kFieldBegin;
  }
  // The next record may be any, including the same one.
  void Forget() { begin_ = -1; }
  // Returns the record's size if its end is among the bytes; `next`: the position after its line
  // end. `ended`: the file ends here, so its last record needs no line end.
  std::optional<size_t> End(const uint8_t* bytes, size_t size, bool ended, size_t* next) {
    if (at_ == 0) {
      if (auto end = EndOfPlainLine(bytes, size)) {
        *next = *end + 1;
        return *end > 0 && bytes[*end - 1] == '\r' ? *end - 1 : *end;
      }
    }
    for (; at_ < size; ++at_) {
      const auto byte = static_cast<char>(bytes[at_]);
      if (state_ == State::kQuoted) {
        if (byte == '"') {
          state_ = State::kQuoteEnd;
        }
        continue;
      }
      if (byte == '\n' || byte == '\r') {
        size_t end = at_;
        bool pair = byte == '\r' && end + 1 < size && bytes[end + 1] == '\n';
        if (byte == '\r' && end + 1 == size && !ended) return std::nullopt;  // a \n may follow
        *next = end + (pair ? 2 : 1);
        return end;
      }
      if (byte == delimiter_) {
        state_ = State::kFieldBegin;
      } else if (byte == '"' && quotes_ && state_ == State::kFieldBegin) {
        state_ = State::kQuoted;
        quote_ = begin_ + static_cast<int64_t>(at_);
      } else if (byte == '"' && state_ == State::kQuoteEnd) {
        state_ = State::kQuoted;  // two quotes inside quotes are an escaped quote
      } else {
        state_ = State::kPlain;
      }
    }
    *next = size;
    if (!ended || state_ == State::kQuoted) return std::nullopt;
    return size;
  }
  // The file offset of an unclosed quote.
  int64_t quote() const { return quote_; }

 private:
  enum class State : uint8_t { kFieldBegin, kPlain, kQuoted, kQuoteEnd };

  // Fast path: most lines have no quotes, so memchr finds their end.
  std::optional<size_t> EndOfPlainLine(const uint8_t* bytes, size_t size) const {
    auto* end = static_cast<const uint8_t*>(std::memchr(bytes, '\n', size));
    if (!end) return std::nullopt;
    auto line = static_cast<size_t>(end - bytes);
    if (quotes_ && std::memchr(bytes, '"', line)) return std::nullopt;
    auto* other = static_cast<const uint8_t*>(std::memchr(bytes, '\r', line));
    if (other && other + 1 != end) return std::nullopt;
    return line;
  }

  const char delimiter_;
  const bool quotes_;
  int64_t begin_ = -1;
  size_t at_ = 0;  // bytes scanned
  State state_ = State::kFieldBegin;
  int64_t quote_ = 0;
};

class CsvRecordReader final : public FormatReader<CsvRecordReader> {
 public:
  CsvRecordReader(char delimiter, bool quotes, bool header)
      : header_(header), scanner_(delimiter, quotes) {}

  Found Find(const ByteWindow& window) override {
    if (MayBeginWithMark(window)) return {.kind = Found::kMore, .size = window.size, .need = 3};
    size_t begin = ByteOrderMark(window);
    if (header_ && window.offset == 0) {
      if (window.size == begin && window.ended) {
        return {.kind = Found::kLost, .problem = "a header was expected, the file is empty"};
      }
      size_t next = 0;
      scanner_.Begin(static_cast<int64_t>(begin));
      if (!scanner_.End(window.data + begin, window.size - begin, window.ended, &next)) {
        return Without(window, begin);
      }
      begin += next;
    }
    if (begin == window.size) {
      if (window.ended) return {.kind = Found::kEnd};
      return Without(window, begin);
    }
    size_t next = 0;
    scanner_.Begin(window.offset + static_cast<int64_t>(begin));
    auto size = scanner_.End(window.data + begin, window.size - begin, window.ended, &next);
    if (!size) return Without(window, begin);
    scanner_.Forget();
    return {.kind = Found::kRecord,
            .begin = begin,
            .size = *size,
            .next = begin + next,
            .header = begin};
  }

 private:
  // The record at `begin` has no end yet.
  Found Without(const ByteWindow& window, size_t begin) const {
    if (window.ended) {
      return {.kind = Found::kLost,
              .problem = Format("the quote at byte {} of the file is not closed before its end",
                                scanner_.quote())};
    }
    // Double it, so that each byte of a long record is moved only a few times.
    return {.kind = Found::kMore, .size = window.size - begin, .need = 2 * window.size + 1};
  }

  const bool header_;
  CsvScanner scanner_;
};

const FileFormat kCsvRecords{
    "CsvDataset", Beginning::kText, [](const Args& args) -> std::unique_ptr<RecordReader> {
      return std::make_unique<CsvRecordReader>(args.Text("field_delim").at(0),
                                               args.Bool("use_quote_delim"), args.Bool("header"));
    }};

const RegisterDataset csv_record_stage("csv_record", TraitsOf(kCsvRecords),
                                       [](const std::vector<DatasetPtr>&,
                                          const Args& args) -> std::shared_ptr<Dataset> {
                                         return MakeFileDataset(kCsvRecords, args);
                                       });

}  // namespace
}  // namespace penstock
