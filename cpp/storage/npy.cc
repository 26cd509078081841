// Headers of NumPy's files, and the directory of a zip file.
//
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html;
// https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT.
#include "storage/npy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>

#include "data/checked_sizes.h"
#include "data/error.h"
#include "runtime/memory.h"
#include "storage/crc32c.h"
#include "storage/decompressor.h"

namespace penstock {
namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";
constexpr size_t kMostHeader = size_t{1} << 20;  // NumPy's default limit is 10,000 bytes

template <typename... Args>
[[noreturn]] void ThrowBad(const std::string& name, std::string_view format, const Args&... args) {
  throw Error(ErrorKind::kData, "{}: {}", name, Format(format, args...));
}
template <typename... Args>
[[noreturn]] void ThrowUnfit(const std::string& name, std::string_view format,
                             const Args&... args) {
  throw Error(ErrorKind::kInvalidArgument, "{}: {}", name, Format(format, args...));
}

uint64_t Little(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return value;
}

constexpr uint64_t kMostItems = uint64_t{1} << 62;  // along an axis

// The parsed contents of a header, not yet validated.
struct NpyWords {
  std::optional<std::string> descr;  // empty: a type with fields
  std::optional<bool> fortran;
  std::optional<std::vector<int64_t>> shape;
};

// The literal of a Python dict: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class NpyLiteral {
 public:
  explicit NpyLiteral(std::string_view text) : rest_(text) {}

  std::optional<NpyWords> Read() {
    NpyWords words;
    if (!Take('{')) return std::nullopt;
    while (!Take('}')) {
      const auto key = Text();
      if (!key || !Take(':') || !Value(*key, words)) return std::nullopt;
      if (!Take(',') && !Ahead('}')) return std::nullopt;
    }
    Pass();
    if (!rest_.empty() || !words.descr || !words.fortran || !words.shape) return std::nullopt;
    return words;
  }

 private:
  void Pass() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n')) rest_.remove_prefix(1);
  }
  bool Ahead(char c) {
    Pass();
    return rest_.starts_with(c);
  }
  bool Take(char c) {
    const bool there = Ahead(c);
    if (there) rest_.remove_prefix(1);
    return there;
  }
  bool TakeWord(std::string_view word) {
    Pass();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  std::optional<std::string> Text() {
    for (char quote : {'\'', '"'}) {
      if (!Take(quote)) continue;
      const size_t end = rest_.find(quote);
      if (end == std::string_view::npos) return std::nullopt;
      std::string text(rest_.substr(0, end));
      rest_.remove_prefix(end + 1);
      return text;
    }
    return std::nullopt;
  }

  bool Value(const std::string& key, NpyWords& words) {
    if (key == "descr") {
      words.descr = Ahead('[') ? PassFields() : Text();
      return words.descr.has_value();
    }
    if (key == "fortran_order") {
      const bool yes = TakeWord("True");
      words.fortran = yes;
      return yes || TakeWord("False");
    }
    return key == "shape" && Sizes(words);
  }

  bool Sizes(NpyWords& words) {
    if (!Take('(')) return false;
    std::vector<int64_t> sizes;
    while (!Take(')')) {
      Pass();
      std::optional<uint64_t> size = 0;
      size_t digits = 0;
      for (; !rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9'; ++digits) {
        size = WithDigit(*size, 10, static_cast<uint64_t>(rest_[0] - '0'));
        if (!size || *size > kMostItems) return false;
        rest_.remove_prefix(1);
      }
      if (digits == 0) return false;
      TakeWord("L");  // as Python 2 wrote it
      sizes.push_back(static_cast<int64_t>(*size));
      if (!Take(',') && !Ahead(')')) return false;
    }
    words.shape = std::move(sizes);
    return true;
  }

  // Skips the types of fields, which are nested lists.
  std::optional<std::string> PassFields() {
    int depth = 0;
    for (size_t i = 0; i < rest_.size(); ++i) {
      depth += (rest_[i] == '[') - (rest_[i] == ']');
      if (depth > 0) continue;
      rest_.remove_prefix(i + 1);
      return "";
    }
    return std::nullopt;
  }

  std::string_view rest_;
};

bool IsNpyTimeUnit(std::string_view unit) {
  constexpr std::array<std::string_view, 13> kUnits{"Y",  "M",  "W",  "D",  "h",  "m", "s",
                                                    "ms", "us", "ns", "ps", "fs", "as"};
  size_t digits = 0;
  while (digits < unit.size() && unit[digits] >= '0' && unit[digits] <= '9') ++digits;
  return digits < 6 && std::find(kUnits.begin(), kUnits.end(), unit.substr(digits)) != kUnits.end();
}

// "f4" is a float of four bytes.
std::optional<DType> PlainType(std::string_view word) {
  constexpr std::array kPlain{
      std::pair{"b1", TypeCode::kBool},      std::pair{"i1", TypeCode::kInt8},
      std::pair{"i2", TypeCode::kInt16},     std::pair{"i4", TypeCode::kInt32},
      std::pair{"i8", TypeCode::kInt64},     std::pair{"u1", TypeCode::kUInt8},
      std::pair{"u2", TypeCode::kUInt16},    std::pair{"u4", TypeCode::kUInt32},
      std::pair{"u8", TypeCode::kUInt64},    std::pair{"f2", TypeCode::kFloat16},
      std::pair{"f4", TypeCode::kFloat32},   std::pair{"f8", TypeCode::kFloat64},
      std::pair{"c8", TypeCode::kComplex64}, std::pair{"c16", TypeCode::kComplex128}};
  for (auto& [text, code] : kPlain) {
    if (word == text) return DType::Of(code);
  }
  if (!word.starts_with("M8") && !word.starts_with("m8")) return std::nullopt;
  const TypeCode code = word[0] == 'M' ? TypeCode::kDatetime64 : TypeCode::kTimedelta64;
  std::string_view unit = word.substr(2);
  if (unit.empty()) return DType::OfTime(code, "");
  if (!unit.starts_with('[') || !unit.ends_with(']')) return std::nullopt;
  unit = unit.substr(1, unit.size() - 2);
  return IsNpyTimeUnit(unit) ? std::optional(DType::OfTime(code, unit)) : std::nullopt;
}

// Whether NumPy has this type, in words such as "V3" and "f16": raw bytes and long doubles.
bool IsOtherNumPyType(std::string_view word) {
  if (word == "f12" || word == "f16" || word == "c24" || word == "c32") return true;
  return word.starts_with('V') && word.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

DType TypeOf(const std::string& descr, const std::string& name) {
  if (descr.empty()) {
    ThrowUnfit(name,
               "an array of numbers was expected, got one with fields; save each of its "
               "fields as an array of its own");
  }
  const bool has_order = std::string_view("<>|=").find(descr[0]) != std::string_view::npos;
  const std::string word = descr.substr(has_order ? 1 : 0);
  if (word.starts_with('O')) {
    ThrowUnfit(name,
               "an array of numbers was expected, got one of Python objects, which are not "
               "read because loading them runs code; save numbers");
  }
  if (word.starts_with('U') || word.starts_with('S')) {
    ThrowUnfit(name,
               "an array of numbers was expected, got one of strings ('{}'); give it to "
               "Dataset.from_tensor_slices(np.load(...))",
               descr);
  }
  const std::optional<DType> dtype = PlainType(word);
  if (!dtype && IsOtherNumPyType(word)) {
    ThrowUnfit(name, "an array of numbers was expected, got the type '{}'", descr);
  }
  if (!dtype) ThrowBad(name, "a type of NumPy was expected, got '{}'; the file is damaged", descr);
  constexpr char kOther = std::endian::native == std::endian::little ? '>' : '<';
  if (descr[0] == kOther && dtype->itemsize > 1) {
    ThrowUnfit(name,
               "numbers in the byte order of this machine were expected, got '{}'; save "
               "array.astype(array.dtype.newbyteorder('='))",
               descr);
  }
  return *dtype;
}

// The size of an array in bytes; nullopt if no file can be that large.
std::optional<uint64_t> BytesOf(const std::vector<int64_t>& sizes, size_t itemsize) {
  std::optional<uint64_t> bytes = itemsize;
  for (int64_t size : sizes) {
    if (size == 0) return 0;
  }
  for (int64_t size : sizes) {
    bytes = CheckedMultiply(*bytes, static_cast<uint64_t>(size));
    if (!bytes) break;
  }
  return bytes;
}

// The header of an array, and the offset of its items.
struct NpyHeader {
  std::string text;
  uint64_t end;
};

NpyHeader HeaderOf(const NpyBeginning& beginning, const std::string& name) {
  constexpr size_t kBefore = 8;  // magic and version
  constexpr size_t kMostWidth = 4;
  const std::string first = beginning(kBefore + kMostWidth);
  const std::string_view file = first;
  if (!file.starts_with(kNpyMagic) || file.size() < kBefore) {
    ThrowBad(name, "a file of np.save was expected, got one that does not begin so");
  }
  const int version = static_cast<uint8_t>(file[6]);
  if (version < 1 || version > 3) {
    ThrowBad(name, "version 1, 2 or 3 of NumPy's format was expected, got version {}", version);
  }
  const size_t width = version == 1 ? 2 : kMostWidth;
  if (file.size() >= kBefore + width) {
    const uint64_t length = Little(file.substr(kBefore, width));
    if (length > kMostHeader) ThrowBad(name, "a header of {} bytes is damaged", length);
    const size_t end = kBefore + width + static_cast<size_t>(length);
    std::string all = beginning(end);
    if (all.size() == end) return {all.substr(kBefore + width), end};
  }
  ThrowBad(name, "the file ends within its header; it was not written to its end");
}

// Up to `size` bytes from `begin`; fewer at the end of the file.
std::string BytesAt(InputFile& file, uint64_t begin, size_t size) {
  const int64_t whole = file.size();
  if (whole < 0 || begin > static_cast<uint64_t>(whole)) return "";
  size = static_cast<size_t>(std::min<uint64_t>(size, static_cast<uint64_t>(whole) - begin));
  std::string bytes(size, '\0');
  return ReadFully(file, static_cast<int64_t>(begin), bytes.data(), size) ? bytes : "";
}

}  // namespace

NpyArray ReadNpyHeader(const NpyBeginning& beginning, uint64_t size, const std::string& name) {
  const NpyHeader header = HeaderOf(beginning, name);
  const std::optional<NpyWords> words = NpyLiteral(header.text).Read();
  if (!words) ThrowBad(name, "the header of the array is damaged");
  NpyArray array;
  array.dtype = TypeOf(*words->descr, name);
  const std::vector<int64_t>& sizes = *words->shape;
  if (sizes.empty()) {
    ThrowUnfit(name, "an array with a first axis was expected, got a single number");
  }
  if (sizes.size() > kMaxRank) {
    ThrowUnfit(name, "an array of at most {} axes was expected, got one of {}", kMaxRank,
               sizes.size());
  }
  array.shape = Shape(sizes.data(), sizes.size());
  const auto long_axes =
      std::count_if(sizes.begin(), sizes.end(), [](int64_t length) { return length > 1; });
  array.fortran = *words->fortran && long_axes > 1;
  const std::optional<uint64_t> content = BytesOf(sizes, array.dtype.itemsize);
  if (!content || !LiesWithin(header.end, *content, size)) {
    ThrowBad(name,
             "an array of shape {} and type {} was expected after {} bytes, got only {} "
             "bytes; the file was not written to its end",
             array.shape.ToString(), array.dtype.name(), header.end,
             size - std::min(header.end, size));
  }
  array.begin = header.end;
  return array;
}

NpyArray ReadNpyHeader(InputFile& file, const std::string& name) {
  const auto size = static_cast<uint64_t>(std::max<int64_t>(file.size(), 0));
  return ReadNpyHeader([&](size_t most) { return BytesAt(file, 0, most); }, size, name);
}

namespace {

// Signatures, sizes and offsets of the little-endian structures of a zip file.
constexpr std::string_view kZipEnd = "PK\x05\x06", kZipEnd64 = "PK\x06\x06",
                           kZipLocator64 = "PK\x06\x07", kZipEntry = "PK\x01\x02",
                           kZipLocal = "PK\x03\x04";
constexpr size_t kZipEndBytes = 22, kZipLocatorBytes = 20, kZipEnd64Bytes = 56, kZipEntryBytes = 46,
                 kZipLocalBytes = 30;
constexpr uint64_t kIn64 = 0xFFFFFFFF;  // the number is in the extra field

// Deflate expands a byte to at most 1,032 bytes. Only damaged files contain a larger size.
constexpr uint64_t kMostRatio = 1032;

class ZipDirectory {
 public:
  ZipDirectory(InputFile& file, const std::string& name)
      : file_(file),
        file_size_(static_cast<uint64_t>(std::max<int64_t>(file.size(), 0))),
        name_(name) {}

  std::vector<NpzMember> Read() {
    constexpr uint64_t kMostDirectory = uint64_t{256} << 20;
    FindDirectory();
    if (size_ > kMostDirectory) Damaged();
    const std::string directory = At(begin_, size_);
    std::vector<NpzMember> members;
    for (std::string_view rest = directory; !rest.empty();) members.push_back(Entry(rest));
    RequireApart(members);
    RequireNames(members);
    return members;
  }

 private:
  // The range of the file that belongs to a member.
  struct Extent {
    uint64_t begin, end;
    size_t member;
    std::string name;  // the copy of the name next to the data
  };

  [[noreturn]] void Damaged() const {
    ThrowBad(name_,
             "the directory of the .npz file is damaged; the file was not written to its "
             "end, or is none");
  }
  std::string At(uint64_t begin, uint64_t size) const {
    if (!LiesWithin(begin, size, file_size_)) Damaged();
    std::string bytes = BytesAt(file_, begin, static_cast<size_t>(size));
    if (bytes.size() != size) Damaged();
    return bytes;
  }

  // Finds the directory through the record at the end of the file, which a comment may follow.
  void FindDirectory() {
    constexpr uint64_t kMostComment = 0xFFFF;
    const uint64_t most = kZipLocatorBytes + kZipEndBytes + kMostComment;
    const std::string tail =
        At(file_size_ - std::min(file_size_, most), std::min(file_size_, most));
    const size_t end = tail.rfind(kZipEnd);
    if (end == std::string::npos || tail.size() - end < kZipEndBytes) Damaged();
    const std::string_view record = std::string_view(tail).substr(end, kZipEndBytes);
    size_ = Little(record.substr(12, 4));
    begin_ = Little(record.substr(16, 4));
    if (size_ != kIn64 && begin_ != kIn64) return;
    if (end < kZipLocatorBytes) Damaged();
    const std::string_view locator =
        std::string_view(tail).substr(end - kZipLocatorBytes, kZipLocatorBytes);
    if (!locator.starts_with(kZipLocator64)) Damaged();
    const std::string end64 = At(Little(locator.substr(8, 8)), kZipEnd64Bytes);
    const std::string_view record64 = end64;
    if (!record64.starts_with(kZipEnd64)) Damaged();
    size_ = Little(record64.substr(40, 8));
    begin_ = Little(record64.substr(48, 8));
  }

  NpzMember Entry(std::string_view& rest) {
    if (rest.size() < kZipEntryBytes || !rest.starts_with(kZipEntry)) Damaged();
    const uint64_t flags = Little(rest.substr(8, 2)), method = Little(rest.substr(10, 2));
    uint64_t stored = Little(rest.substr(20, 4)), size = Little(rest.substr(24, 4));
    const size_t name_size = Little(rest.substr(28, 2)), extra_size = Little(rest.substr(30, 2));
    const size_t comment = Little(rest.substr(32, 2));
    uint64_t local = Little(rest.substr(42, 4));
    if (rest.size() - kZipEntryBytes < name_size + extra_size + comment) Damaged();
    NpzMember member;
    member.name = rest.substr(kZipEntryBytes, name_size);
    member.crc = static_cast<uint32_t>(Little(rest.substr(16, 4)));
    Widen(rest.substr(kZipEntryBytes + name_size, extra_size), {&size, &stored, &local});
    rest.remove_prefix(kZipEntryBytes + name_size + extra_size + comment);
    if (flags & 1) ThrowBad(name_, "'{}' is encrypted", member.name);
    if (method != 0 && method != 8) {
      ThrowBad(name_,
               "'{}' is compressed by method {}; np.savez stores, and np.savez_compressed "
               "deflates",
               member.name, method);
    }
    const std::string bytes = At(local, kZipLocalBytes + name_size);
    const std::string_view header = bytes;
    if (!header.starts_with(kZipLocal)) Damaged();
    const uint64_t before =
        kZipLocalBytes + Little(header.substr(26, 2)) + Little(header.substr(28, 2));
    if (!LiesWithin(local, before, file_size_) || !LiesWithin(local + before, stored, file_size_)) {
      Damaged();
    }
    member.deflated = method == 8;
    if (member.deflated ? size / kMostRatio > stored : size != stored) Damaged();
    member.begin = local + before;
    member.stored = stored;
    member.size = size;
    const size_t name_bytes = std::min<size_t>(name_size, Little(header.substr(26, 2)));
    extents_.push_back({local, local + before + stored, extents_.size(),
                        bytes.substr(kZipLocalBytes, name_bytes)});
    return member;
  }

  // Members that share bytes could decompress to many times the size of the file.
  void RequireApart(const std::vector<NpzMember>& members) {
    std::ranges::sort(extents_, {}, &Extent::begin);
    for (size_t i = 1; i < extents_.size(); ++i) {
      if (extents_[i - 1].end <= extents_[i].begin) continue;
      ThrowBad(name_, "the arrays '{}' and '{}' of the .npz file overlap",
               members[extents_[i - 1].member].name, members[extents_[i].member].name);
    }
  }

  // Each name is stored in the directory and next to the data.
  void RequireNames(const std::vector<NpzMember>& members) const {
    for (const Extent& extent : extents_) {
      const std::string& name = members[extent.member].name;
      if (extent.name == name) continue;
      ThrowBad(name_, "the directory of the .npz file names the array '{}', its data '{}'", name,
               extent.name);
    }
  }

  // Numbers that do not fit into four bytes are in an extra field, in this order.
  void Widen(std::string_view extra, std::array<uint64_t*, 3> numbers) const {
    while (extra.size() >= 4) {
      const uint64_t id = Little(extra.substr(0, 2)), size = Little(extra.substr(2, 2));
      if (extra.size() - 4 < size) Damaged();
      std::string_view field = extra.substr(4, static_cast<size_t>(size));
      extra.remove_prefix(4 + static_cast<size_t>(size));
      if (id != 1) continue;
      for (uint64_t* number : numbers) {
        if (*number != kIn64) continue;
        if (field.size() < 8) Damaged();
        *number = Little(field.substr(0, 8));
        field.remove_prefix(8);
      }
    }
  }

  InputFile& file_;
  const uint64_t file_size_;
  const std::string& name_;
  uint64_t begin_ = 0, size_ = 0;
  std::vector<Extent> extents_;
};

constexpr size_t kPiece = size_t{256} << 10;  // bytes per read

std::string ArrayName(const NpzMember& member, const std::string& name) {
  const std::string_view array = member.name;
  constexpr std::string_view kEnding = ".npy";
  return Format("{}: array '{}'", name,
                array.ends_with(kEnding) ? array.substr(0, array.size() - kEnding.size()) : array);
}

// Decompresses a member incrementally.
class MemberStream {
 public:
  MemberStream(InputFile& file, const NpzMember& member)
      : file_(file),
        begin_(member.begin),
        left_(member.stored),
        packed_(Buffer::Allocate(kPiece)) {}

  // Up to `size` bytes; fewer at the end of the data, or where they are damaged.
  size_t Read(uint8_t* to, size_t size) {
    size_t made = 0;
    while (made < size && !ended_) {
      if (next_ == end_) Refill();  // even without more input, the stream may hold output
      const auto progress =
          stream_->Run(packed_->data() + next_, end_ - next_, to + made, size - made);
      next_ += progress.read;
      made += progress.written;
      ended_ = progress.ended;
      if (!progress.problem.empty() || (progress.read == 0 && progress.written == 0)) break;
    }
    return made;
  }
  // Whether the data ends here.
  bool AtEnd() {
    uint8_t more;
    return Read(&more, 1) == 0 && ended_;
  }

 private:
  void Refill() {
    const auto size = static_cast<size_t>(std::min<uint64_t>(left_, kPiece));
    if (!ReadFully(file_, static_cast<int64_t>(begin_), packed_->data(), size)) return;
    begin_ += size;
    left_ -= size;
    next_ = 0;
    end_ = size;
  }

  InputFile& file_;
  uint64_t begin_, left_;
  const BufferRef packed_;
  size_t next_ = 0, end_ = 0;
  bool ended_ = false;
  const std::unique_ptr<Decompressor> stream_ = NewInflater();
};

}  // namespace

std::vector<NpzMember> ReadNpzDirectory(InputFile& file, const std::string& name) {
  return ZipDirectory(file, name).Read();
}

const NpzMember* FindNpzMember(const std::vector<NpzMember>& members, std::string_view name) {
  for (const std::string& wanted : {std::string(name), std::string(name) + ".npy"}) {
    for (size_t i = members.size(); i-- > 0;) {
      if (members[i].name == wanted) return &members[i];
    }
  }
  return nullptr;
}

NpyArray ReadNpzHeader(InputFile& file, const NpzMember& member, const std::string& name) {
  const NpyBeginning beginning = [&](size_t most) {
    most = static_cast<size_t>(std::min<uint64_t>(most, member.size));
    if (!member.deflated) return BytesAt(file, member.begin, most);
    std::string bytes(most, '\0');
    bytes.resize(MemberStream(file, member).Read(reinterpret_cast<uint8_t*>(bytes.data()), most));
    return bytes;
  };
  NpyArray array = ReadNpyHeader(beginning, member.size, ArrayName(member, name));
  if (!member.deflated) array.begin += member.begin;
  return array;
}

void CheckNpzMember(InputFile& file, const NpzMember& member, const std::string& name) {
  const BufferRef piece = Buffer::Allocate(kPiece);
  uint32_t crc = 0;
  for (uint64_t done = 0; done < member.stored;) {
    const auto size = static_cast<size_t>(std::min<uint64_t>(member.stored - done, kPiece));
    if (!ReadFully(file, static_cast<int64_t>(member.begin + done), piece->data(), size)) {
      ThrowBad(ArrayName(member, name), "the file ends within the array");
    }
    crc = Crc32(piece->data(), size, crc);
    done += size;
  }
  if (crc != member.crc) ThrowBad(ArrayName(member, name), "the checksum of the array is wrong");
}

BufferRef InflateNpzMember(InputFile& file, const NpzMember& member, const std::string& name) {
  const int64_t available = AvailableMemory();
  if (available > 0 && member.size > static_cast<uint64_t>(available)) {
    throw Error(ErrorKind::kMemory,
                "{}: it takes {} bytes when it is decompressed, and {} bytes of memory are "
                "available; save it with np.savez, which does not compress",
                ArrayName(member, name), member.size, available);
  }
  const auto size = static_cast<size_t>(member.size);
  BufferRef made = Buffer::Allocate(size);
  MemberStream stream(file, member);
  if (stream.Read(made->data(), size) != size || !stream.AtEnd() ||
      Crc32(made->data(), size) != member.crc) {
    ThrowBad(ArrayName(member, name), "the compressed data is damaged");
  }
  return made;
}

}  // namespace penstock
