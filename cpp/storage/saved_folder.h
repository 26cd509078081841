// A folder of files of rows with a list of them: what save and snapshot write and load reads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "storage/chunk/chunk_file.h"

namespace penstock {

// The list. Text, so that a person can see what a folder is; written last.
struct Manifest {
  struct Shard {
    std::string name;
    int64_t rows = 0;
    uint64_t content = 0;
  };
  std::string fingerprint;  // of the pipeline that made it; "" when not checked
  std::string randomness;   // of a snapshot: what the random numbers in its elements hung on
  std::vector<Shard> shards;

  std::string ToText() const;
  // Throws a DataError that names the file, and begins with the name of `stage`.
  static Manifest Read(const std::string& folder, std::string_view stage);
  static std::string PathIn(const std::string& folder);
};

// Whether there is a complete one; with a fingerprint, of that pipeline.
bool IsSavedFolder(const std::string& folder);

class FolderWriter {
 public:
  // Appears as `folder` with Commit; what is there then is replaced.
  FolderWriter(const std::string& folder, ChunkHeader header, ChunkWriter::Options options);
  // Rows go to the file of a number in [0, kMostShards).
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
