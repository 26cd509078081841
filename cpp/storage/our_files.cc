// The patterns of our names, and the magic bytes of our files.
#include "storage/our_files.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

namespace penstock {
namespace {

constexpr std::string_view kShardBegin = "shard-";
constexpr std::string_view kShardEnd = ".rows";

// Removes the leading digits, as `is_digit` defines them, from `text`; false if there are none, or
// more than `most`.
template <typename IsDigit>
bool TakeDigits(std::string_view& text, size_t most, IsDigit is_digit) {
  size_t size = 0;
  while (size < text.size() && is_digit(text[size])) ++size;
  text.remove_prefix(size);
  return size > 0 && size <= most;
}

bool TakeChar(std::string_view& text, char expected) {
  if (text.empty() || text.front() != expected) return false;
  text.remove_prefix(1);
  return true;
}

bool IsDecimal(char c) { return c >= '0' && c <= '9'; }
bool IsHex(char c) { return IsDecimal(c) || (c >= 'a' && c <= 'f'); }

}  // namespace

std::string ShardName(int64_t number) {
  char name[48];
  std::snprintf(name, sizeof(name), "shard-%05lld.rows", static_cast<long long>(number));
  return name;
}

bool IsNameInOurFolder(std::string_view name) {
  if (name == kManifestName) return true;
  if (!name.starts_with(kShardBegin) || !name.ends_with(kShardEnd)) return false;
  name.remove_prefix(kShardBegin.size());
  return TakeDigits(name, 5, IsDecimal) && name == kShardEnd;
}

bool IsTemporaryName(std::string_view name, std::string_view target, bool* aside) {
  if (!name.starts_with(target)) return false;
  name.remove_prefix(target.size());
  if (!name.starts_with(kTemporaryMark)) return false;
  name.remove_prefix(std::string_view(kTemporaryMark).size());
  bool numbered = TakeDigits(name, 10, IsDecimal) && TakeChar(name, '-') &&
                  TakeDigits(name, 20, IsHex) && TakeChar(name, '-') && TakeDigits(name, 20, IsHex);
  *aside = name == kAsideMark;
  return numbered && (name.empty() || *aside);
}

bool IsOurContent(std::string_view begin, std::string_view end) {
  size_t size = std::min(begin.size(), kChunkMagic.size());
  return begin.substr(0, size) == kChunkMagic.substr(0, size) || end == kChunkEndMagic;
}

}  // namespace penstock
