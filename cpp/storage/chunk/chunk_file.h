// A file of rows in chunks, with an index at its end: the format of caches, snapshots and saved
// datasets. docs/reference/formats.md describes it byte by byte.
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
  std::string fingerprint;  // of the pipeline that wrote it; "" if not checked
  std::string randomness;   // seed material that its random draws depended on
};

// The location and form of a chunk.
struct ChunkEntry {
  uint64_t offset = 0;
  uint64_t stored = 0;  // bytes in the file
  uint64_t bytes = 0;   // decompressed bytes
  uint64_t layout = 0;  // the number of its layout
  uint64_t crc = 0;     // CRC-32C of the bytes in the file
  Codec codec = Codec::kNone;
  int64_t rows = 0;
  bool keyed = false;
  uint64_t first_key = 0;
  int64_t first_index = 0;
  int64_t first = 0;  // first row within the file; not stored
};

class ChunkWriter {
 public:
  struct Options {
    const char* stage = "save";  // for errors
    Codec codec = Codec::kNone;
    bool origins = false;  // store the elements' keys
  };
  ChunkWriter(const std::string& path, const ChunkHeader& header, const Options& options);

  void Append(const Block& block);
  // Writes the index, and syncs everything to disk. `spec`: what is known about the elements if
  // there are no rows.
  void Finish(const MaybeSpec& spec);
  int64_t rows() const { return rows_; }
  const std::string& path() const { return file_.path(); }
  // Equal for equal rows in equal chunks. Valid after Finish.
  uint64_t content() const { return content_; }

 private:
  void CheckNames(const Block& block, int64_t row, const Structure* structure) const;
  void Flush();

  Options options_;
  OutputFile file_;
  ChunkBuilder builder_;
  std::vector<ElementSpec> layouts_;
  std::vector<ChunkEntry> entries_;
  StructureRef checked_;  // the last structure found to be writable
  int64_t rows_ = 0;
  uint64_t content_ = 0;
};

// Everything known about a file without reading its rows. Immutable, so it may be read
// concurrently.
class ChunkIndex {
 public:
  // Throws a DataError for a file of another kind, or a damaged one; an OSError for a file that
  // cannot be read. The DataError begins with `stage`. `max_bytes`: the maximum size of a
  // decompressed chunk.
  ChunkIndex(std::string stage, const std::string& path, std::unique_ptr<InputFile> file,
             int64_t max_bytes);

  // Reads the header only, without the index. Throws as the constructor does.
  static ChunkHeader Header(std::string stage, const std::string& path,
                            std::unique_ptr<InputFile> file);

  const std::string& path() const { return *path_; }
  const ChunkHeader& header() const { return header_; }
  int64_t rows() const { return rows_; }
  uint64_t content() const { return content_; }
  const std::vector<ChunkEntry>& entries() const { return entries_; }
  ChunkForm form(const ChunkEntry& entry) const;
  // The chunk that contains a row; the row is less than rows().
  size_t ChunkOf(int64_t row) const;
  // A spec that covers all elements; nullopt if there is no such spec, or no rows.
  const MaybeSpec& spec() const { return spec_; }
  // Reads exactly `size` bytes; false if the file ends earlier. The file stays open, so a
  // replacement of the file goes unnoticed.
  bool ReadAt(uint64_t offset, void* data, size_t size) const;
  // A number that changes when the file is written to.
  uint64_t Stamp() const;
  // Reads a whole chunk. Throws a DataError if it is damaged.
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
