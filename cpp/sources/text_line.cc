// text_line: the lines of a text file, without their line ends.
#include <cstring>

#include "sources/file_dataset.h"

namespace penstock {
namespace {

class TextLineReader final : public FormatReader<TextLineReader> {
 public:
  Found Find(const ByteWindow& window) override {
    const uint8_t* end = nullptr;
    if (window.size > searched_) {
      end = static_cast<const uint8_t*>(
          std::memchr(window.data + searched_, '\n', window.size - searched_));
    }
    if (!end && !window.ended) {
      searched_ = window.size;
      // Doubling: each byte of a long line is moved only a few times.
      return {.kind = Found::kMore, .need = 2 * window.size + 1};
    }
    searched_ = 0;
    if (!end && window.size == 0) return {.kind = Found::kEnd};
    size_t length = end ? static_cast<size_t>(end - window.data) : window.size;
    size_t text = length > 0 && window.data[length - 1] == '\r' ? length - 1 : length;
    return {.kind = Found::kRecord, .size = text, .next = end ? length + 1 : length};
  }

 private:
  size_t searched_ = 0;  // bytes of the window without a line end
};

const FileFormat kFormat{"TextLineDataset", /*any_bytes=*/false,
                         [](const Args&) -> std::unique_ptr<RecordReader> {
                           return std::make_unique<TextLineReader>();
                         }};

const RegisterDataset registration("text_line",
                                   [](const std::vector<DatasetPtr>&,
                                      const Args& args) -> std::shared_ptr<Dataset> {
                                     return MakeFileDataset(kFormat, args);
                                   });

}  // namespace
}  // namespace penstock
