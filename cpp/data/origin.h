// Where elements come from: the file and position of each, and the key of its random draws.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace penstock {

// Where an element or an error comes from.
struct Origin {
  uint64_t key = 0;    // the element's identity, given by its source: what randomness is keyed by
  int64_t index = -1;  // position in its source
  std::shared_ptr<const std::string> file;
  int64_t offset = -1;  // bytes into the file

  bool is_of(const std::string& name) const {
    return file && (file.get() == &name || *file == name);
  }
  void ForgetFile() {
    file = nullptr;
    offset = -1;
  }
  // Joins the origin of another element from which the same thing is made, as a batch is: the
  // result has a file only if all elements are from that file.
  void Join(const Origin& other) {
    if (file && !other.is_of(*file)) ForgetFile();
  }
};

// The origins of consecutive rows: stored one by one only where they do not follow from the first
// one.
struct RowOrigins {
  Origin first;                  // of row 0
  std::vector<uint64_t> keys;    // of the rows; empty: first.key + row
  std::vector<int64_t> offsets;  // of the rows in first.file; empty: only the first one's is known
  std::vector<Origin> each;  // of the rows, but for their keys; empty: they follow the first one

  // Of rows whose keys and positions are the numbers from `number` on.
  static RowOrigins From(int64_t number);

  uint64_t key(int64_t row) const {
    return keys.empty() ? first.key + static_cast<uint64_t>(row) : keys[static_cast<size_t>(row)];
  }
  int64_t index(int64_t row) const {
    if (!each.empty()) return each[static_cast<size_t>(row)].index;
    return first.index < 0 ? -1 : first.index + row;
  }
  Origin at(int64_t row) const;
  // Whether the rows are of no file, and keys and positions count on from the first row's.
  bool consecutive() const { return keys.empty() && each.empty() && !first.file; }
  // As Origin::Join, with `count` rows from row `begin` on.
  void Join(Origin& origin, int64_t begin, int64_t count) const;
  bool from_files() const;  // whether any row is

  RowOrigins Slice(int64_t begin, int64_t count) const;
  RowOrigins Take(const std::vector<int64_t>& rows) const;

  // Adds row number `row`, after all those before it.
  void Add(int64_t row, Origin origin) {
    if (origin.file || !Follows(row, origin.key, origin.index)) Write(row, std::move(origin));
  }
  // The same, with the origin of row `from` of `others`.
  void Add(int64_t row, const RowOrigins& others, int64_t from) {
    if (!others.consecutive() || !Follows(row, others.key(from), others.index(from)))
      Add(row, others.at(from));
  }

 private:
  // Whether row number `row`, of no file, with this key and index follows those before it, which
  // follow each other.
  bool Follows(int64_t row, uint64_t key, int64_t index) const {
    return row > 0 && consecutive() && key == first.key + static_cast<uint64_t>(row) &&
           index == (first.index < 0 ? -1 : first.index + row);
  }
  void Write(int64_t row, Origin origin);
};

}  // namespace penstock
