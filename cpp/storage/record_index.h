// Where the records of a file begin: an index beside it. docs/reference/formats.md describes it
// byte by byte.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "storage/file.h"
#include "storage/temporary.h"

namespace penstock {

constexpr uint32_t kRecordIndexVersion = 1;

// What an index says of the file that it belongs to.
struct IndexedFile {
  std::string format;   // what its records are, with all that decides where they begin
  std::string version;  // InputFile::version
  int64_t size = 0;     // bytes
  int64_t records = 0;
  int64_t end = 0;      // of the last record
  std::string problem;  // why nothing is found after the beginning of the last record; "": all is
  std::vector<std::string> warnings{};  // of whoever has found the records; an index has none
};

// Beginnings lie close to a straight line. A block of them is that line, and how far each is from
// it, in as many bits as the furthest one needs: records of one size take none.
struct IndexBlock {
  static constexpr int64_t kRecords = 256;
  uint64_t base;
  uint64_t slope;     // bytes for each record in 256ths, and in the lowest 7 bits the bits of one
  uint64_t position;  // in the index file
  uint32_t crc;       // CRC-32C of the bytes there
  uint32_t reserved;
};
static_assert(sizeof(IndexBlock) == 32);

class RecordIndexWriter {
 public:
  explicit RecordIndexWriter(const std::string& path);
  // Records begin one after the other.
  void Add(int64_t begin);
  // The rest, and everything to the disk.
  void Finish(const IndexedFile& of);
  int64_t records() const { return records_; }

 private:
  void Flush();

  OutputFile file_;
  std::vector<int64_t> begins_;  // of the block that is not full
  std::vector<IndexBlock> blocks_;
  int64_t records_ = 0;
};

// Immutable: any number may read at a time.
class RecordIndex {
 public:
  // Throws a DataError for a file that is no index, or a damaged one; an OSError for one that
  // cannot be read. The DataError begins with `stage`, as do those of the functions below.
  RecordIndex(const std::string& path, std::string stage);

  const std::string& path() const { return *path_; }
  const IndexedFile& of() const { return of_; }
  // Bytes of all distances. Load holds them in memory; without it, each is read where it is needed.
  int64_t distance_bytes() const { return distances_end_ - kMagicBytes; }
  void Load();
  // Reads everything: throws at the first damage.
  void Check() const;

  // Finds beginnings, and remembers the block of the last one: for one thread.
  class Finder {
   public:
    explicit Finder(const RecordIndex& index) : index_(index) {}
    // The record's first byte, and the first one after it: within the file.
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
  std::string stage_;  // that errors name
  IndexedFile of_;
  std::vector<IndexBlock> blocks_;
  int64_t distances_end_ = 0;
  std::vector<uint8_t> loaded_;
};

}  // namespace penstock
