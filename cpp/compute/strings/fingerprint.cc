// Fingerprint64 of Geoff Pike's FarmHash (github.com/google/farmhash), written from its published
// definition: a separate mixing function for each range of sizes.
#include "compute/strings/fingerprint.h"

#include <bit>
#include <cstring>
#include <utility>

namespace penstock {
namespace {

constexpr uint64_t k0 = 0xc3a5c85c97cb3127, k1 = 0xb492b66fbe98f273, k2 = 0x9ae16a3b2f90404f;

static_assert(std::endian::native == std::endian::little, "words are taken as they lie");

template <typename Word>
uint64_t LoadBytes(const char* at) {
  Word word;
  std::memcpy(&word, at, sizeof(word));
  return word;
}
uint64_t Word(const char* at) { return LoadBytes<uint64_t>(at); }
uint64_t Mix(uint64_t value) { return value ^ (value >> 47); }
uint64_t Rotate(uint64_t value, int by) { return std::rotr(value, by); }

uint64_t Pair(uint64_t u, uint64_t v, uint64_t mul) {
  uint64_t a = Mix((u ^ v) * mul);
  return Mix((v ^ a) * mul) * mul;
}

uint64_t UpTo16(const char* s, size_t size) {
  uint64_t mul = k2 + size * 2;
  if (size >= 8) {
    uint64_t a = Word(s) + k2, b = Word(s + size - 8);
    return Pair(Rotate(b, 37) * mul + a, (Rotate(a, 25) + b) * mul, mul);
  }
  if (size >= 4) {
    return Pair(size + (LoadBytes<uint32_t>(s) << 3), LoadBytes<uint32_t>(s + size - 4), mul);
  }
  if (size == 0) return k2;
  auto byte = [&](size_t i) { return uint64_t{static_cast<unsigned char>(s[i])}; };
  uint64_t y = byte(0) + (byte(size >> 1) << 8), z = size + (byte(size - 1) << 2);
  return Mix(y * k2 ^ z * k0) * k2;
}

uint64_t UpTo32(const char* s, size_t size) {
  uint64_t mul = k2 + size * 2, a = Word(s) * k1, b = Word(s + 8);
  uint64_t c = Word(s + size - 8) * mul, d = Word(s + size - 16) * k2;
  return Pair(Rotate(a + b, 43) + Rotate(c, 30) + d, a + Rotate(b + k2, 18) + c, mul);
}

uint64_t UpTo64(const char* s, size_t size) {
  uint64_t mul = k2 + size * 2, a = Word(s) * k2, b = Word(s + 8);
  uint64_t c = Word(s + size - 8) * mul, d = Word(s + size - 16) * k2;
  uint64_t y = Rotate(a + b, 43) + Rotate(c, 30) + d;
  uint64_t z = Pair(y, a + Rotate(b + k2, 18) + c, mul);
  uint64_t e = Word(s + 16) * mul, f = Word(s + 24);
  uint64_t g = (y + Word(s + size - 32)) * mul, h = (z + Word(s + size - 24)) * mul;
  return Pair(Rotate(e + f, 43) + Rotate(g, 30) + h, e + Rotate(f + a, 18) + g, mul);
}

// Mixes 32 bytes into two words.
std::pair<uint64_t, uint64_t> Weak(const char* s, uint64_t a, uint64_t b) {
  a += Word(s);
  b = Rotate(b + a + Word(s + 24), 21);
  uint64_t c = a;
  a += Word(s + 8) + Word(s + 16);
  b += Rotate(a, 44);
  return {a + Word(s + 24), b + c};
}

// The state carried from one block of 64 bytes to the next.
struct Carried {
  uint64_t x, y, z;
  std::pair<uint64_t, uint64_t> v, w;

  void Add(const char* s, uint64_t mul, uint64_t times) {
    x = Rotate(x + y + v.first + Word(s + 8), 37) * mul;
    y = Rotate(y + v.second + Word(s + 48), 42) * mul;
    x ^= w.second * times;
    y += v.first * times + Word(s + 40);
    z = Rotate(z + w.first, 33) * mul;
    v = Weak(s, v.second * mul, x + w.first);
    w = Weak(s + 32, z + w.second, y + Word(s + 16));
    std::swap(z, x);
  }
};

uint64_t Longer(const char* s, size_t size) {
  constexpr uint64_t kSeed = 81;
  Carried c{kSeed, kSeed * k1 + 113, 0, {0, 0}, {0, 0}};
  c.z = Mix(c.y * k2 + 113) * k2;
  c.x = c.x * k2 + Word(s);
  const char* end = s + (size - 1) / 64 * 64;
  const char* last = s + size - 64;
  for (; s != end; s += 64) c.Add(s, k1, 1);
  uint64_t mul = k1 + ((c.z & 0xff) << 1);
  c.w.first += (size - 1) & 63;
  c.v.first += c.w.first;
  c.w.first += c.v.first;
  c.Add(last, mul, 9);
  return Pair(Pair(c.v.first, c.w.first, mul) + Mix(c.y) * k0 + c.z,
              Pair(c.v.second, c.w.second, mul) + c.x, mul);
}

}  // namespace

uint64_t Fingerprint64(std::string_view bytes) {
  if (bytes.size() <= 16) return UpTo16(bytes.data(), bytes.size());
  if (bytes.size() <= 32) return UpTo32(bytes.data(), bytes.size());
  if (bytes.size() <= 64) return UpTo64(bytes.data(), bytes.size());
  return Longer(bytes.data(), bytes.size());
}

}  // namespace penstock
