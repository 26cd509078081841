// Tar archives: their members, and samples of members with the same key (WebDataset format).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "storage/record_reader.h"

namespace penstock {

// A member, found in bytes that begin with its headers.
struct TarMember {
  std::string name{};
  bool file = false;    // a regular file: not a folder, link or device
  bool sparse = false;  // stored without its holes
  size_t begin = 0;     // of its contents
  size_t size = 0;
  size_t next = 0;  // where the headers of the next member begin
};

// What was found at a position where a member may begin.
struct TarStep {
  enum Kind : uint8_t {
    kMember,  // all of its headers, but perhaps not its contents, are among the bytes
    kMore,    // `need` bytes are required
    kEnd,     // the zeros at the end of an archive; or the end of the file, with a `problem`
    kDamaged  // has a `problem`; no further member can be found
  };
  Kind kind = kEnd;
  TarMember member{};
  size_t need = 0;
  size_t end = 0;  // for kEnd: where the zeros begin, or the file ends
  std::string problem{};
};

// Positions are relative to the window, which begins at a member.
TarStep ReadTarMember(const ByteWindow& window, size_t at);

// The key and the field in a member's name: the text before the first dot of the base name, and the
// text after it. `named` is false for a name that belongs to no sample.
struct TarName {
  bool named = false;
  std::string_view key{};
  std::string_view field{};
};
TarName SplitTarName(std::string_view name);

// Finds samples: consecutive members with the same key. A record begins with the headers of its
// first member, and ends before the first member with another key, or with its archive. A file may
// contain several consecutive archives.
class TarSampleReader final : public FormatReader<TarSampleReader> {
 public:
  Found Find(const ByteWindow& window) override;
  std::string_view doubt() const override { return doubt_; }

 private:
  static size_t AfterZeros(const ByteWindow& window, size_t at);
  std::optional<Found> FindNext(const ByteWindow& window, size_t at);

  std::string doubt_;
};

}  // namespace penstock
