// NumPy files: the header of an array, and the arrays of a .npz file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "data/buffer.h"
#include "data/dtype.h"
#include "data/tensor.h"
#include "storage/file.h"

namespace penstock {

// An array in a file, whose items begin at byte `begin`.
struct NpyArray {
  DType dtype;
  Shape shape;
  uint64_t begin = 0;
  bool fortran = false;  // the first axis varies fastest, so that rows are not contiguous
};

// Returns the first bytes of an array's file: the requested number, or all if there are fewer.
using NpyBeginning = std::function<std::string(size_t)>;

// The array of a file of `size` bytes. Throws a DataError whose message begins with `name` for
// other formats and truncated files; a ValueError for arrays without rows of plain numbers.
NpyArray ReadNpyHeader(const NpyBeginning& beginning, uint64_t size, const std::string& name);
// For a .npy file.
NpyArray ReadNpyHeader(InputFile& file, const std::string& name);

// A file within a .npz file.
struct NpzMember {
  std::string name;
  bool deflated = false;
  uint32_t crc = 0;
  uint64_t begin = 0, stored = 0;  // range of its bytes in the file
  uint64_t size = 0;               // decompressed
};

// The directory of a zip file. All members are inside the file and do not overlap. Throws as above.
std::vector<NpzMember> ReadNpzDirectory(InputFile& file, const std::string& name);
// The member that NumPy reads for this array name: the last one in the directory. Null if there is
// no such member.
const NpzMember* FindNpzMember(const std::vector<NpzMember>& members, std::string_view name);

// The array of a member. `begin` is an offset in the file, or in the decompressed member.
NpyArray ReadNpzHeader(InputFile& file, const NpzMember& member, const std::string& name);
// Throws a DataError if the checksum of a stored member is wrong.
void CheckNpzMember(InputFile& file, const NpzMember& member, const std::string& name);
// The decompressed bytes of a member. Throws a DataError if they are damaged, and a MemoryError if
// they exceed the available memory.
BufferRef InflateNpzMember(InputFile& file, const NpzMember& member, const std::string& name);

}  // namespace penstock
