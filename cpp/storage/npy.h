// NumPy's files: the header of an array, and the arrays of a .npz file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/buffer.h"
#include "data/dtype.h"
#include "data/tensor.h"

namespace penstock {

// An array in memory that `bytes` own: its items lie one after the other from `begin` on, in C
// order.
struct NpyArray {
  DType dtype;
  Shape shape;
  BufferRef bytes;
  size_t begin = 0;
};

// The array that the bytes [begin, begin + size) of `bytes` are the file of. A DataError whose
// message begins with `name` for what is no such file, or is cut off; a ValueError for arrays that
// have no rows of plain numbers one after the other.
NpyArray ReadNpy(const BufferRef& bytes, size_t begin, size_t size, const std::string& name);

// A file within a .npz file.
struct NpzMember {
  std::string name;  // without ".npy"
  bool deflated = false;
  uint32_t crc = 0;
  size_t begin = 0, stored = 0;  // of its bytes in the file
  size_t size = 0;               // when they are decompressed
};

// What the directory of a zip file lists. Throws as above.
std::vector<NpzMember> ReadNpzDirectory(const BufferRef& bytes, const std::string& name);
// One of them; memory of its own when it is compressed.
NpyArray ReadNpzMember(const BufferRef& bytes, const NpzMember& member, const std::string& name);

}  // namespace penstock
