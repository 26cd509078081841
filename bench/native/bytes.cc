// Going over bytes: checksums, and the lines of a file.
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "measure.h"
#include "pipeline/crc32c.h"
#include "run.h"

namespace penstock::bench {
namespace {

constexpr size_t kRecord = 100'000;
constexpr size_t kWindow = 256 << 10;
constexpr int64_t kLines = 160'000;
constexpr int64_t kLineBytes = 100;

void AddChecksums() {
  std::vector<char> record(kRecord);
  std::mt19937 random(1);
  for (char& byte : record) byte = static_cast<char>(random());
  const auto bytes = static_cast<int64_t>(kRecord);
  AddBytes("CRC-32C of 100 kB", "Crc32c", bytes,
           [record] { Keep(Crc32c(record.data(), record.size())); });
  AddBytes("CRC-32C of 100 kB", "Crc32cByTable", bytes,
           [record] { Keep(Crc32cByTable(record.data(), record.size())); });
  AddBytes("CRC-32C of 100 kB", "memcpy", bytes, [record] {
    static char copy[kRecord];
    std::memcpy(copy, record.data(), kRecord);
    Keep(copy);
  });
}

// A file of equal lines, made when it is first asked for and removed at the end.
class LinesFile {
 public:
  static const std::string& Path() {
    static const LinesFile file;
    return file.path_;
  }
  ~LinesFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

 private:
  LinesFile() {
    std::string name = "penstock_bench_" + std::to_string(std::random_device()()) + ".txt";
    path_ = (std::filesystem::temp_directory_path() / name).string();
    std::FILE* file = std::fopen(path_.c_str(), "wb");
    if (!file) throw std::runtime_error("cannot write " + path_);
    std::string line(kLineBytes - 1, 'x');
    line += '\n';
    for (int64_t i = 0; i < kLines; ++i) std::fwrite(line.data(), 1, line.size(), file);
    if (std::fclose(file) != 0) throw std::runtime_error("cannot write " + path_);
  }
  std::string path_;
};

int64_t CountLines() {
  static std::vector<char> window(kWindow);
  std::FILE* file = std::fopen(LinesFile::Path().c_str(), "rb");
  if (!file) throw std::runtime_error("cannot read " + LinesFile::Path());
  std::setvbuf(file, nullptr, _IONBF, 0);
  int64_t lines = 0;
  while (size_t size = std::fread(window.data(), 1, window.size(), file)) {
    const char* at = window.data();
    const char* end = at + size;
    while (auto* found =
               static_cast<const char*>(std::memchr(at, '\n', static_cast<size_t>(end - at)))) {
      ++lines;
      at = found + 1;
    }
  }
  std::fclose(file);
  return lines;
}

int64_t ReadLines() {
  Args args;
  args.Set("filename", LinesFile::Path());
  args.Set("buffer_size", static_cast<int64_t>(kWindow));
  return Drain(MakeDataset("text_line", {}, args));
}

const Theme bytes([] {
  AddChecksums();
  AddTimed("lines of 100 bytes", "text_line", kLines, [] { Keep(ReadLines()); });
  AddTimed("lines of 100 bytes", "fread and memchr", kLines, [] { Keep(CountLines()); });
});

}  // namespace
}  // namespace penstock::bench
