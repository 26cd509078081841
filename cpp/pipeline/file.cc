// Reading whole files.
#include "pipeline/file.h"

namespace penstock {

std::string ReadWholeFile(const std::string& path) {
  auto file = LocalFiles().Open(path);
  std::string content;
  constexpr size_t kUnknownStep = size_t{1} << 20;
  int64_t expected = file->size();
  size_t filled = 0;
  // One byte more than expected: the read that returns 0 is then the last one needed.
  content.resize(expected >= 0 ? static_cast<size_t>(expected) + 1 : kUnknownStep);
  for (;;) {
    if (filled == content.size()) content.resize(content.size() + kUnknownStep);
    size_t got =
        file->Read(static_cast<int64_t>(filled), content.data() + filled, content.size() - filled);
    if (got == 0) break;
    filled += got;
  }
  content.resize(filled);
  return content;
}

}  // namespace penstock
