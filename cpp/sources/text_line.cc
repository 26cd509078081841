// text_line: the lines of a text file, without their line ends.
#include <algorithm>
#include <cstring>

#include "sources/file_dataset.h"

namespace penstock {
namespace {

class TextLineReader final : public RecordReader {
 public:
  explicit TextLineReader(ByteSource& bytes) : bytes_(bytes) {}

  bool Read(Tensor& record) override {
    size_t searched = 0;
    for (;;) {
      size_t available = bytes_.Fill(searched + 1);
      const uint8_t* start = bytes_.data();
      auto* found = available > searched ? static_cast<const uint8_t*>(std::memchr(
                                               start + searched, '\n', available - searched))
                                         : nullptr;
      if (!found && available > searched) {
        searched = available;
        continue;
      }
      if (!found && available == 0) return false;
      size_t length = found ? static_cast<size_t>(found - start) : available;
      size_t text = length > 0 && start[length - 1] == '\r' ? length - 1 : length;
      record = Tensor::String(TypeCode::kBytes, {reinterpret_cast<const char*>(start), text});
      bytes_.Skip(found ? length + 1 : length);
      return true;
    }
  }

 private:
  ByteSource& bytes_;
};

const RegisterDataset registration(
    "text_line", [](const std::vector<DatasetPtr>&, const Args& args) -> std::shared_ptr<Dataset> {
      return MakeFileDataset(
          [](ByteSource& bytes, const Args&) -> std::unique_ptr<RecordReader> {
            return std::make_unique<TextLineReader>(bytes);
          },
          args);
    });

}  // namespace
}  // namespace penstock
