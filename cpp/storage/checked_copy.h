// A local copy of a remote file, whose reads are verified with checksums.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/file.h"

namespace penstock {

// The checksums of a file, one for each block. They are stored in a file next to the copy. Changes
// in the copy or in that file are detected.
class CopySums final {
 public:
  static constexpr size_t kBlock = size_t{16} << 10;

  // Throws an Error for an impossible file size.
  explicit CopySums(int64_t total);
  // Parses a result of `Text`; nullopt if it is damaged.
  static std::optional<CopySums> Read(std::string_view text);

  int64_t total() const { return total_; }
  size_t BlockCount() const { return sums_.size(); }
  // The size of a block; 0 after the last one.
  size_t BytesOf(size_t block) const;
  bool Match(size_t block, const void* data) const;

  // Adds the checksums of the blocks within these bytes of the file.
  void Add(int64_t offset, const uint8_t* data, size_t size);
  // The checksums of all blocks. Blocks that were not added are read from the file `path`.
  std::string Text(const std::string& path);

 private:
  int64_t total_;
  std::vector<uint32_t> sums_;
  std::vector<bool> known_;
};

// Thread-safe.
class CheckedCopy final {
 public:
  // Null if there is no copy of that name with valid checksums.
  static std::unique_ptr<CheckedCopy> Open(const std::string& path, const Reading& reading);

  int64_t size() const { return sums_.total(); }
  // Like InputFile::Read; nullopt if a block does not match its checksum.
  std::optional<size_t> Read(int64_t offset, void* data, size_t size);

 private:
  CheckedCopy(std::unique_ptr<InputFile> file, CopySums sums)
      : file_(std::move(file)), sums_(std::move(sums)) {}
  // Reads and verifies blocks.
  bool ReadBlocks(size_t first, size_t count, uint8_t* data);
  // A block that is read in parts; null if its checksum does not match.
  BufferRef Block(size_t number);

  const std::unique_ptr<InputFile> file_;
  const CopySums sums_;
  std::mutex mutex_;  // a leaf lock; guards the following
  size_t last_number_ = 0;
  BufferRef last_;  // the last block that was read in part, where a reader continues
};

// The name of the file with the checksums of a copy.
std::string SumsOfCopy(const std::string& path);

}  // namespace penstock
