// NumPy files: headers of arrays, and directories of zip files.
#include "storage/npy.h"

#include <cstring>

#include "data/checked_sizes.h"
#include "data/error.h"
#include "fuzz.h"

#if defined(PENSTOCK_HAS_ZLIB)
#include <zlib.h>
#endif

namespace penstock::fuzz {
namespace {

std::string Npy(const std::string& words, const std::string& items, int version = 1) {
  std::string file = "\x93NUMPY";
  file += static_cast<char>(version);
  file += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) {
    file += static_cast<char>(words.size() >> (8 * i));
  }
  return file + words + items;
}

const std::string kBytes =
    Npy("{'descr': '|u1', 'fortran_order': False, 'shape': (3, 2), }  \n", "abcdef");

void Put(uint64_t value, size_t size, std::string& to) {
  for (size_t i = 0; i < size; ++i) to += static_cast<char>(value >> (8 * i));
}

// What a zip file says about a member, in its local header or, for `entry`, in its directory.
void PutZipHeader(const std::string& name, const std::string& stored, const std::string& content,
                  bool deflated, bool entry, size_t local, std::string& to) {
  to += entry ? std::string("PK\x01\x02\x14\0", 6) : "PK\x03\x04";
  Put(20, 2, to);
  Put(0, 2, to);
  Put(deflated ? 8 : 0, 2, to);
  Put(0, 4, to);
#if defined(PENSTOCK_HAS_ZLIB)
  Put(crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size())),
      4, to);
#else
  Put(0, 4, to);
#endif
  Put(stored.size(), 4, to);
  Put(content.size(), 4, to);
  Put(name.size(), 2, to);
  Put(0, 2, to);
  if (entry) {
    Put(0, 8, to);
    Put(0, 2, to);
    Put(local, 4, to);
  }
  to += name;
}

std::string Zip(const std::vector<std::pair<std::string, bool>>& members) {
  std::string file, directory;
  for (const auto& [name, deflated] : members) {
    std::string stored = kBytes;
#if defined(PENSTOCK_HAS_ZLIB)
    if (deflated) {
      z_stream stream{};
      deflateInit2(&stream, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY);
      stored.assign(kBytes.size() + 100, '\0');
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(kBytes.data()));
      stream.avail_in = static_cast<uInt>(kBytes.size());
      stream.next_out = reinterpret_cast<Bytef*>(stored.data());
      stream.avail_out = static_cast<uInt>(stored.size());
      deflate(&stream, Z_FINISH);
      stored.resize(stream.total_out);
      deflateEnd(&stream);
    }
#endif
    PutZipHeader(name, stored, kBytes, deflated, true, file.size(), directory);
    PutZipHeader(name, stored, kBytes, deflated, false, 0, file);
    file += stored;
  }
  const size_t begin = file.size();
  file += directory + "PK\x05\x06";
  Put(0, 4, file);
  Put(members.size(), 2, file);
  Put(members.size(), 2, file);
  Put(directory.size(), 4, file);
  Put(begin, 4, file);
  Put(0, 2, file);
  return file;
}

BufferRef Exactly(const std::string& input) {
  BufferRef bytes = Buffer::Allocate(input.size());
  if (!input.empty()) std::memcpy(bytes->data(), input.data(), input.size());
  return bytes;
}

// Whatever the header says, the items must lie within the array's file.
void Touch(const NpyArray& array, uint64_t whole) {
  const auto size =
      static_cast<uint64_t>(array.shape.elements()) * static_cast<uint64_t>(array.dtype.itemsize);
  Require(LiesWithin(array.begin, size, whole), "an array lies within its file");
  Require(array.shape.rank() > 0 && !array.dtype.is_reference(), "an array has rows of numbers");
}

std::vector<std::string> NpyFiles(const std::string&) {
  return {
      kBytes,
      Npy("{\"shape\":(2L,),'fortran_order':True,'descr':'<M8[25s]'}", std::string(16, '\1'), 2),
      Npy("{'descr': '<c16', 'fortran_order': False, 'shape': (0, 7), }\n", "", 3)};
}

void RunNpy(const std::string& input, Random&) {
  const auto file = MemoryFile(Exactly(input), input.size());
  Touch(ReadNpyHeader(*file, "fuzz"), input.size());
}

std::vector<std::string> NpzFiles(const std::string&) {
  std::vector<std::string> files{Zip({{"x.npy", false}, {"y.npy", false}})};
#if defined(PENSTOCK_HAS_ZLIB)
  files.push_back(Zip({{"x.npy", true}, {"z", false}}));
#endif
  return files;
}

void RunNpz(const std::string& input, Random&) {
  const auto file = MemoryFile(Exactly(input), input.size());
  uint64_t stored = 0;
  for (const NpzMember& member : ReadNpzDirectory(*file, "fuzz")) {
    stored += member.stored;
    Touch(ReadNpzHeader(*file, member, "fuzz"), member.deflated ? member.size : input.size());
    if (!member.deflated) {
      CheckNpzMember(*file, member, "fuzz");
      continue;
    }
    Require(InflateNpzMember(*file, member, "fuzz")->size() >= member.size, "a member is whole");
  }
  Require(stored <= input.size(), "members do not overlap");
}

const RegisterTarget npy({"npy", NpyFiles, RunNpy});
const RegisterTarget npz({"npz", NpzFiles, RunNpz});

}  // namespace
}  // namespace penstock::fuzz
