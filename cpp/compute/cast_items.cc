// Conversions between all number types. Complex numbers are converted as real and imaginary parts.
#include "compute/cast_items.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "compute/real_types.h"

namespace penstock {
namespace {

constexpr size_t kItemsAtOnce = 512;  // items: the buffers below stay in the L1 cache

// Converts the real parts of complex numbers, through a separate buffer.
void CastRealParts(TypeCode part, const uint8_t* in, TypeCode to, uint8_t* out, size_t count) {
  alignas(64) uint8_t parts[kItemsAtOnce * sizeof(long double)];
  size_t part_size = DType::Of(part).itemsize, to_size = DType::Of(to).itemsize;
  CastLoop loop = FindCast(part, to);
  for (size_t done = 0; done < count; done += kItemsAtOnce) {
    size_t n = std::min(kItemsAtOnce, count - done);
    for (size_t i = 0; i < n; ++i) {
      std::memcpy(parts + i * part_size, in + 2 * (done + i) * part_size, part_size);
    }
    loop(parts, out + done * to_size, n);
  }
}

void CastToComplex(TypeCode from, const uint8_t* in, TypeCode part, uint8_t* out, size_t count) {
  alignas(64) uint8_t parts[kItemsAtOnce * sizeof(long double)];
  size_t part_size = DType::Of(part).itemsize, from_size = DType::Of(from).itemsize;
  CastLoop loop = FindCast(from, part);
  std::memset(out, 0, 2 * count * part_size);
  for (size_t done = 0; done < count; done += kItemsAtOnce) {
    size_t n = std::min(kItemsAtOnce, count - done);
    loop(in + done * from_size, parts, n);
    for (size_t i = 0; i < n; ++i) {
      std::memcpy(out + 2 * (done + i) * part_size, parts + i * part_size, part_size);
    }
  }
}

void CastComplexToBool(TypeCode part, const void* in, void* out, size_t count) {
  VisitReal(part, [&]<typename Part>(std::type_identity<Part>) {
    if constexpr (std::is_floating_point_v<Part>) {
      auto* parts = static_cast<const Part*>(in);
      auto* to = static_cast<bool*>(out);
      for (size_t i = 0; i < count; ++i) to[i] = parts[2 * i] != 0 || parts[2 * i + 1] != 0;
    }
  });
}

}  // namespace

bool CastItems(TypeCode from, const void* in, TypeCode to, void* out, size_t count) {
  TypeCode from_part = PartOf(from), to_part = PartOf(to);
  CastLoop loop = FindCast(from_part, to_part);
  if (!loop) return false;
  if (count == 0) return true;  // the pointers may be null, which memcpy does not allow
  bool from_complex = from_part != from, to_complex = to_part != to;
  auto* bytes = static_cast<const uint8_t*>(in);
  if (from_complex == to_complex) {
    loop(in, out, from_complex ? 2 * count : count);
  } else if (to_complex) {
    CastToComplex(from, bytes, to_part, static_cast<uint8_t*>(out), count);
  } else if (to == TypeCode::kBool) {
    CastComplexToBool(from_part, in, out, count);
  } else {
    CastRealParts(from_part, bytes, to, static_cast<uint8_t*>(out), count);
  }
  return true;
}

}  // namespace penstock
