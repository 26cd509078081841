// Changes of bytes that often break parsers.
#include <array>
#include <cstring>

#include "fuzz.h"

namespace penstock::fuzz {
namespace {

constexpr size_t kLargest = size_t{1} << 18;  // the most bytes of an input
constexpr std::array<uint64_t, 16> kNumbers = {
    0,      1,       2,          0x7F,       0x80, 0xFF,    0x7FFF,       0x8000,
    0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, ~0u,  1 << 20, ~uint64_t{0}, uint64_t{1} << 63};

// Writes a number of 1, 2, 4 or 8 bytes in either byte order, like the lengths and sizes in
// headers.
void PutNumber(std::string& input, size_t at, Random& random) {
  uint64_t number = random.OneIn(4) ? random.Bits() : kNumbers[random.Below(kNumbers.size())];
  size_t size = size_t{1} << random.Below(4);
  bool big = random.OneIn(2);
  for (size_t i = 0; i < size && at + i < input.size(); ++i) {
    input[at + i] = static_cast<char>(number >> (8 * (big ? size - 1 - i : i)));
  }
}

std::string Piece(const std::string& of, Random& random) {
  size_t at = random.Below(of.size());
  return of.substr(at, 1 + random.Below(random.OneIn(4) ? 4096 : 16));
}

void MutateOnce(std::string& input, const std::string& other, Random& random) {
  size_t at = random.Below(input.size() + 1);
  bool inside = at < input.size();
  switch (random.Below(9)) {
    case 0:
      if (inside) input[at] = static_cast<char>(input[at] ^ (1 << random.Below(8)));
      break;
    case 1:
      if (inside) input[at] = static_cast<char>(random.Bits());
      break;
    case 2:
      PutNumber(input, at, random);
      break;
    case 3:
      input.resize(at);
      break;
    case 4:
      input.erase(at, 1 + random.Below(random.OneIn(4) ? 4096 : 8));
      break;
    case 5:
      input.insert(at, Piece(input, random));
      break;
    case 6:
      input.insert(at, Piece(other, random));
      break;
    case 7: {
      std::string piece = Piece(other, random);
      piece.resize(std::min(piece.size(), input.size() - at));
      input.replace(at, piece.size(), piece);
      break;
    }
    default:
      input.insert(at, 1 + random.Below(random.OneIn(8) ? 4096 : 8),
                   static_cast<char>(random.OneIn(2) ? random.Bits() : 0));
  }
}

}  // namespace

void Mutate(std::string& input, const std::string& other, Random& random) {
  size_t changes = 1 + random.Below(random.OneIn(4) ? 16 : 3);
  for (size_t i = 0; i < changes; ++i) MutateOnce(input, other, random);
  if (input.size() > kLargest) input.resize(kLargest);
}

}  // namespace penstock::fuzz
