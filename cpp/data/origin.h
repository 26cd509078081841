// Origins of elements: the file and position of each, and the key of its random draws.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace penstock {

// The origin of an element or an error.
struct Origin {
  uint64_t key = 0;    // the element's identity, assigned by its source; random keys derive from it
  int64_t index = -1;  // position in its source
  std::shared_ptr<const std::string> file;
  int64_t offset = -1;  // byte offset in the file

  bool is_of(const std::string& name) const {
    return file && (file.get() == &name || *file == name);
  }
  void ForgetFile() {
    file = nullptr;
    offset = -1;
  }
  // Joins the origin of another element that goes into the same result, such as a batch. The result
  // has a file only if all elements are from that file.
  void Join(const Origin& other) {
    if (file && !other.is_of(*file)) ForgetFile();
  }
};

// The origins of consecutive rows, stored individually only if they do not follow from the first.
struct RowOrigins {
  Origin first;                  // of row 0
  std::vector<uint64_t> keys;    // of the rows; empty: first.key + row
  std::vector<int64_t> offsets;  // of the rows in first.file; empty: only known for the first row
  std::vector<Origin> each;      // of the rows, except keys; empty: they follow from the first

  // For rows whose keys and indices count from `number`.
  static RowOrigins From(int64_t number);

  uint64_t key(int64_t row) const {
    return keys.empty() ? first.key + static_cast<uint64_t>(row) : keys[static_cast<size_t>(row)];
  }
  int64_t index(int64_t row) const {
    if (!each.empty()) return each[static_cast<size_t>(row)].index;
    return first.index < 0 ? -1 : first.index + row;
  }
  Origin at(int64_t row) const;
  // Whether no row has a file, and keys and indices count up from those of the first row.
  bool consecutive() const { return keys.empty() && each.empty() && !first.file; }
  // See Origin::Join; for `count` rows starting at `begin`.
  void Join(Origin& origin, int64_t begin, int64_t count) const;
  bool from_files() const;  // whether any row is

  RowOrigins Slice(int64_t begin, int64_t count) const;
  RowOrigins Take(const std::vector<int64_t>& rows) const;

  // Adds row `row`, after all rows before it.
  void Add(int64_t row, Origin origin) {
    if (origin.file || !Follows(row, origin.key, origin.index)) Write(row, std::move(origin));
  }
  // The same, with the origin of row `from` of `others`.
  void Add(int64_t row, const RowOrigins& others, int64_t from) {
    if (!others.consecutive() || !Follows(row, others.key(from), others.index(from)))
      Add(row, others.at(from));
  }

 private:
  // Whether row `row`, without a file, with this key and index follows from the rows before it,
  // which are consecutive.
  bool Follows(int64_t row, uint64_t key, int64_t index) const {
    return row > 0 && consecutive() && key == first.key + static_cast<uint64_t>(row) &&
           index == (first.index < 0 ? -1 : first.index + row);
  }
  void Write(int64_t row, Origin origin);
};

}  // namespace penstock
