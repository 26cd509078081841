// Headers of ustar, pax and GNU tar, and the grouping of members.
//
// https://pubs.opengroup.org/onlinepubs/9699919799/utilities/pax.html. Where archives are
// ambiguous, Python's tarfile is the reference.
#include "storage/tar.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "data/checked_sizes.h"
#include "data/error.h"

namespace penstock {
namespace {

constexpr size_t kTarBlock = 512;
// Positions are sums of a few sizes of at most this, so they cannot overflow.
constexpr size_t kMostContents = std::numeric_limits<int64_t>::max() / 4;
// The limit for the headers of one member (name, attributes, sparse map). Longer ones are damaged.
constexpr size_t kMostExtension = size_t{16} << 20;

struct TarField {
  size_t begin, size;
};
constexpr TarField kTarName{0, 100}, kTarSize{124, 12}, kTarSum{148, 8}, kTarMagic{257, 8},
    kTarPrefix{345, 155};
constexpr size_t kTarType = 156;

std::string_view Field(const uint8_t* header, TarField field) {
  return {reinterpret_cast<const char*>(header) + field.begin, field.size};
}
std::string_view UpToNull(std::string_view text) { return text.substr(0, text.find('\0')); }

// Octal digits between spaces and nulls; or a binary number after a byte with its highest bit set.
std::optional<uint64_t> TarNumber(std::string_view field) {
  std::optional<uint64_t> value = 0;
  const auto first = static_cast<uint8_t>(field[0]);
  if (first == 0x80) {
    for (char c : field.substr(1)) {
      value = WithDigit(*value, 256, static_cast<uint8_t>(c));
      if (!value) break;
    }
    return value;
  }
  field = UpToNull(field);
  while (!field.empty() && field.front() == ' ') field.remove_prefix(1);
  while (!field.empty() && field.back() == ' ') field.remove_suffix(1);
  for (char c : field) {
    if (c < '0' || c > '7') return std::nullopt;
    value = WithDigit(*value, 8, static_cast<uint64_t>(c - '0'));
    if (!value) break;
  }
  return value;
}

// Checks the sum of a header's bytes, in which the sum field counts as spaces. Some old archives
// sum signed bytes.
bool HasSum(const uint8_t* header) {
  const std::optional<uint64_t> wanted = TarNumber(Field(header, kTarSum));
  if (!wanted) return false;
  uint32_t sum = 0, high = 0;
  for (size_t i = 0; i < kTarBlock; ++i) {
    sum += header[i];
    high += header[i] >> 7;
  }
  for (size_t i = 0; i < kTarSum.size; ++i) {
    sum += ' ' - header[kTarSum.begin + i];
    high -= header[kTarSum.begin + i] >> 7;
  }
  return *wanted == sum || static_cast<int64_t>(*wanted) == int64_t{sum} - 256 * int64_t{high};
}

bool IsZero(const uint8_t* block) {
  return std::all_of(block, block + kTarBlock, [](uint8_t byte) { return byte == 0; });
}

size_t InBlocks(size_t size) { return (size + kTarBlock - 1) / kTarBlock * kTarBlock; }

// Values from headers that precede a member.
struct TarExtensions {
  std::optional<std::string> name = std::nullopt;
  std::optional<uint64_t> size = std::nullopt;
  bool sparse = false;

  bool any() const { return name || size || sparse; }
};

constexpr const char* kBadPax = "a pax header is damaged";

// Parses the value of a pax record "size"; returns a problem if no file can be that large.
std::optional<std::string> ReadPaxSize(std::string_view text, TarExtensions& to) {
  std::optional<uint64_t> size = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return kBadPax;
    if (size) size = WithDigit(*size, 10, static_cast<uint64_t>(c - '0'));
  }
  if (!size || *size > kMostContents) {
    return Format("a pax header has an impossible size of {} bytes", text.substr(0, 32));
  }
  to.size = size;
  return std::nullopt;
}

// Parses records such as "27 path=a/long/name.jpg\n", whose number is the size of the whole record.
// Returns the problem if they are damaged.
std::optional<std::string> ReadPax(std::string_view content, TarExtensions& to) {
  while (!content.empty() && content[0] != '\0') {
    size_t length = 0, digits = 0;
    while (digits < content.size() && content[digits] >= '0' && content[digits] <= '9') {
      length = 10 * length + static_cast<size_t>(content[digits++] - '0');
      if (length > content.size()) return kBadPax;
    }
    if (digits == 0 || length < digits + 3 || content[digits] != ' ' ||
        content[length - 1] != '\n') {
      return kBadPax;
    }
    const std::string_view record = content.substr(digits + 1, length - digits - 2);
    const size_t equals = record.find('=');
    if (equals == std::string_view::npos) return kBadPax;
    const std::string_view key = record.substr(0, equals), value = record.substr(equals + 1);
    if (key == "path") {
      to.name = value;
    } else if (key == "size") {
      if (auto problem = ReadPaxSize(value, to)) return problem;
    } else if (key.starts_with("GNU.sparse.")) {
      to.sparse = true;
    }
    content.remove_prefix(length);
  }
  return std::nullopt;
}

std::string OwnName(const uint8_t* header) {
  std::string name(UpToNull(Field(header, kTarName)));
  // GNU tar stores other data where ustar has the beginning of the name.
  if (Field(header, kTarMagic).starts_with(std::string_view("ustar\0", 6))) {
    const std::string_view prefix = UpToNull(Field(header, kTarPrefix));
    if (!prefix.empty()) name.insert(0, std::string(prefix) + "/");
  }
  return name;
}

// Whether contents follow a header of this type, with the size that it states. Links, devices and
// folders have none.
bool HasContents(char type) { return type < '1' || type > '6'; }
bool IsFile(char type) { return type == '0' || type == '\0' || type == '7' || type == 'S'; }

TarStep Damaged(std::string problem) {
  return {.kind = TarStep::kDamaged, .problem = std::move(problem)};
}

// Reads consecutive headers up to the header of the member itself.
class TarHeaders {
 public:
  TarHeaders(const ByteWindow& window, size_t at) : window_(window), begin_(at), at_(at) {}

  TarStep Read() {
    for (;;) {
      if (window_.size - at_ < kTarBlock) return Missing();
      const uint8_t* header = window_.data + at_;
      if (IsZero(header)) {
        return extensions_.any() ? Damaged("the archive ends after the header of a name")
                                 : TarStep{.kind = TarStep::kEnd, .end = at_};
      }
      const std::optional<uint64_t> size = TarNumber(Field(header, kTarSize));
      if (!HasSum(header) || !size || *size > kMostContents) return NoHeader();
      const char type = static_cast<char>(header[kTarType]);
      if (type != 'x' && type != 'g' && type != 'L' && type != 'K') {
        return Member(header, type, static_cast<size_t>(*size));
      }
      if (*size > kMostExtension || at_ - begin_ > kMostExtension) {
        return Damaged(Format("headers of {} bytes for names are damaged", at_ - begin_ + *size));
      }
      const size_t begin = at_ + kTarBlock;
      const size_t next = begin + InBlocks(static_cast<size_t>(*size));
      if (window_.size < next) return NeedsAll(next);
      if (auto problem = Extend(type, {reinterpret_cast<const char*>(window_.data) + begin,
                                       static_cast<size_t>(*size)})) {
        return Damaged(std::move(*problem));
      }
      at_ = next;
    }
  }

 private:
  TarStep Missing() const {
    if (!window_.ended) return {.kind = TarStep::kMore, .need = at_ + kTarBlock};
    if (window_.size == at_ && !extensions_.any()) {
      // Some writers omit the zeros, and all readers accept such archives.
      return {.kind = TarStep::kEnd,
              .end = at_,
              .problem =
                  "it ends without the zeros that complete a tar archive, so samples may be "
                  "missing: it was cut off between two members, or its writer was not "
                  "closed"};
    }
    return Damaged(
        Format("the file ends {} bytes into the header of a member; it was not written "
               "to its end",
               window_.size - at_));
  }
  TarStep NeedsAll(size_t need) const {
    if (!window_.ended) return {.kind = TarStep::kMore, .need = need};
    return Damaged("the file ends within the header of a name; it was not written to its end");
  }
  TarStep NoHeader() const {
    if (window_.offset == 0 && at_ == 0) {
      return Damaged("a tar archive was expected, and the first 512 bytes are no header of one");
    }
    return Damaged(
        "the header of a member is damaged, so what follows in this archive cannot be found");
  }

  std::optional<std::string> Extend(char type, std::string_view content) {
    if (type == 'L') {
      extensions_.name = UpToNull(content);
    } else if (type == 'x') {
      return ReadPax(content, extensions_);
    } else if (type == 'g') {
      TarExtensions all;
      if (auto problem = ReadPax(content, all)) return problem;
      if (all.any()) return "a pax header gives one name or size to all members after it";
    }
    return std::nullopt;
  }

  TarStep Member(const uint8_t* header, char type, size_t size) {
    TarStep step{.kind = TarStep::kMember};
    TarMember& member = step.member;
    member.name = extensions_.name ? std::move(*extensions_.name) : OwnName(header);
    member.sparse = extensions_.sparse || type == 'S';
    // Older archives mark a folder by its name.
    const bool folder = type == '\0' && member.name.ends_with('/');
    member.file = IsFile(type) && !folder;
    member.begin = at_ + kTarBlock;
    if (type == 'S') {
      if (auto problem = PassSparseMap(header, member.begin)) return std::move(*problem);
    }
    if (HasContents(type) && !folder) {
      member.size = extensions_.size ? static_cast<size_t>(*extensions_.size) : size;
    }
    member.next = member.begin + InBlocks(member.size);
    return step;
  }

  // In GNU's old format, further blocks of the map lie between header and contents, as long as a
  // byte of the previous block is set.
  std::optional<TarStep> PassSparseMap(const uint8_t* header, size_t& begin) const {
    constexpr size_t kInHeader = 482, kInBlock = 504;
    for (bool more = header[kInHeader] != 0; more;) {
      if (begin - begin_ > kMostExtension) return Damaged("the map of a sparse file is damaged");
      if (window_.size < begin + kTarBlock) return NeedsAll(begin + kTarBlock);
      more = window_.data[begin + kInBlock] != 0;
      begin += kTarBlock;
    }
    return std::nullopt;
  }

  const ByteWindow& window_;
  const size_t begin_;
  size_t at_;
  TarExtensions extensions_;
};

// Names that WebDataset reserves: "__info__", "__meta__/...".
bool IsReserved(std::string_view name) {
  const std::string_view first = name.substr(0, name.find('/'));
  return first.size() >= 4 && first.starts_with("__") && first.ends_with("__");
}

Found Sample(size_t begin, size_t end) {
  return {
      .kind = Found::kRecord, .begin = begin, .size = end - begin, .next = end, .header = begin};
}

std::string Within(const std::string& key, std::string_view problem) {
  return key.empty() ? std::string(problem) : Format("sample '{}': {}", key, problem);
}

}  // namespace

TarStep ReadTarMember(const ByteWindow& window, size_t at) { return TarHeaders(window, at).Read(); }

TarName SplitTarName(std::string_view name) {
  if (IsReserved(name)) return {};
  const size_t slash = name.rfind('/');
  const size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  const size_t dot = name.find('.', base);
  // A hidden file has an empty key, which no sample has.
  if (dot == std::string_view::npos || dot == base) return {};
  return {true, name.substr(0, dot), name.substr(dot + 1)};
}

// The first block from `at` on with bytes other than zero; the end of the last whole block of the
// window if there is none.
size_t TarSampleReader::AfterZeros(const ByteWindow& window, size_t at) {
  while (window.size - at >= kTarBlock && IsZero(window.data + at)) at += kTarBlock;
  return at;
}

// No sample has begun, and the zeros at the end of an archive are at `at`. Another archive may
// follow if files were concatenated. The last block of zeros stays in the window, so that a saved
// position shows where the next archive begins. Returns nullopt if only that block is left before a
// header.
std::optional<Found> TarSampleReader::FindNext(const ByteWindow& window, size_t at) {
  const size_t next = AfterZeros(window, at);
  const uint8_t* rest = window.data + next;
  const size_t left = window.size - next;
  const bool header = left >= kTarBlock && HasSum(rest);
  if (header || (left < kTarBlock && !window.ended)) {
    const size_t skipped = next - kTarBlock;
    if (skipped > 0) return Found{.kind = Found::kSkip, .next = skipped};
    if (header) return std::nullopt;
    return Found{.kind = Found::kMore, .need = next + kTarBlock};
  }
  if (left >= kTarBlock && Field(rest, kTarMagic).starts_with("ustar")) {
    return Found{.kind = Found::kLost,
                 .problem =
                     "another archive follows the end of the first one, and its header is "
                     "damaged, so its samples cannot be read"};
  }
  if (std::any_of(rest, rest + left, [](uint8_t byte) { return byte != 0; })) {
    doubt_ = Format(
        "bytes that are not a tar archive follow its end, at byte {}, and are not read; it may be "
        "damaged, or joined with another file",
        window.offset + static_cast<int64_t>(next));
  }
  return Found{.kind = Found::kEnd};
}

Found TarSampleReader::Find(const ByteWindow& window) {
  if (window.size == 0 && window.ended && window.offset == 0) {
    return {.kind = Found::kLost, .problem = "a tar archive was expected, got an empty file"};
  }
  std::string key;
  bool begun = false;
  size_t begin = 0;
  size_t at = 0;
  // After the end of an archive, of which only the last block is left.
  if (window.size >= kTarBlock && IsZero(window.data)) {
    if (auto found = FindNext(window, 0)) return *std::move(found);
    at = kTarBlock;
  }
  for (;;) {
    TarStep step = ReadTarMember(window, at);
    if (step.kind == TarStep::kMore) {
      return {.kind = Found::kMore, .size = at - begin, .need = step.need};
    }
    if (step.kind == TarStep::kDamaged) {
      return {.kind = Found::kLost, .problem = Within(key, step.problem)};
    }
    if (step.kind == TarStep::kEnd) {
      const bool zeros = step.end < window.size;
      if (!zeros && at > 0) doubt_ = std::move(step.problem);
      if (begun) return Sample(begin, at);
      // Headers without a member may precede the zeros.
      if (zeros) return FindNext(window, step.end).value();
      return {.kind = Found::kEnd};
    }
    const TarMember& member = step.member;
    const TarName name = member.file ? SplitTarName(member.name) : TarName{};
    if (name.named) {
      if (begun && name.key != key) return Sample(begin, at);
      if (!begun) {
        begun = true;
        begin = at;
        key = name.key;
      }
    }
    if (member.next > window.size) {
      if (!window.ended) {
        return {
            .kind = Found::kMore, .size = member.next - begin, .need = member.next, .exact = true};
      }
      return {.kind = Found::kLost,
              .problem = Within(key, Format("the file ends within the member '{}' of {} bytes; it "
                                            "was not written to its end",
                                            member.name, member.size))};
    }
    at = member.next;
  }
}

}  // namespace penstock
