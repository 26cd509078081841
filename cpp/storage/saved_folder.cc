// The list of a saved dataset, and the writer of its files.
#include "storage/saved_folder.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

#include "storage/crc32c.h"
#include "storage/file_path.h"
#include "storage/remote.h"

namespace penstock {
namespace {

constexpr int64_t kMostText = 1 << 20;  // bytes; there are at most a thousand files
constexpr std::string_view kTitle = "penstock dataset, version 1\n";

std::string Hex(uint64_t number) {
  char text[17];
  std::snprintf(text, sizeof(text), "%llx", static_cast<unsigned long long>(number));
  return text;
}

std::string HexOf(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (char byte : bytes) {
    text.push_back(kDigits[static_cast<uint8_t>(byte) >> 4]);
    text.push_back(kDigits[static_cast<uint8_t>(byte) & 15]);
  }
  return text;
}

// False if the text is not a result of HexOf.
bool FromHex(std::string_view text, std::string& bytes) {
  auto digit = [](char letter) {
    if (letter >= '0' && letter <= '9') return letter - '0';
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
  };
  bytes.clear();
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    int high = digit(text[i]);
    int low = digit(text[i + 1]);
    if (high < 0 || low < 0) return false;
    bytes.push_back(static_cast<char>(high * 16 + low));
  }
  return text.size() % 2 == 0;
}

}  // namespace

std::string Manifest::PathIn(const std::string& folder) { return folder + "/" + kManifestName; }

std::string Manifest::ToText() const {
  std::string text(kTitle);
  text += "pipeline " + (fingerprint.empty() ? "-" : fingerprint) + "\n";
  if (!randomness.empty()) text += "randomness " + HexOf(randomness) + "\n";
  for (const Shard& shard : shards) {
    text += Format("shard {} {} {}\n", shard.name, shard.rows, Hex(shard.content));
  }
  return text + "crc32c " + Hex(Crc32c(text.data(), text.size())) + "\n";
}

Manifest Manifest::Read(const std::string& folder, std::string_view stage) {
  std::string path = PathIn(folder);
  auto damaged = [&](std::string_view what) {
    Origin origin;
    origin.file = std::make_shared<const std::string>(path);
    return Error(ErrorKind::kData, "{}: {}", stage, what).At(std::move(origin));
  };
  std::unique_ptr<InputFile> file;
  try {
    file = OpenPlainFile(path);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kData) throw;
    throw damaged(error.message());
  }
  if (file->size() > kMostText) throw damaged("it is longer than any list");
  size_t size = 0;
  BufferRef bytes = ReadWholeFile(*file, &size);
  std::string text(reinterpret_cast<const char*>(bytes->data()), size);
  if (text.compare(0, kTitle.size(), kTitle) != 0) {
    throw damaged("'penstock dataset, version 1' was expected in the first line");
  }
  size_t last = text.rfind("crc32c ");
  if (last == std::string::npos ||
      text.substr(last) != "crc32c " + Hex(Crc32c(text.data(), last)) + "\n") {
    throw damaged("the list of files is truncated or damaged: its checksum does not match");
  }
  Manifest manifest;
  std::istringstream lines(text.substr(kTitle.size(), last - kTitle.size()));
  lines.exceptions(std::ios::badbit);  // running out of memory does not mean a damaged list
  std::string word;
  std::set<std::string> names;
  while (lines >> word) {
    Shard shard;
    std::string content;
    if (word == "pipeline" && lines >> word) {
      manifest.fingerprint = word == "-" ? "" : word;
    } else if (word == "randomness" && lines >> word && FromHex(word, manifest.randomness)) {
    } else if (word == "shard" && lines >> shard.name >> shard.rows >> content) {
      if (!IsPlainName(shard.name)) {
        throw damaged("names of files in this folder were expected, got '" + shard.name + "'");
      }
      if (!names.insert(shard.name).second) throw damaged("a file that is listed twice");
      shard.content = std::strtoull(content.c_str(), nullptr, 16);
      manifest.shards.push_back(shard);
    } else {
      throw damaged("a line that is neither a pipeline, its randomness nor a shard");
    }
  }
  return manifest;
}

bool IsSavedFolder(const std::string& folder) {
  RequireWhole(folder);
  const std::string list = Manifest::PathIn(folder);
  if (!IsRemote(folder)) {
    std::error_code unknown;
    return std::filesystem::exists(list, unknown);
  }
  try {
    return OpenFile(list, {.throughout = false})->size() >= 0;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kNotFound) throw;
    return false;
  }
}

FolderWriter::FolderWriter(const std::string& folder, ChunkHeader header,
                           ChunkWriter::Options options)
    : temporary_(options.stage, folder, OurKind::kFolder),
      header_(std::move(header)),
      options_(options) {}

void FolderWriter::Append(const Block& rows, int64_t shard) {
  auto number = static_cast<size_t>(shard);
  if (shards_.size() <= number) shards_.resize(number + 1);
  if (!shards_[number]) {
    std::string path = temporary_.path() + "/" + ShardName(shard);
    shards_[number] =
        std::make_unique<ChunkWriter>(path, ChunkHeader{header_.fingerprint, ""}, options_);
  }
  shards_[number]->Append(rows);
}

int64_t FolderWriter::rows() const {
  int64_t rows = 0;
  for (auto& shard : shards_) rows += shard ? shard->rows() : 0;
  return rows;
}

void FolderWriter::Commit(const MaybeSpec& spec) {
  if (shards_.empty()) Append(Block::AtEnd(), 0);  // without rows, the types are still kept
  Manifest manifest{header_.fingerprint, header_.randomness, {}};
  for (auto& shard : shards_) {
    if (!shard) continue;
    shard->Finish(spec);
    std::string path = shard->path();
    manifest.shards.push_back({path.substr(path.rfind('/') + 1), shard->rows(), shard->content()});
  }
  std::string text = manifest.ToText();
  OutputFile list(Manifest::PathIn(temporary_.path()));
  list.Write(text.data(), text.size());
  list.Close();
  temporary_.Commit();
}

}  // namespace penstock
