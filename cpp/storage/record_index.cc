// Writes an index of records, and finds records with an index, which may be forged.
#include "storage/record_index.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "data/error.h"
#include "data/state_visitor.h"
#include "runtime/blocking.h"
#include "storage/crc32c.h"

namespace penstock {
namespace {

constexpr std::string_view kIndexMagic = "PSINDX\r\n";
constexpr std::string_view kEndMagic = "\x1aPSINDE\n";
constexpr int kWidthBits = 7;
constexpr int kFraction = 8;  // fraction bits of a slope
// A distance of at most this many bits lies within 8 bytes from the byte of its first bit.
constexpr int kMostNarrow = 57;
constexpr int kWide = 64;
// The maximum number of bytes that a block's line may span, so that the product with a record
// number cannot overflow.
constexpr uint64_t kMostReach = (uint64_t{1} << 48) - 1;
constexpr size_t kSlack = 8;  // readable bytes after the last distance

// Before the end magic; little-endian.
struct Trailer {
  uint64_t blocks_at;
  uint64_t blocks;
  uint64_t header_size;  // of the header after the blocks
  uint32_t crc;          // CRC-32C of blocks and header
  uint32_t version;
};
static_assert(sizeof(Trailer) == 32);
constexpr size_t kIndexTrailerSize = sizeof(Trailer) + kEndMagic.size();

void VisitHeader(StateVisitor& visitor, IndexedFile& of) {
  visitor.Text(of.format);
  visitor.Text(of.version);
  visitor.Count(of.size, "bytes of the file");
  visitor.Count(of.records, "records");
  visitor.Count(of.end, "the end of the last record", of.size);
  visitor.Text(of.problem);
}

uint64_t OnLine(const IndexBlock& block, uint64_t i) {
  return block.base + ((block.slope >> kWidthBits) * i >> kFraction);
}

int WidthOf(const IndexBlock& block) {
  return static_cast<int>(block.slope & ((1u << kWidthBits) - 1));
}

void AppendBits(std::vector<uint8_t>& to, size_t bit, uint64_t value, int width) {
  for (int done = 0; done < width; ++done, ++bit) {
    if (value >> done & 1) to[bit / 8] |= static_cast<uint8_t>(1u << bit % 8);
  }
}

uint64_t BitsAt(const uint8_t* from, size_t bit, int width) {
  uint64_t word;
  std::memcpy(&word, from + bit / 8, sizeof(word));
  if (width == kWide) return word;
  return word >> bit % 8 & ((uint64_t{1} << width) - 1);
}

}  // namespace

RecordIndexWriter::RecordIndexWriter(const std::string& path) : file_(path) {
  file_.Write(kIndexMagic.data(), kIndexMagic.size());
  begins_.reserve(IndexBlock::kRecords);
}

void RecordIndexWriter::Add(int64_t begin) {
  begins_.push_back(begin);
  ++records_;
  if (begins_.size() == IndexBlock::kRecords) Flush();
}

void RecordIndexWriter::Flush() {
  if (begins_.empty()) return;
  const size_t count = begins_.size();
  const auto first = static_cast<uint64_t>(begins_.front());
  const uint64_t reach = std::min(static_cast<uint64_t>(begins_.back()) - first, kMostReach);
  const uint64_t slope = count > 1 ? (reach << kFraction) / (count - 1) : 0;
  IndexBlock block{first, slope << kWidthBits, static_cast<uint64_t>(file_.size()), 0, 0};
  int64_t least = 0;
  int64_t most = 0;
  auto distance = [&](size_t i) {
    return static_cast<int64_t>(static_cast<uint64_t>(begins_[i]) - OnLine(block, i));
  };
  for (size_t i = 0; i < count; ++i) {
    least = std::min(least, distance(i));
    most = std::max(most, distance(i));
  }
  int width = std::bit_width(static_cast<uint64_t>(most) - static_cast<uint64_t>(least));
  if (width > kMostNarrow) width = kWide;
  block.slope |= static_cast<uint64_t>(width);
  block.base += static_cast<uint64_t>(least);
  std::vector<uint8_t> distances((count * static_cast<size_t>(width) + 7) / 8);
  for (size_t i = 0; i < count; ++i) {
    AppendBits(distances, i * static_cast<size_t>(width), static_cast<uint64_t>(distance(i)),
               width);
  }
  block.crc = Crc32c(distances.data(), distances.size());
  file_.Write(distances.data(), distances.size());
  blocks_.push_back(block);
  begins_.clear();
}

void RecordIndexWriter::Finish(const IndexedFile& of) {
  Flush();
  std::string header;
  StateVisitor visitor(&header);
  IndexedFile written = of;
  VisitHeader(visitor, written);
  const size_t bytes = blocks_.size() * sizeof(IndexBlock);
  Trailer trailer{static_cast<uint64_t>(file_.size()), blocks_.size(), header.size(),
                  Crc32c(header.data(), header.size(), Crc32c(blocks_.data(), bytes)),
                  kRecordIndexVersion};
  file_.Write(blocks_.data(), bytes);
  file_.Write(header.data(), header.size());
  file_.Write(&trailer, sizeof(trailer));
  file_.Write(kEndMagic.data(), kEndMagic.size());
  file_.Close();
}

RecordIndex::RecordIndex(const std::string& path, std::string stage)
    : path_(std::make_shared<const std::string>(path)), stage_(std::move(stage)) {
  ScopedBlockingHook none(nullptr);
  ReadFooter(*Open());
}

std::unique_ptr<InputFile> RecordIndex::Open() const {
  return OpenFile(*path_, {.throughout = false});
}

void RecordIndex::Throw(int64_t offset, std::string_view what) const {
  Origin origin;
  origin.file = path_;
  origin.offset = offset;
  throw Error(ErrorKind::kData, "{}: {}", stage_, what).At(std::move(origin));
}

void RecordIndex::ReadFooter(InputFile& file) {
  const int64_t size = file.size();
  char magic[kMagicBytes];
  if (size < 0 || !ReadFully(file, 0, magic, sizeof(magic)) ||
      std::string_view(magic, sizeof(magic)) != kIndexMagic) {
    Throw(0, "this is no index of records that penstock has written, or its begin is damaged");
  }
  char end[kIndexTrailerSize];
  const auto whole = static_cast<uint64_t>(size);
  if (whole < sizeof(magic) + kIndexTrailerSize ||
      !ReadFully(file, size - static_cast<int64_t>(kIndexTrailerSize), end, sizeof(end)) ||
      std::string_view(end + sizeof(Trailer), kEndMagic.size()) != kEndMagic) {
    Throw(size, "the index is truncated; run ps.index again");
  }
  Trailer trailer;
  std::memcpy(&trailer, end, sizeof(trailer));
  if (trailer.version != kRecordIndexVersion) {
    Throw(size, Format("version {} of the format was expected, got version {}; run ps.index again",
                       kRecordIndexVersion, trailer.version));
  }
  const uint64_t footer_end = whole - kIndexTrailerSize;
  if (trailer.blocks_at < kMagicBytes || trailer.blocks_at > footer_end ||
      trailer.header_size > footer_end - trailer.blocks_at ||
      trailer.blocks !=
          (footer_end - trailer.blocks_at - trailer.header_size) / sizeof(IndexBlock)) {
    Throw(size, "the index is damaged; run ps.index again");
  }
  blocks_.resize(trailer.blocks);
  std::string header(trailer.header_size, '\0');
  const size_t bytes = blocks_.size() * sizeof(IndexBlock);
  const auto at = static_cast<int64_t>(trailer.blocks_at);
  if (!ReadFully(file, at, blocks_.data(), bytes) ||
      !ReadFully(file, at + static_cast<int64_t>(bytes), header.data(), header.size()) ||
      Crc32c(header.data(), header.size(), Crc32c(blocks_.data(), bytes)) != trailer.crc) {
    Throw(at, "the index is damaged; run ps.index again");
  }
  try {
    StateVisitor visitor{std::string_view(header)};
    VisitHeader(visitor, of_);
    visitor.ExpectEnd();
  } catch (const Error&) {
    Throw(at + static_cast<int64_t>(bytes), "the index is damaged; run ps.index again");
  }
  distances_end_ = at;
  const int64_t full =
      of_.records / IndexBlock::kRecords + (of_.records % IndexBlock::kRecords > 0);
  bool sound = full == static_cast<int64_t>(blocks_.size());
  uint64_t next = kMagicBytes;
  for (int64_t i = 0; sound && i < full; ++i) {
    const IndexBlock& block = blocks_[static_cast<size_t>(i)];
    const int width = WidthOf(block);
    sound = (width <= kMostNarrow || width == kWide) && block.position == next &&
            BytesOf(i) <= trailer.blocks_at - next;
    if (sound) next += BytesOf(i);
  }
  if (!sound || next != trailer.blocks_at) Throw(at, "the index is damaged; run ps.index again");
}

int64_t RecordIndex::RecordsOf(int64_t block) const {
  return std::min(IndexBlock::kRecords, of_.records - block * IndexBlock::kRecords);
}

size_t RecordIndex::BytesOf(int64_t block) const {
  auto width = static_cast<size_t>(WidthOf(blocks_[static_cast<size_t>(block)]));
  return (static_cast<size_t>(RecordsOf(block)) * width + 7) / 8;
}

void RecordIndex::Load() {
  ScopedBlockingHook none(nullptr);
  std::vector<uint8_t> loaded(static_cast<size_t>(distance_bytes()) + kSlack);
  if (!ReadFully(*Open(), kMagicBytes, loaded.data(), loaded.size() - kSlack)) {
    Throw(distances_end_, "the index has become shorter; run ps.index again");
  }
  loaded_ = std::move(loaded);
}

void RecordIndex::Check() const {
  ScopedBlockingHook none(nullptr);
  Finder finder(*this);
  int64_t begin, end;
  for (int64_t record = 0; record < of_.records; ++record) finder.Find(record, &begin, &end);
}

void RecordIndex::Finder::Find(int64_t record, int64_t* begin, int64_t* end) {
  *begin = Begin(record);
  *end = record + 1 < index_.of_.records ? Begin(record + 1) : index_.of_.end;
  if (*begin < 0 || *begin > *end || *end > index_.of_.end) {
    index_.Throw(-1, Format("the index is damaged: its record {} lies between bytes {} and {} of a "
                            "file of {}; run ps.index again",
                            record, *begin, *end, index_.of_.size));
  }
}

int64_t RecordIndex::Finder::Begin(int64_t record) {
  const int64_t number = record / IndexBlock::kRecords;
  if (number != block_) Enter(number);
  const IndexBlock& block = index_.blocks_[static_cast<size_t>(number)];
  const auto i = static_cast<size_t>(record % IndexBlock::kRecords);
  const int width = WidthOf(block);
  const uint64_t distance =
      width == 0 ? 0 : BitsAt(distances_, i * static_cast<size_t>(width), width);
  return static_cast<int64_t>(OnLine(block, i) + distance);
}

void RecordIndex::Finder::Enter(int64_t number) {
  const IndexBlock& block = index_.blocks_[static_cast<size_t>(number)];
  const size_t bytes = index_.BytesOf(number);
  block_ = -1;
  if (!index_.loaded_.empty()) {
    distances_ = index_.loaded_.data() + (block.position - kMagicBytes);
  } else if (bytes > 0) {
    if (!file_) file_ = index_.Open();
    read_.resize(bytes + kSlack);
    if (!ReadFully(*file_, static_cast<int64_t>(block.position), read_.data(), bytes)) {
      index_.Throw(static_cast<int64_t>(block.position),
                   "the index has become shorter; run ps.index again");
    }
    distances_ = read_.data();
  }
  if (Crc32c(distances_, bytes) != block.crc) {
    index_.Throw(static_cast<int64_t>(block.position),
                 "the checksum of the index is wrong: it is damaged; run ps.index again");
  }
  block_ = number;
}

}  // namespace penstock
