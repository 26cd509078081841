// fixed_length_record: records of a fixed number of bytes, between a header and a footer.
#include "stages/files/file_dataset.h"

namespace penstock {
namespace {

class FixedLengthReader final : public FormatReader<FixedLengthReader> {
 public:
  explicit FixedLengthReader(const Args& args)
      : record_(static_cast<size_t>(args.IntAtLeast("record_bytes", 1))),
        header_(static_cast<size_t>(args.IntAtLeast("header_bytes", 0))),
        footer_(static_cast<size_t>(args.IntAtLeast("footer_bytes", 0))) {}

  Found Find(const ByteWindow& window) override {
    size_t before = window.offset == 0 ? header_ : 0;
    size_t whole = before + record_ + footer_;  // a record must leave room for the footer
    if (window.size < whole) {
      if (!window.ended) return {.kind = Found::kMore, .need = whole};
      return Rest(window, before);
    }
    return {.kind = Found::kRecord,
            .begin = before,
            .size = record_,
            .next = before + record_,
            .header = before};
  }

  std::optional<size_t> extent_bytes() const override { return 0; }
  Extent FindExtent(const ByteWindow& window) const override {
    size_t next = (window.offset == 0 ? header_ : 0) + record_;
    return {next, next + footer_};
  }
  std::optional<FixedLayout> layout() const override {
    return FixedLayout{static_cast<int64_t>(header_), static_cast<int64_t>(record_),
                       static_cast<int64_t>(footer_)};
  }

 private:
  Found Rest(const ByteWindow& window, size_t before) const {
    if (window.size == before + footer_) return {.kind = Found::kEnd};
    if (window.offset == 0 && window.size < before + footer_) {
      return {.kind = Found::kLost,
              .problem = Format("a header of {} and a footer of {} bytes were expected, got a file "
                                "of {} bytes",
                                header_, footer_, window.size)};
    }
    return {
        .kind = Found::kLost,
        .problem = Format("records of {} bytes were expected, got {} bytes at the end; the file "
                          "is not whole, or record_bytes, header_bytes or footer_bytes is wrong",
                          record_, window.size - before - footer_)};
  }

  const size_t record_;
  const size_t header_;
  const size_t footer_;
};

const FileFormat kFixedLengthRecords{"FixedLengthRecordDataset", Beginning::kAnyBytes,
                                     [](const Args& args) -> std::unique_ptr<RecordReader> {
                                       return std::make_unique<FixedLengthReader>(args);
                                     }};

const RegisterDataset fixed_length_record_stage("fixed_length_record",
                                                TraitsOf(kFixedLengthRecords),
                                                [](const std::vector<DatasetPtr>&,
                                                   const Args& args) -> std::shared_ptr<Dataset> {
                                                  return MakeFileDataset(kFixedLengthRecords, args);
                                                });

}  // namespace
}  // namespace penstock
