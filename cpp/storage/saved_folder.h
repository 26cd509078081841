// A folder of files of rows, with a list of them: written by save and snapshot, read by load.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "storage/chunk/chunk_file.h"

namespace penstock {

// The list. It is text, so that people can read it, and is written last.
struct Manifest {
  struct Shard {
    std::string name;
    int64_t rows = 0;
    uint64_t content = 0;
  };
  std::string fingerprint;  // of the pipeline that wrote it; "" if not checked
  std::string randomness;   // of a snapshot: seed material that its random draws depended on
  std::vector<Shard> shards;

  std::string ToText() const;
  // Throws a DataError that names the file, and begins with the name of `stage`.
  static Manifest Read(const std::string& folder, std::string_view stage);
  static std::string PathIn(const std::string& folder);
};

// Whether the folder has a complete list and, given a fingerprint, was written by that pipeline.
bool IsSavedFolder(const std::string& folder);

class FolderWriter {
 public:
  // Commit publishes the result as `folder`, replacing what is there then.
  FolderWriter(const std::string& folder, ChunkHeader header, ChunkWriter::Options options);
  // Appends the rows to file number `shard`, in [0, kMostShards).
  void Append(const Block& rows, int64_t shard);
  void Commit(const MaybeSpec& spec);
  int64_t rows() const;

  static constexpr int64_t kMostShards = 1000;

 private:
  Temporary temporary_;
  ChunkHeader header_;
  ChunkWriter::Options options_;
  std::vector<std::unique_ptr<ChunkWriter>> shards_;
};

}  // namespace penstock
