// io.read_file: the content of a file as bytes.
#include <cstring>
#include <string>
#include <string_view>

#include "compute/new_op.h"
#include "compute/operand.h"
#include "storage/file.h"

namespace penstock {
namespace {

constexpr Operand kFilename{"read_file", "filename"};

class ReadFile final : public Op {
 public:
  bool waits() const override { return true; }
  bool reads_file() const override { return true; }

  std::vector<Tensor> Call(const std::vector<Tensor>& inputs, RandomKey) const override {
    CheckInputs("read_file", inputs, 1);
    std::string path(kFilename.String(inputs[0], /*text=*/true));
    if (path.empty() || path.find('\0') != std::string::npos) {
      throw Error(ErrorKind::kInvalidArgument,
                  "read_file: filename must be a path without null characters, got {}",
                  path.empty() ? std::string_view("an empty string") : path);
    }
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
