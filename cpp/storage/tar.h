// Tar archives: their members, and the samples that members of one key make (WebDataset's form).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "storage/record_reader.h"

namespace penstock {

// A member among bytes that begin with the headers of one.
struct TarMember {
  std::string name{};
  bool file = false;    // with contents of its own: no folder, link or device
  bool sparse = false;  // its contents are not stored as they are
  size_t begin = 0;     // of its contents
  size_t size = 0;
  size_t next = 0;  // where the headers of the member after it begin
};

// What lies at a position where a member may begin.
struct TarStep {
  enum Kind : uint8_t {
    kMember,  // whose headers, but not yet its contents, are among the bytes
    kMore,    // fewer than `need` bytes do not suffice
    kEnd,     // the zeros at the end of an archive; at the end of the file, with a `problem`
    kDamaged  // by a `problem`; what follows cannot be found
  };
  Kind kind = kEnd;
  TarMember member{};
  size_t need = 0;
  size_t end = 0;  // of kEnd: where the zeros are, or the file ends
  std::string problem{};
};

// Positions are from the beginning of the window, which is at one.
TarStep ReadTarMember(const ByteWindow& window, size_t at);

// The key and the field of the name of a member: what is before the first dot of its base name, and
// what is after it. `named` is false for a name that belongs to no sample.
struct TarName {
  bool named = false;
  std::string_view key{};
  std::string_view field{};
};
TarName SplitTarName(std::string_view name);

// Finds samples: consecutive members of one key. A record begins with the headers of its first
// member, and ends before the first member with another key, or with its archive. A file may
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
