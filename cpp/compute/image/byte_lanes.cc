// The shuffles for a row: which byte of which window becomes which value.
#include "compute/image/byte_lanes.h"

namespace penstock {
namespace {

constexpr int64_t kMostChannels = 4;
// For each byte of the result, a shuffle mask has the index of a byte in the window; the result is
// zero where the highest bit is set.
constexpr uint32_t kNoByte = 0x80808080;
constexpr uint32_t kOneByte = 0x80808000;

size_t LanesFor(size_t values) {
  constexpr size_t kTogether = ByteTaps::kValues * ByteTaps::kLanes;
  return (values + kTogether - 1) / kTogether * ByteTaps::kLanes;
}

}  // namespace

ByteLanes::ByteLanes(const std::vector<Tap>& columns, int64_t channels) : windows_(0) {
  if (channels < 1 || channels > kMostChannels) return;
  const size_t lanes = LanesFor(columns.size() * static_cast<size_t>(channels));
  for (auto& begins : begins_) begins.resize(lanes);
  lower_.assign(lanes * ByteTaps::kValues, kNoByte);
  upper_.assign(lower_.size(), kNoByte);
  weights_.resize(lower_.size());
  for (int windows : {1, 2}) {
    windows_ = windows;
    if (Fill(columns, channels)) return;
  }
  windows_ = 0;
}

// False if lanes need more than `windows_` windows.
bool ByteLanes::Fill(const std::vector<Tap>& columns, int64_t channels) {
  const int64_t width = ByteTaps::kWindow / windows_;
  size_t value = 0, lane = 0;
  int64_t begin = 0, window = 0;
  for (const Tap& tap : columns) {
    for (int64_t c = 0; c < channels; ++c, ++value) {
      const bool lane_begins = value % ByteTaps::kValues == 0;
      if (lane_begins) {
        lane = value / ByteTaps::kValues;
        window = 0;
      } else if (c == 0 && windows_ == 2) {
        if (++window == 2) return false;
      }
      if (lane_begins || (c == 0 && windows_ == 2)) {
        begin = tap.lower;
        begins_[window][lane] = static_cast<int32_t>(begin);
      }
      const int64_t lower = tap.lower + c - begin, upper = tap.upper + c - begin;
      if (upper >= width) return false;
      lower_[value] = kOneByte | static_cast<uint32_t>(window * width + lower);
      upper_[value] = kOneByte | static_cast<uint32_t>(window * width + upper);
      weights_[value] = tap.weight;
    }
  }
  return true;
}

ByteTaps ByteLanes::taps() const {
  return {{begins_[0].data(), begins_[1].data()},
          lower_.data(),
          upper_.data(),
          weights_.data(),
          static_cast<int64_t>(begins_[0].size())};
}

}  // namespace penstock
