// Names of compression formats, and the first bytes of compressed files.
#include "storage/compression.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "data/error.h"
#include "storage/chunk/chunk_codec.h"
#include "storage/decompressor.h"

namespace penstock {
namespace {

using namespace std::string_view_literals;

struct Magic {
  std::string_view name;
  std::string_view bytes;
  bool readable;
};

// https://www.rfc-editor.org/rfc/rfc1952, rfc8878; https://tukaani.org/xz/xz-file-format.txt. In a
// bzip2 file, the block size is followed by the first block or the end marker.
constexpr std::array kCompressionMagics{
    Magic{"GZIP", "\x1f\x8b\x08"sv, true},
    Magic{"ZSTD", "\x28\xb5\x2f\xfd"sv, true},
    Magic{"xz",
          "\xfd"
          "7zXZ\0"sv,
          false},
    Magic{"LZ4", "\x04\x22\x4d\x18"sv, false},
};
constexpr std::string_view kBzip2 = "BZh"sv;
constexpr std::array kBzip2Blocks{"1AY&SY"sv, "\x17rE8P\x90"sv};
constexpr std::string_view kSkippable = "\x2a\x4d\x18"sv;  // after 0x50 to 0x5f: a zstd frame

struct Suffix {
  std::string_view name, end;
};
constexpr std::array kSuffixes{
    Suffix{"GZIP", ".gz"},   Suffix{"GZIP", ".gzip"}, Suffix{"GZIP", ".tgz"},
    Suffix{"ZLIB", ".zz"},   Suffix{"ZLIB", ".zlib"}, Suffix{"ZSTD", ".zst"},
    Suffix{"ZSTD", ".zstd"}, Suffix{"ZSTD", ".tzst"}, Suffix{"xz", ".xz"},
    Suffix{"LZ4", ".lz4"},   Suffix{"bzip2", ".bz2"}};

// Whether `data` begins with `magic`. If more bytes could complete the magic, updates `need`.
bool Begins(std::string_view data, std::string_view magic, size_t* need, size_t before = 0) {
  if (data.substr(0, magic.size()) == magic) return true;
  if (magic.substr(0, data.size()) == data) *need = std::max(*need, before + magic.size());
  return false;
}

bool BeginsAsBzip2(std::string_view data, size_t* need) {
  if (!Begins(data, kBzip2, need)) return false;
  const size_t head = kBzip2.size() + 1;
  if (data.size() < head) *need = std::max(*need, head);
  if (data.size() < head || data[head - 1] < '1' || data[head - 1] > '9') return false;
  return std::any_of(kBzip2Blocks.begin(), kBzip2Blocks.end(), [&](std::string_view block) {
    return Begins(data.substr(head), block, need, head);
  });
}

bool BeginsSkippable(std::string_view data, size_t* need) {
  if (data.empty() || (static_cast<uint8_t>(data[0]) & 0xf0) != 0x50) return false;
  return Begins(data.substr(1), kSkippable, need, 1);
}

bool BeginsAsZlib(std::string_view data) {
  return data.size() >= 2 && data[0] == 0x78 &&
         (data[0] * 256 + static_cast<uint8_t>(data[1])) % 31 == 0;
}

[[noreturn]] void ThrowMissing(std::string_view name, std::string_view library,
                               std::string_view owner) {
  throw Error(ErrorKind::kInvalidArgument,
              "{}: compression_type \"{}\" needs {}, and penstock was built without it; "
              "`python -m penstock doctor` says how to get it",
              owner, name, library);
}

}  // namespace

std::string_view NameOf(Compression compression) {
  switch (compression) {
    case Compression::kGzip:
      return "GZIP";
    case Compression::kZlib:
      return "ZLIB";
    case Compression::kZstd:
      return "ZSTD";
    case Compression::kNone:
      break;
  }
  return "";
}

Compression CompressionOf(std::string_view name, std::string_view owner) {
  for (Compression each :
       {Compression::kNone, Compression::kGzip, Compression::kZlib, Compression::kZstd}) {
    if (name != NameOf(each)) continue;
    if (each == Compression::kZstd) {
      if (ZstdVersion().empty()) ThrowMissing(name, "zstd", owner);
    } else if (each != Compression::kNone && ZlibVersion().empty()) {
      ThrowMissing(name, "zlib", owner);
    }
    return each;
  }
  throw Error(ErrorKind::kInvalidArgument,
              "{}: compression_type must be None, \"\", \"GZIP\", \"ZLIB\" or \"ZSTD\", got "
              "\"{}\"",
              owner, name);
}

CompressionSeen LookAt(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  size_t need = 0;
  for (const Magic& magic : kCompressionMagics) {
    if (Begins(bytes, magic.bytes, &need)) return {magic.name, magic.readable, true};
  }
  if (BeginsSkippable(bytes, &need)) return {"ZSTD", true, true};
  if (BeginsAsBzip2(bytes, &need)) return {"bzip2", false, true};
  // Only two bytes, which a text may also begin with.
  if (BeginsAsZlib(bytes)) return {"ZLIB", true, false};
  return {"", false, false, need};
}

std::string CompressionSeen::Advice() const {
  if (readable) return Format("it begins as {} does: try compression_type=\"{}\"", name, name);
  return Format(
      "it begins as {} does, and what can be read is GZIP, ZLIB and ZSTD: decompress it first",
      name);
}

bool IsNamedSo(std::string_view path, const CompressionSeen& seen) {
  return std::any_of(kSuffixes.begin(), kSuffixes.end(), [&](const Suffix& suffix) {
    return suffix.name == seen.name && path.ends_with(suffix.end);
  });
}

Compression CompressionByName(std::string_view path) {
  for (Compression each : {Compression::kGzip, Compression::kZlib, Compression::kZstd}) {
    if (IsNamedSo(path, {NameOf(each)})) return each;
  }
  return Compression::kNone;
}

}  // namespace penstock
