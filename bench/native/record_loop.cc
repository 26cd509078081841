// The limits of reading record files: the same bytes, checksums and line ends, and nothing else.
//
//   record_loop records|lines|bytes FILE [--seconds S]
//
// Reads the file again and again in blocks of 256 KiB with read(2) and finds its TFRecords
// (checking both checksums with the CPU's instruction), or its line ends with memchr, or does no
// more. Prints one JSON line: seconds of one pass over the file (the median of all), and what it
// counted.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "storage/crc32c.h"

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kBlock = size_t{256} << 10;

// Each takes what it can from the front, adds what it found, and says how much it took.
size_t Records(const uint8_t* data, size_t size, int64_t& count) {
  size_t at = 0;
  while (size - at >= 12) {
    uint64_t length;
    uint32_t crc;
    std::memcpy(&length, data + at, sizeof(length));
    std::memcpy(&crc, data + at + 8, sizeof(crc));
    if (MaskedCrc(Crc32c(data + at, 8)) != crc) std::abort();
    if (size - at < 16 + length) break;
    std::memcpy(&crc, data + at + 12 + length, sizeof(crc));
    if (MaskedCrc(Crc32c(data + at + 12, length)) != crc) std::abort();
    ++count;
    at += 16 + length;
  }
  return at;
}

size_t Lines(const uint8_t* data, size_t size, int64_t& count) {
  const uint8_t* end = data + size;
  for (const uint8_t* p = data; p < end; ++count) {
    p = static_cast<const uint8_t*>(std::memchr(p, '\n', static_cast<size_t>(end - p)));
    if (!p) break;
    ++p;
  }
  return size;
}

size_t Bytes(const uint8_t*, size_t size, int64_t& count) {
  count += static_cast<int64_t>(size);
  return size;
}

using Take = size_t (*)(const uint8_t*, size_t, int64_t&);

int64_t Pass(const char* path, Take take, std::span<uint8_t> buffer) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    std::perror(path);
    std::exit(1);
  }
  int64_t count = 0;
  size_t filled = 0;
  for (;;) {
    ssize_t got = read(fd, buffer.data() + filled, std::min(kBlock, buffer.size() - filled));
    if (got <= 0) break;
    filled += static_cast<size_t>(got);
    size_t taken = take(buffer.data(), filled, count);
    std::memmove(buffer.data(), buffer.data() + taken, filled - taken);
    filled -= taken;
  }
  close(fd);
  return count;
}

int Main(int argc, char** argv) {
  std::string form = argc > 2 ? argv[1] : "";
  Take take = form == "records" ? Records
              : form == "lines" ? Lines
              : form == "bytes" ? Bytes
                                : nullptr;
  if (!take) {
    std::fprintf(stderr, "usage: record_loop records|lines|bytes FILE [--seconds S]\n");
    return 2;
  }
  double seconds = argc > 4 && std::string(argv[3]) == "--seconds" ? std::atof(argv[4]) : 1;
  // Aligned to a page: copies from a file into memory that begins a few bytes after a page's start,
  // as malloc's does, take four times as long on some CPUs.
  constexpr size_t kRoom = 4 * kBlock;
  auto* memory = static_cast<uint8_t*>(std::aligned_alloc(4096, kRoom));
  std::span<uint8_t> buffer(memory, kRoom);
  int64_t count = Pass(argv[2], take, buffer);  // into the page cache
  std::vector<double> passes;
  auto end = Clock::now() + std::chrono::duration<double>(seconds);
  do {
    auto start = Clock::now();
    count = Pass(argv[2], take, buffer);
    passes.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  } while (Clock::now() < end);
  std::sort(passes.begin(), passes.end());
  std::printf("{\"seconds\": %.9f, \"count\": %lld}\n", passes[passes.size() / 2],
              static_cast<long long>(count));
  return 0;
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) { return penstock::Main(argc, argv); }
