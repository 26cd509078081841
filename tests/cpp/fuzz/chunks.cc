// Files of rows in chunks: written and read back, and damaged files with correct checksums.
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "engine/registry.h"
#include "engine/session.h"
#include "fuzz.h"
#include "storage/chunk/chunk_index.h"
#include "storage/crc32c.h"
#include "storage/record_reader.h"
#include "storage/saved_folder.h"

namespace penstock::fuzz {
namespace {

constexpr int64_t kMostRows = 1 << 16;
constexpr const char* kShard = "shard";

const std::string& Folder() {
  static const std::string folder = [] {
    std::string name = TemporaryFolder() + "/saved";
    std::filesystem::create_directory(name);
    return name;
  }();
  return folder;
}

std::string ShardPath() { return Folder() + "/" + kShard; }

std::vector<Codec> Codecs() {
  std::vector<Codec> codecs{Codec::kNone};
#if defined(PENSTOCK_HAS_ZLIB)
  codecs.push_back(Codec::kZlib);
#endif
#if defined(PENSTOCK_HAS_ZSTD)
  codecs.push_back(Codec::kZstd);
#endif
  return codecs;
}

Element Row(int64_t number, std::string_view text, int64_t size) {
  Element element;
  Tensor items = Tensor::Make(DType::Of(TypeCode::kInt16), {size, 2});
  std::memset(items.mutable_data(), static_cast<int>(number), items.nbytes());
  element.leaves = {Tensor::Scalar(number), Tensor::String(TypeCode::kBytes, text), items};
  element.structure = Structure::Tuple(std::vector<StructureRef>(3, Structure::Leaf()));
  element.origin.key = static_cast<uint64_t>(3 * number);
  element.origin.index = number;
  return element;
}

std::string Written(const std::vector<Element>& rows, Codec codec, bool origins) {
  const std::string path = Folder() + "/written";
  std::filesystem::remove(path);
  ChunkWriter writer(path, {"a fingerprint", ""}, {"fuzz", codec, origins});
  for (const Element& row : rows) writer.Append(Block::Of(Element(row)));
  writer.Finish(std::nullopt);
  return ReadFile(path);
}

DatasetPtr Load(const std::string& shard) {
  WriteFile(ShardPath(), shard);
  ChunkIndex index("load", ShardPath(), OpenPlainFile(ShardPath()), kMaxRecordBytes);
  Manifest manifest;
  manifest.shards.push_back({kShard, index.rows(), index.content()});
  WriteFile(Manifest::PathIn(Folder()), manifest.ToText());
  Args args("load");
  args.Set("path", Folder());
  return MakeDataset("load", {}, args);
}

// Reads about kMostRows rows at most, however many the file claims to have. `error` becomes the
// message of the last error.
std::vector<Element> ReadAll(const DatasetPtr& dataset, int64_t most, std::string* error) {
  Session session(dataset, {}, {});
  std::vector<Element> rows;
  while (static_cast<int64_t>(rows.size()) < kMostRows) {
    Block block = session.NextBlock(most);
    for (int64_t i = 0; i < block.rows; ++i) rows.push_back(block.Row(i));
    if (block.error) *error = block.error->message();
    if (block.end) break;
  }
  return rows;
}

std::vector<std::string> Files(const std::string&) {
  std::vector<Element> same, varied;
  for (int64_t i = 0; i < 5; ++i) {
    same.push_back(Row(i, "text", 3));
    varied.push_back(Row(i, std::string(static_cast<size_t>(i), 'x'), i % 3));
  }
  Element numbers = Row(1, "", 4);
  numbers.leaves.erase(numbers.leaves.begin() + 1);
  numbers.structure = Structure::Tuple({Structure::Leaf(), Structure::Leaf()});
  std::vector<std::string> files;
  for (Codec codec : Codecs()) {
    files.push_back(Written(same, codec, false));
    files.push_back(Written(varied, codec, true));
    files.push_back(Written({numbers, numbers}, codec, false));
  }
  return files;
}

void RunFile(const std::string& input, Random& random) {
  DatasetPtr dataset = Load(input);
  std::string error;
  std::vector<Element> rows = ReadAll(dataset, static_cast<int64_t>(1 + random.Below(8)), &error);
  for (const Element& row : rows) {
    Require(row.leaves.size() == static_cast<size_t>(row.structure->leaves()), "a leaf for each");
    Require(row.footprint() < size_t{1} << 31, "a row of a size");
  }
  if (const Indexed* indexed = dataset->indexed(); indexed && indexed->size() > 0) {
    const int64_t row = static_cast<int64_t>(random.Bits() >> 1) % indexed->size();
    indexed->Rows(row, 1);
    indexed->Gather(&row, 1);
  }
  if (!error.empty()) throw Error(ErrorKind::kData, "{}", error);
}

template <typename Value>
void PutAt(std::string& bytes, size_t at, const Value& value) {
  std::memcpy(bytes.data() + at, &value, sizeof(value));
}

// Corrects the checksums of the header and the index, then of each chunk that the index names.
void Repair(std::string& input) {
  constexpr size_t kHeaderAt = kChunkMagic.size() + sizeof(ChunkPreamble);
  if (input.size() < kHeaderAt + kTrailerSize) return;
  std::memcpy(input.data(), kChunkMagic.data(), kChunkMagic.size());
  ChunkPreamble preamble;
  std::memcpy(&preamble, input.data() + kChunkMagic.size(), sizeof(preamble));
  preamble.version = kChunkFormatVersion;
  if (preamble.header_size > input.size() - kHeaderAt) preamble.header_size = 2;
  preamble.header_crc = Crc32c(input.data() + kHeaderAt, preamble.header_size);
  PutAt(input, kChunkMagic.size(), preamble);
  size_t end = input.size() - kTrailerSize;
  ChunkTrailer trailer;
  std::memcpy(&trailer, input.data() + end, sizeof(trailer));
  if (trailer.footer_size > end) trailer.footer_size = end / 2;
  trailer.footer_offset = end - trailer.footer_size;
  trailer.footer_crc = Crc32c(input.data() + trailer.footer_offset, trailer.footer_size);
  PutAt(input, end, trailer);
  std::memcpy(input.data() + end + sizeof(trailer), kChunkEndMagic.data(), kChunkEndMagic.size());
  try {
    WriteFile(ShardPath(), input);
    ChunkIndex index("load", ShardPath(), OpenPlainFile(ShardPath()), kMaxRecordBytes);
    std::vector<ChunkEntry> entries = index.entries();
    std::vector<ElementSpec> layouts;
    for (ChunkEntry& entry : entries) {
      entry.crc = Crc32c(input.data() + entry.offset, entry.stored);
      layouts.resize(std::max<size_t>(layouts.size(), entry.layout + 1), index.form(entry).layout);
      layouts[entry.layout] = index.form(entry).layout;
    }
    std::string footer;
    StateVisitor visitor(&footer);
    uint64_t count = layouts.size();
    visitor.UInt(count);
    for (ElementSpec& layout : layouts) VisitSpec(visitor, layout);
    count = entries.size();
    visitor.UInt(count);
    for (ChunkEntry& entry : entries) VisitEntry(visitor, entry);
    trailer.footer_size = footer.size();
    trailer.footer_crc = Crc32c(footer.data(), footer.size());
    input.resize(trailer.footer_offset);
    input += footer;
    input.append(reinterpret_cast<const char*>(&trailer), sizeof(trailer));
    input += kChunkEndMagic;
  } catch (const Error&) {  // the index itself is damaged
  }
}

std::vector<std::string> Texts(const std::string&) {
  return {"", "some text that becomes rows", std::string(3000, '\1')};
}

// Rows made of pieces of the input come back unchanged, in blocks of any size.
void RunRoundTrip(const std::string& input, Random& random) {
  std::vector<Element> rows;
  const bool varied = random.OneIn(2);
  for (size_t at = 0; at < input.size() && rows.size() < 200;) {
    size_t size = varied ? random.Below(40) : 7;
    rows.push_back(Row(static_cast<int64_t>(rows.size()), std::string_view(input).substr(at, size),
                       varied ? static_cast<int64_t>(random.Below(3)) : 2));
    at += size + 1;
  }
  std::vector<Codec> codecs = Codecs();
  std::string error;
  std::vector<Element> read =
      ReadAll(Load(Written(rows, codecs[random.Below(codecs.size())], random.OneIn(2))),
              static_cast<int64_t>(1 + random.Below(64)), &error);
  Require(error.empty() && read.size() == rows.size(), "all rows come back");
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto &was = rows[i].leaves, &is = read[i].leaves;
    Require(was[0].value<int64_t>() == is[0].value<int64_t>(), "the number comes back");
    Require(was[1].string() == is[1].string(), "the text comes back");
    Require(was[2].shape() == is[2].shape() &&
                !std::memcmp(was[2].data(), is[2].data(), was[2].nbytes()),
            "the items come back");
  }
}

// The list of a folder; the first file that it names exists.
std::vector<std::string> Lists(const std::string&) {
  Manifest two{
      "0123abc", "7 1", {{"shard-00000.rows", 5, 0x123456789}, {"shard-00001.rows", 0, 1}}};
  return {two.ToText(), Manifest{"", "", {}}.ToText()};
}

void RunList(const std::string& input, Random&) {
  WriteFile(Manifest::PathIn(Folder()), input);
  for (const Manifest::Shard& shard : Manifest::Read(Folder(), "load").shards) {
    Require(shard.name.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos &&
                shard.name != ".." && !shard.name.empty(),
            "a name in the folder");
  }
}

void SealList(std::string& input) {
  size_t last = input.rfind("crc32c ");
  if (last == std::string::npos) return;
  char crc[9];
  std::snprintf(crc, sizeof(crc), "%x", Crc32c(input.data(), last));
  input.resize(last);
  input += std::string("crc32c ") + crc + "\n";
}

const RegisterTarget list({"saved_list", Lists, RunList, SealList});
const RegisterTarget file({"chunk_file", Files, RunFile, Repair});
const RegisterTarget round_trip({"chunk_round_trip", Texts, RunRoundTrip});

}  // namespace
}  // namespace penstock::fuzz
