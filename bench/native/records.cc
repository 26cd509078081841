// Reading files of lines and of records: beside the system's own reading of the same bytes.
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "measure.h"
#include "run.h"
#include "storage/crc32c.h"

namespace penstock::bench {
namespace {

constexpr size_t kWindow = 64 << 10;        // stays in the processor's cache: the fastest for fread
constexpr int64_t kBufferSize = 256 << 10;  // the default of the datasets
constexpr int64_t kFileBytes = 16'000'000;

// A file that repeats some bytes, removed at the end of the program.
class RepeatedBytes {
 public:
  explicit RepeatedBytes(const std::string& bytes)
      : count_(kFileBytes / static_cast<int64_t>(bytes.size())) {
    std::string name = "penstock_bench_" + std::to_string(std::random_device()());
    path_ = (std::filesystem::temp_directory_path() / name).string();
    std::FILE* file = std::fopen(path_.c_str(), "wb");
    if (!file) throw std::runtime_error("cannot write " + path_);
    for (int64_t i = 0; i < count_; ++i) std::fwrite(bytes.data(), 1, bytes.size(), file);
    if (std::fclose(file) != 0) throw std::runtime_error("cannot write " + path_);
  }
  ~RepeatedBytes() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  RepeatedBytes(const RepeatedBytes&) = delete;
  RepeatedBytes& operator=(const RepeatedBytes&) = delete;

  const std::string& path() const { return path_; }
  int64_t count() const { return count_; }

 private:
  int64_t count_;
  std::string path_;
};

// Made when a case first runs, so that another theme needs no disk.
template <typename Make>
class Lazy {
 public:
  explicit Lazy(Make make) : make_(std::move(make)) {}
  const RepeatedBytes& operator()() const {
    if (!*file_) *file_ = std::make_unique<RepeatedBytes>(make_());
    return **file_;
  }

 private:
  Make make_;
  std::shared_ptr<std::unique_ptr<RepeatedBytes>> file_ =
      std::make_shared<std::unique_ptr<RepeatedBytes>>();
};

void Append(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
}

// One record as TFRecord files have it: length, its checksum, content, its checksum.
std::string Framed(size_t size) {
  std::string out;
  Append(out, size, 8);
  Append(out, MaskedCrc(Crc32c(out.data(), 8)), 4);
  std::string content(size, 'x');
  out += content;
  Append(out, MaskedCrc(Crc32c(content.data(), size)), 4);
  return out;
}

// Gives `look` the bytes of a file, a window at a time.
template <typename Look>
void ReadAll(const std::string& path, Look look) {
  static std::vector<char> window(kWindow);
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (!file) throw std::runtime_error("cannot read " + path);
  std::setvbuf(file, nullptr, _IONBF, 0);
  while (size_t size = std::fread(window.data(), 1, window.size(), file)) look(window.data(), size);
  std::fclose(file);
}

int64_t CountLines(const std::string& path) {
  int64_t lines = 0;
  ReadAll(path, [&lines](const char* at, size_t size) {
    const char* end = at + size;
    while (auto* found =
               static_cast<const char*>(std::memchr(at, '\n', static_cast<size_t>(end - at)))) {
      ++lines;
      at = found + 1;
    }
  });
  return lines;
}

void CheckSum(const std::string& path) {
  uint32_t crc = 0;
  ReadAll(path, [&crc](const char* at, size_t size) { crc = Crc32c(at, size, crc); });
  Keep(crc);
}

void Read(const char* kind, const RepeatedBytes& file) {
  Args args;
  args.Set("filename", file.path());
  args.Set("buffer_size", kBufferSize);
  int64_t rows = Drain(MakeDataset(kind, {}, args));
  if (rows != file.count()) throw std::runtime_error(std::string(kind) + ": records are missing");
}

template <typename Make>
void AddRecords(const char* theme, const char* kind, Make make, const char* limit,
                void (*read_limit)(const std::string&)) {
  Lazy file(make);
  AddBytes(theme, kind, kFileBytes, [file, kind] { Read(kind, file()); });
  AddBytes(theme, limit, kFileBytes, [file, read_limit] { read_limit(file().path()); });
  AddBytes(theme, "fread", kFileBytes,
           [file] { ReadAll(file().path(), [](const char* at, size_t) { Keep(*at); }); });
}

const Theme records([] {
  AddRecords(
      "lines of 100 bytes", "text_line", [] { return std::string(99, 'x') + '\n'; },
      "fread and memchr", [](const std::string& path) { Keep(CountLines(path)); });
  AddRecords(
      "TFRecords of 300 bytes", "tf_record", [] { return Framed(300); }, "fread and CRC-32C",
      CheckSum);
  AddRecords(
      "TFRecords of 100 kB", "tf_record", [] { return Framed(100'000); }, "fread and CRC-32C",
      CheckSum);
});

}  // namespace
}  // namespace penstock::bench
