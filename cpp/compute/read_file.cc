// io.read_file: the content of a file as bytes.
#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "compute/new_op.h"
#include "compute/operand.h"
#include "storage/file.h"

namespace penstock {
namespace {

constexpr Operand kFilename{"read_file", "filename"};

// Whether a path begins with a scheme of two letters or more; one letter is a drive of Windows.
bool LooksLikeUrl(std::string_view path) {
  const size_t end = path.find("://");
  if (end == std::string_view::npos || end < 2) return false;
  if (!std::isalpha(static_cast<unsigned char>(path[0]))) return false;
  return std::all_of(path.begin(), path.begin() + end, [](unsigned char c) {
    return std::isalnum(c) || c == '+' || c == '.' || c == '-';
  });
}

// The words are those of path_of in python/penstock/paths.py.
void RefuseUrl(const std::string& path) {
  std::error_code ignored;
  if (LooksLikeUrl(path) && !std::filesystem::exists(path, ignored)) {
    throw Error(ErrorKind::kInvalidArgument,
                "read_file: filename must be a path of this machine, got the URL '{}'; download or "
                "mount it, or read it in Dataset.from_generator",
                path);
  }
}

class ReadFile final : public Op {
 public:
  bool waits() const override { return true; }

  std::vector<Tensor> Call(const std::vector<Tensor>& inputs, RandomKey) const override {
    CheckInputs("read_file", inputs, 1);
    std::string path(kFilename.String(inputs[0], /*text=*/true));
    if (path.empty() || path.find('\0') != std::string::npos) {
      throw Error(ErrorKind::kInvalidArgument,
                  "read_file: filename must be a path without null characters, got {}",
                  path.empty() ? std::string_view("an empty string") : path);
    }
    RefuseUrl(path);
    size_t size;
    BufferRef content = ReadWholeFile(path, &size);
    const int64_t span[2] = {0, static_cast<int64_t>(size)};
    BufferRef spans = Buffer::Allocate(sizeof(span));
    std::memcpy(spans->data(), span, sizeof(span));
    return {Tensor::Packed(TypeCode::kBytes, {}, std::move(spans), std::move(content))};
  }
};

const RegisterOp io_read_file_op("io.read_file", NewOp<ReadFile>);

}  // namespace
}  // namespace penstock
