// Checksums.
#include <cstring>
#include <random>
#include <vector>

#include "measure.h"
#include "storage/crc32c.h"

namespace penstock::bench {
namespace {

constexpr size_t kRecord = 100'000;

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

const Theme checksums(AddChecksums);

}  // namespace
}  // namespace penstock::bench
