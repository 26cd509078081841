// An index of the offsets of a file's records, stored next to the file. docs/reference/formats.md
// describes it byte by byte.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "storage/file.h"
#include "storage/temporary.h"

namespace penstock {

constexpr uint32_t kRecordIndexVersion = 1;

// What an index stores about its file.
struct IndexedFile {
  std::string format;   // the record format, including everything that affects record boundaries
  std::string version;  // InputFile::version
  int64_t size = 0;     // in bytes
  int64_t records = 0;
  int64_t end = 0;                      // of the last record
  std::string problem;                  // found after the last record's beginning; "": no problem
  std::vector<std::string> warnings{};  // from indexing the file; not stored in an index
};

// Offsets are close to a straight line. A block stores that line, and the distance of each offset
// from it, in as many bits as the largest distance needs: records of equal size need none.
struct IndexBlock {
  static constexpr int64_t kRecords = 256;
  uint64_t base;
  uint64_t slope;     // bytes per record in 256ths; the lowest 7 bits: bits per distance
  uint64_t position;  // of the distances, in the index file
  uint32_t crc;       // CRC-32C of the distances
  uint32_t reserved;
};
static_assert(sizeof(IndexBlock) == 32);

class RecordIndexWriter {
 public:
  explicit RecordIndexWriter(const std::string& path);
  // Offsets must be added in ascending order.
  void Add(int64_t begin);
  // Writes the rest, and syncs everything to disk.
  void Finish(const IndexedFile& of);
  int64_t records() const { return records_; }

 private:
  void Flush();

  OutputFile file_;
  std::vector<int64_t> begins_;  // of the incomplete block
  std::vector<IndexBlock> blocks_;
  int64_t records_ = 0;
};

// Immutable, so it may be read concurrently.
class RecordIndex {
 public:
  // Throws a DataError for a file that is not an index, or is damaged; an OSError for a file that
  // cannot be read. The DataErrors of this class begin with `stage`.
  RecordIndex(const std::string& path, std::string stage);

  const std::string& path() const { return *path_; }
  const IndexedFile& of() const { return of_; }
  // Size of all distances. Load reads them into memory; otherwise each is read when needed.
  int64_t distance_bytes() const { return distances_end_ - kMagicBytes; }
  void Load();
  // Reads everything; throws at the first damage.
  void Check() const;

  // Finds offsets, and caches the block of the last one. Not thread-safe.
  class Finder {
   public:
    explicit Finder(const RecordIndex& index) : index_(index) {}
    // The record's first byte, and the byte after its last; both within the file.
    void Find(int64_t record, int64_t* begin, int64_t* end);

   private:
    int64_t Begin(int64_t record);
    void Enter(int64_t block);

    const RecordIndex& index_;
    std::unique_ptr<InputFile> file_;
    int64_t block_ = -1;
    std::vector<uint8_t> read_;
    const uint8_t* distances_ = nullptr;
  };

 private:
  static constexpr int64_t kMagicBytes = 8;
  std::unique_ptr<InputFile> Open() const;
  void ReadFooter(InputFile& file);
  int64_t RecordsOf(int64_t block) const;
  size_t BytesOf(int64_t block) const;
  [[noreturn]] void Throw(int64_t offset, std::string_view what) const;

  std::shared_ptr<const std::string> path_;
  std::string stage_;  // for errors
  IndexedFile of_;
  std::vector<IndexBlock> blocks_;
  int64_t distances_end_ = 0;
  std::vector<uint8_t> loaded_;
};

}  // namespace penstock
