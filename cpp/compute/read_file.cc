// io.read_file: the contents of a file as bytes. io.copy_file: copies them to a local file.
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>

#include "compute/new_op.h"
#include "compute/operand.h"
#include "storage/file.h"
#include "storage/temporary.h"

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

// Copies the file of the first name to a new file of the second name; the result is its size.
class CopyFile final : public Op {
 public:
  bool waits() const override { return true; }

  std::vector<Tensor> Call(const std::vector<Tensor>& inputs, RandomKey) const override {
    constexpr size_t kAtOnce = size_t{4} << 20;
    CheckInputs("copy_file", inputs, 2);
    const std::string from(Operand{"copy_file", "from"}.String(inputs[0], /*text=*/true));
    const std::string to(Operand{"copy_file", "to"}.String(inputs[1], /*text=*/true));
    const auto source = OpenFile(from, ReadingFor::current());
    RequireRoom(from, source->size(), to);
    OutputFile target(to);
    const BufferRef memory = Buffer::Allocate(kAtOnce);
    while (size_t got = source->Read(target.size(), memory->data(), kAtOnce)) {
      target.Write(memory->data(), got);
    }
    target.Close();
    return {Tensor::Scalar<int64_t>(target.size())};
  }

 private:
  static void RequireRoom(const std::string& from, int64_t size, const std::string& to) {
    const std::filesystem::path folder = std::filesystem::path(to).parent_path();
    std::error_code failed;
    const std::filesystem::space_info space = std::filesystem::space(folder, failed);
    if (failed || size < 0 || static_cast<uint64_t>(size) <= space.available) return;
    throw Error::FromErrno(
        ENOSPC, from,
        Format("it has {} bytes, and the folder for its copy, {}, has room for {}; another "
               "one is chosen by TMPDIR",
               size, folder.string(), space.available));
  }
};

const RegisterOp io_copy_file_op("io.copy_file", NewOp<CopyFile>);
const RegisterOp io_read_file_op("io.read_file", NewOp<ReadFile>);

}  // namespace
}  // namespace penstock
