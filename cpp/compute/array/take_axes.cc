// Copies by tables, in runs as long as the tables permit.
#include "compute/array/take_axes.h"

#include <algorithm>
#include <cstring>

namespace penstock {
namespace {

// `count` consecutive indices from `begin` on, or all kOtherwise.
struct Run {
  int64_t begin, count;
};

std::vector<Run> RunsOf(const AxisTable& table) {
  std::vector<Run> runs;
  for (int64_t from : table) {
    if (!runs.empty()) {
      Run& last = runs.back();
      bool follows = last.begin == kOtherwise
                         ? from == kOtherwise
                         : from != kOtherwise && from == last.begin + last.count;
      if (follows) {
        ++last.count;
        continue;
      }
    }
    runs.push_back({from, 1});
  }
  return runs;
}

class Taker {
 public:
  Taker(const Tensor& x, const std::vector<AxisTable>& tables, const uint8_t* otherwise,
        Tensor& out)
      : tables_(tables),
        shape_(out.shape()),
        item_(x.dtype().itemsize),
        otherwise_(otherwise),
        to_(out.mutable_data()) {
    int64_t from = static_cast<int64_t>(item_), made = from;
    strides_.resize(tables.size());
    sizes_.resize(tables.size());
    for (size_t i = tables.size(); i-- > 0;) {
      strides_[i] = from;
      sizes_[i] = made;
      from *= x.shape()[static_cast<int>(i)];
      made *= out.shape()[static_cast<int>(i)];
    }
    for (size_t i = 0; i < tables.size(); ++i) {
      if (!tables[i].empty()) last_ = i;
    }
    runs_ = RunsOf(tables[last_]);
  }

  void Take(const uint8_t* from, size_t axis) {
    if (axis == last_) {
      for (const Run& run : runs_) {
        if (run.begin == kOtherwise) {
          Fill(run.count * sizes_[axis]);
        } else {
          Copy(from + run.begin * strides_[axis], run.count * sizes_[axis]);
        }
      }
    } else if (tables_[axis].empty()) {
      for (int64_t i = 0; i < shape_[static_cast<int>(axis)]; ++i)
        Take(from + i * strides_[axis], axis + 1);
    } else {
      for (int64_t place : tables_[axis]) {
        if (place == kOtherwise) {
          Fill(sizes_[axis]);
        } else {
          Take(from + place * strides_[axis], axis + 1);
        }
      }
    }
  }

 private:
  void Copy(const uint8_t* from, int64_t bytes) {
    std::memcpy(to_, from, static_cast<size_t>(bytes));
    to_ += bytes;
  }

  void Fill(int64_t bytes) {
    FillItems(otherwise_, item_, to_, static_cast<size_t>(bytes));
    to_ += bytes;
  }

  const std::vector<AxisTable>& tables_;
  const Shape& shape_;  // of the output
  const size_t item_;
  const uint8_t* otherwise_;
  uint8_t* to_;
  std::vector<int64_t> strides_;  // of the input along each axis, in bytes
  std::vector<int64_t> sizes_;    // of one index of the output along each axis, in bytes
  size_t last_ = 0;               // all axes after it are kept
  std::vector<Run> runs_;         // of the table of that axis
};

}  // namespace

// Copies the first item, then doubles the filled part each time.
void FillItems(const uint8_t* item, size_t itemsize, uint8_t* to, size_t bytes) {
  if (bytes == 0) return;
  std::memcpy(to, item, itemsize);
  for (size_t done = itemsize; done < bytes;) {
    size_t more = std::min(done, bytes - done);
    std::memcpy(to + done, to, more);
    done += more;
  }
}

void TakeAxes(const Tensor& x, const std::vector<AxisTable>& tables, const uint8_t* otherwise,
              Tensor& out) {
  if (out.elements() == 0) return;
  bool kept = true;
  for (const AxisTable& table : tables) kept = kept && table.empty();
  if (kept) {
    std::memcpy(out.mutable_data(), x.data(), x.nbytes());
    return;
  }
  Taker(x, tables, otherwise, out).Take(x.data(), 0);
}

}  // namespace penstock
