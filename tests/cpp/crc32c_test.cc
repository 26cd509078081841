// CRC-32C: known values, and the CPU instructions compared with the table.
#include "storage/crc32c.h"

#include <string>
#include <vector>

#include "check.h"
#include "runtime/instruction_set.h"

namespace penstock {

TEST(crc32c_known_values) {
  // The values of RFC 3720, B.4, and the usual check value.
  CHECK_EQ(Crc32c("123456789", 9), 0xE3069283u);
  std::string zeros(32, '\0');
  std::string ones(32, '\xff');
  std::string rising;
  for (char c = 0; c < 32; ++c) rising.push_back(c);
  for (auto* crc : {&Crc32c, &Crc32cByTable}) {
    CHECK_EQ(crc(zeros.data(), 32, 0), 0x8A9136AAu);
    CHECK_EQ(crc(ones.data(), 32, 0), 0x62A8AB43u);
    CHECK_EQ(crc(rising.data(), 32, 0), 0x46DD794Eu);
    CHECK_EQ(crc("", 0, 0), 0u);
    CHECK_EQ(crc("", 0, 0x12345678u), 0x12345678u);
  }
  CHECK_EQ(MaskedCrc(0), 0xA282EAD8u);
}

TEST(crc32c_instructions_equal_table) {
  // Sizes around every length at which the loop of the instructions changes, at every alignment.
  std::vector<uint8_t> bytes(3 * 6144 + 512);
  uint32_t random = 1;
  for (auto& byte : bytes)
    byte = static_cast<uint8_t>((random = random * 1664525u + 1013904223u) >> 24);
  std::vector<size_t> sizes;
  for (size_t size = 0; size < 700; ++size) sizes.push_back(size);
  for (size_t around : {6144u, 6144u + 288u, 2u * 6144u, 3u * 6144u}) {
    for (size_t size = around - 9; size < around + 9; ++size) sizes.push_back(size);
  }
  const InstructionSet before = ChosenInstructionSet();
  for (InstructionSet set : AvailableInstructionSets()) {
    SetInstructionSet(set);
    for (size_t size : sizes) {
      size_t at = size % 17;
      if (Crc32c(&bytes[at], size, random) != Crc32cByTable(&bytes[at], size, random)) {
        CHECK_EQ(size, size_t{0});
      }
    }
  }
  SetInstructionSet(before);
  CHECK(sizes.size() > 700);
}

TEST(crc32c_continues) {
  std::string text(20000, 'x');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 7);
  for (size_t cut : {0u, 1u, 7u, 300u, 6144u, 19999u, 20000u}) {
    uint32_t first = Crc32c(text.data(), cut);
    CHECK_EQ(Crc32c(text.data() + cut, text.size() - cut, first), Crc32c(text.data(), text.size()));
  }
}

}  // namespace penstock
