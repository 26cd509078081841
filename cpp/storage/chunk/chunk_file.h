// A file of rows in chunks, with an index at its end: what caches, snapshots and saved datasets are
// kept in. docs/reference/formats.md describes it byte by byte.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "storage/chunk/chunk.h"
#include "storage/chunk/chunk_codec.h"
#include "storage/file.h"
#include "storage/temporary.h"

namespace penstock {

constexpr uint64_t kChunkFormatVersion = 1;

struct ChunkHeader {
  std::string fingerprint;  // of the pipeline that made it; "" when not checked
  std::string randomness;   // what the random numbers in its elements hung on
};

// Where a chunk lies and how it is to be read.
struct ChunkEntry {
  uint64_t offset = 0;
  uint64_t stored = 0;  // bytes in the file
  uint64_t bytes = 0;   // when they are decompressed
  uint64_t layout = 0;  // number of it
  uint64_t crc = 0;     // CRC-32C of the bytes in the file
  Codec codec = Codec::kNone;
  int64_t rows = 0;
  bool keyed = false;
  uint64_t first_key = 0;
  int64_t first_index = 0;
  int64_t first = 0;  // row of the file; not stored
};

class ChunkWriter {
 public:
  struct Options {
    const char* stage = "save";  // for errors
    Codec codec = Codec::kNone;
    bool origins = false;  // keep the identities of elements
  };
  ChunkWriter(const std::string& path, const ChunkHeader& header, const Options& options);

  void Append(const Block& block);
  // The index, then everything to the disk. `spec`: what is known when there are no rows.
  void Finish(const MaybeSpec& spec);
  int64_t rows() const { return rows_; }
  const std::string& path() const { return file_.path(); }
  // The same for the same rows in the same chunks; after Finish.
  uint64_t content() const { return content_; }

 private:
  void CheckNames(const Block& block, int64_t row, const Structure* structure) const;
  void Flush();

  Options options_;
  OutputFile file_;
  ChunkBuilder builder_;
  std::vector<ElementSpec> layouts_;
  std::vector<ChunkEntry> entries_;
  StructureRef checked_;  // the last one, that it can be written
  int64_t rows_ = 0;
  uint64_t content_ = 0;
};

// What is known of a file without reading its rows. Immutable: any number may read at a time.
class ChunkIndex {
 public:
  // Throws a DataError for a file of another kind or a damaged one; an OSError for one that cannot
  // be read. The DataError begins with `stage`. `max_bytes`: the maximum size of a decompressed
  // chunk.
  ChunkIndex(std::string stage, const std::string& path, std::unique_ptr<InputFile> file,
             int64_t max_bytes);

  // Of a file whose index is not looked at. Throws as the constructor does.
  static ChunkHeader Header(std::string stage, const std::string& path,
                            std::unique_ptr<InputFile> file);

  const std::string& path() const { return *path_; }
  const ChunkHeader& header() const { return header_; }
  int64_t rows() const { return rows_; }
  uint64_t content() const { return content_; }
  const std::vector<ChunkEntry>& entries() const { return entries_; }
  ChunkForm form(const ChunkEntry& entry) const;
  // The chunk of a row below rows().
  size_t ChunkOf(int64_t row) const;
  // What covers all elements; nullopt when nothing does, or there is nothing.
  const MaybeSpec& spec() const { return spec_; }
  // Reads exactly `size` bytes; false at an earlier end of the file. The file stays open, so
  // another one that replaces it is not noticed.
  bool ReadAt(uint64_t offset, void* data, size_t size) const;
  // Reads a chunk whole. Throws a DataError when it is damaged.
  ChunkRows Read(size_t chunk) const;
  [[noreturn]] void ThrowDamaged(size_t chunk, std::string_view what) const;

 private:
  ChunkIndex(std::string stage, const std::string& path, std::unique_ptr<InputFile> file);
  void ReadHeader();
  void ReadFooter();
  [[noreturn]] void Throw(int64_t offset, std::string_view what) const;

  std::string stage_;
  std::shared_ptr<const std::string> path_;
  std::unique_ptr<InputFile> file_;
  uint64_t max_bytes_ = 0;
  ChunkHeader header_;
  std::vector<ElementSpec> layouts_;
  std::vector<ChunkEntry> entries_;
  int64_t rows_ = 0;
  uint64_t content_ = 0;
  MaybeSpec spec_;
};

}  // namespace penstock
