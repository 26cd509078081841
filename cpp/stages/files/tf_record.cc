// tf_record: records framed by their length and two checksums.
//
// A record is its length (8 bytes, little-endian), the masked CRC-32C of those 8 bytes (4 bytes),
// its content, and the masked CRC-32C of the content (4 bytes).
#include <bit>
#include <cstring>
#include <limits>

#include "stages/files/file_dataset.h"
#include "storage/crc32c.h"

namespace penstock {
namespace {

constexpr size_t kLength = 8;
constexpr size_t kCrc = 4;
constexpr size_t kHeader = kLength + kCrc;
constexpr uint64_t kMostPayload = std::numeric_limits<int64_t>::max() - kHeader - kCrc;

static_assert(std::endian::native == std::endian::little, "numbers are taken as they lie");

template <typename Number>
Number Read(const uint8_t* bytes) {
  Number number;
  std::memcpy(&number, bytes, sizeof number);
  return number;
}

bool HasCrc(const uint8_t* bytes, size_t size) {
  return MaskedCrc(Crc32c(bytes, size)) == Read<uint32_t>(bytes + size);
}

class TfRecordReader final : public FormatReader<TfRecordReader> {
 public:
  Found Find(const ByteWindow& window) override {
    if (window.size < kHeader) {
      if (!window.ended) return {.kind = Found::kMore, .need = kHeader};
      if (window.size == 0) return {.kind = Found::kEnd};
      return {.kind = Found::kLost,
              .problem = Format("the file ends {} bytes into the {} bytes before a record; it was "
                                "not written to its end, or holds no TFRecords",
                                window.size, kHeader)};
    }
    const auto length = Read<uint64_t>(window.data);
    if (!HasCrc(window.data, kLength)) {
      return {.kind = Found::kLost,
              .problem =
                  "the checksum of a record's length is wrong, so what follows in this file "
                  "cannot be found; the file is damaged, or holds no TFRecords"};
    }
    uint64_t whole = length > kMostPayload ? kMostPayload : kHeader + length + kCrc;
    if (window.size < whole) {
      if (!window.ended)
        return {.kind = Found::kMore, .size = length, .need = whole, .exact = true};
      return {.kind = Found::kLost,
              .problem = Format("the file ends within a record of {} bytes; it was not written to "
                                "its end",
                                length)};
    }
    auto size = static_cast<size_t>(length);
    if (!HasCrc(window.data + kHeader, size)) {
      return {.kind = Found::kBad,
              .next = static_cast<size_t>(whole),
              .problem = Format("the checksum of a record of {} bytes is wrong; it is damaged, and "
                                "is left out",
                                length)};
    }
    return {
        .kind = Found::kRecord, .begin = kHeader, .size = size, .next = static_cast<size_t>(whole)};
  }

  // Damaged content does not affect where the next record begins.
  std::optional<size_t> extent_bytes() const override { return kHeader; }
  Extent FindExtent(const ByteWindow& window) const override {
    if (window.size < kHeader || !HasCrc(window.data, kLength)) return {};
    const auto length = Read<uint64_t>(window.data);
    if (length > kMostPayload) return {};
    auto whole = static_cast<size_t>(kHeader + length + kCrc);
    return {whole, whole};
  }
};

const FileFormat kTfRecords{"TFRecordDataset", Beginning::kChecked,
                            [](const Args&) -> std::unique_ptr<RecordReader> {
                              return std::make_unique<TfRecordReader>();
                            }};

const RegisterDataset tf_record_stage("tf_record", TraitsOf(kTfRecords),
                                      [](const std::vector<DatasetPtr>&,
                                         const Args& args) -> std::shared_ptr<Dataset> {
                                        return MakeFileDataset(kTfRecords, args);
                                      });

}  // namespace
}  // namespace penstock
