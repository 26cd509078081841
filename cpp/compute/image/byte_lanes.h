// Interpolates an output row from a row of bytes with shuffles.
#pragma once

#include <cstdint>
#include <vector>

#include "compute/image/resize_loops.h"

namespace penstock {

class ByteLanes {
 public:
  // `columns`: the neighbours of each output pixel; at most four channels.
  ByteLanes(const std::vector<Tap>& columns, int64_t channels);

  // How many windows each lane needs: 1 or 2; 0 if it needs more, which is not supported.
  int windows() const { return windows_; }
  ByteTaps taps() const;

 private:
  bool Fill(const std::vector<Tap>& columns, int64_t channels);

  int windows_;
  std::vector<int32_t> begins_[2];
  std::vector<uint32_t> lower_, upper_;
  std::vector<float> weights_;
};

}  // namespace penstock
