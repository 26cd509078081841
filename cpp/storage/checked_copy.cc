// Blocks of copies and their checksums.
#include "storage/checked_copy.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "data/error.h"
#include "storage/crc32c.h"

namespace penstock {
namespace {

// A checksum file: this line, the size of the copy, its checksums, and a checksum of these.
constexpr std::string_view kSumsMagic = "penstock sums 1\n";
constexpr int64_t kLargestCopy = int64_t{1} << 50;

size_t BlocksOf(int64_t total) {
  return (static_cast<size_t>(total) + CopySums::kBlock - 1) / CopySums::kBlock;
}

template <class Number>
void AppendNumber(std::string& text, Number number) {
  for (size_t i = 0; i < sizeof(number); ++i) {
    text += static_cast<char>(number >> 8 * i & 0xFF);
  }
}

template <class Number>
Number NumberAt(std::string_view text, size_t at) {
  Number number = 0;
  for (size_t i = 0; i < sizeof(number); ++i) {
    number |= static_cast<Number>(static_cast<uint8_t>(text[at + i])) << 8 * i;
  }
  return number;
}

size_t ReadAll(InputFile& file, int64_t offset, uint8_t* data, size_t size) {
  size_t done = 0;
  while (done < size) {
    const size_t got = file.Read(offset + static_cast<int64_t>(done), data + done, size - done);
    if (got == 0) break;
    done += got;
  }
  return done;
}

}  // namespace

CopySums::CopySums(int64_t total) : total_(total) {
  if (total < 1 || total > kLargestCopy) {
    throw Error(ErrorKind::kInvalidArgument, "a file size was expected, got {}", total);
  }
  sums_.resize(BlocksOf(total));
  known_.resize(sums_.size());
}

std::optional<CopySums> CopySums::Read(std::string_view text) {
  constexpr size_t kHead = kSumsMagic.size() + sizeof(uint64_t);
  constexpr size_t kSum = sizeof(uint32_t);
  if (text.size() < kHead + kSum || !text.starts_with(kSumsMagic)) return std::nullopt;
  const size_t end = text.size() - kSum;
  if (MaskedCrc(Crc32c(text.data(), end)) != NumberAt<uint32_t>(text, end)) return std::nullopt;
  const auto total = static_cast<int64_t>(NumberAt<uint64_t>(text, kSumsMagic.size()));
  if (total < 1 || total > kLargestCopy || end != kHead + kSum * BlocksOf(total)) {
    return std::nullopt;
  }
  CopySums sums(total);
  for (size_t i = 0; i < sums.sums_.size(); ++i) {
    sums.sums_[i] = NumberAt<uint32_t>(text, kHead + kSum * i);
  }
  return sums;
}

size_t CopySums::BytesOf(size_t block) const {
  const auto total = static_cast<size_t>(total_);
  return std::min(kBlock, total - std::min(total, block * kBlock));
}

bool CopySums::Match(size_t block, const void* data) const {
  return Crc32c(data, BytesOf(block)) == sums_[block];
}

void CopySums::Add(int64_t offset, const uint8_t* data, size_t size) {
  const auto begin = static_cast<size_t>(offset);
  for (size_t block = (begin + kBlock - 1) / kBlock; block < sums_.size(); ++block) {
    const size_t at = block * kBlock - begin;
    if (at + BytesOf(block) > size) break;
    sums_[block] = Crc32c(data + at, BytesOf(block));
    known_[block] = true;
  }
}

std::string CopySums::Text(const std::string& path) {
  std::unique_ptr<InputFile> file;
  std::vector<uint8_t> bytes;
  std::string text(kSumsMagic);
  AppendNumber(text, static_cast<uint64_t>(total_));
  for (size_t block = 0; block < sums_.size(); ++block) {
    if (!known_[block]) {
      if (!file) file = OpenLocalFile(path, {});
      bytes.resize(kBlock);
      const auto offset = static_cast<int64_t>(block * kBlock);
      if (ReadAll(*file, offset, bytes.data(), BytesOf(block)) < BytesOf(block)) {
        throw Error(ErrorKind::kOs, "{} was truncated while it was written", path);
      }
      Add(offset, bytes.data(), BytesOf(block));
    }
    AppendNumber(text, sums_[block]);
  }
  AppendNumber(text, MaskedCrc(Crc32c(text.data(), text.size())));
  return text;
}

std::unique_ptr<CheckedCopy> CheckedCopy::Open(const std::string& path, const Reading& reading) {
  try {
    size_t size = 0;
    const BufferRef text = ReadWholeFile(*OpenLocalFile(SumsOfCopy(path), reading), &size);
    auto sums = CopySums::Read({reinterpret_cast<const char*>(text->data()), size});
    if (!sums) return nullptr;
    auto file = OpenLocalFile(path, reading);
    if (file->size() != sums->total()) return nullptr;
    return std::unique_ptr<CheckedCopy>(new CheckedCopy(std::move(file), *std::move(sums)));
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kNotFound || error.kind() == ErrorKind::kOs) return nullptr;
    throw;
  }
}

std::optional<size_t> CheckedCopy::Read(int64_t offset, void* data, size_t size) {
  const auto total = static_cast<size_t>(sums_.total());
  const size_t begin = std::min(static_cast<size_t>(offset), total);
  const size_t end = begin + std::min(size, total - begin);
  auto* to = static_cast<uint8_t*>(data);
  for (size_t at = begin; at < end;) {
    const size_t number = at / CopySums::kBlock;
    const size_t start = number * CopySums::kBlock;
    const size_t after = end == total ? sums_.BlockCount() : end / CopySums::kBlock;
    if (at == start && after > number) {  // whole blocks need no extra buffer
      if (!ReadBlocks(number, after - number, to)) return std::nullopt;
      const size_t done = std::min(after * CopySums::kBlock, total) - at;
      to += done;
      at += done;
      continue;
    }
    const BufferRef block = Block(number);
    if (!block) return std::nullopt;
    const size_t taken = std::min(start + sums_.BytesOf(number), end) - at;
    std::memcpy(to, block->data() + (at - start), taken);
    to += taken;
    at += taken;
  }
  return end - begin;
}

bool CheckedCopy::ReadBlocks(size_t first, size_t count, uint8_t* data) {
  size_t size = 0;
  for (size_t i = 0; i < count; ++i) size += sums_.BytesOf(first + i);
  try {
    if (ReadAll(*file_, static_cast<int64_t>(first * CopySums::kBlock), data, size) < size) {
      return false;
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kOs) throw;
    return false;  // the disk has lost data
  }
  for (size_t i = 0; i < count; ++i) {
    if (!sums_.Match(first + i, data + i * CopySums::kBlock)) return false;
  }
  return true;
}

BufferRef CheckedCopy::Block(size_t number) {
  {
    const std::lock_guard lock(mutex_);
    if (last_ && last_number_ == number) return last_;
  }
  BufferRef block = Buffer::Allocate(sums_.BytesOf(number));
  if (!ReadBlocks(number, 1, block->data())) return {};
  const std::lock_guard lock(mutex_);
  last_number_ = number;
  last_ = block;
  return block;
}

std::string SumsOfCopy(const std::string& path) { return path + ".sums"; }

}  // namespace penstock
