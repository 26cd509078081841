// The format of states: varints, and texts with their lengths.
#include "data/state_visitor.h"

#include "data/error.h"

namespace penstock {
namespace {

[[noreturn]] void Damaged() {
  throw Error(ErrorKind::kInvalidArgument,
              "set_state: the state is damaged or truncated; use the bytes of get_state unchanged");
}

uint64_t Zigzag(int64_t v) {
  return (static_cast<uint64_t>(v) << 1) ^ static_cast<uint64_t>(v >> 63);
}
int64_t Unzigzag(uint64_t v) { return static_cast<int64_t>(v >> 1) ^ -static_cast<int64_t>(v & 1); }

}  // namespace

void StateVisitor::PutVarint(uint64_t value) {
  while (value >= 0x80) {
    out_->push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out_->push_back(static_cast<char>(value));
}

uint64_t StateVisitor::GetVarint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (in_.empty()) Damaged();
    auto byte = static_cast<uint8_t>(in_.front());
    in_.remove_prefix(1);
    if (shift == 63 && byte > 1) Damaged();
    value |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
  Damaged();
}

void StateVisitor::Int(int64_t& value) {
  if (saving())
    PutVarint(Zigzag(value));
  else
    value = Unzigzag(GetVarint());
}

void StateVisitor::UInt(uint64_t& value) {
  if (saving())
    PutVarint(value);
  else
    value = GetVarint();
}

void StateVisitor::Bool(bool& value) {
  uint64_t bit = saving() && value;  // when restoring, `value` may be uninitialised
  UInt(bit);
  if (bit > 1) Damaged();
  value = bit != 0;
}

void StateVisitor::Text(std::string& value) {
  if (!saving()) {
    value = TextView();
    return;
  }
  PutVarint(value.size());
  out_->append(value);
}

std::string_view StateVisitor::TextView() {
  uint64_t size = GetVarint();
  if (size > in_.size()) Damaged();
  std::string_view text = in_.substr(0, size);
  in_.remove_prefix(size);
  return text;
}

void StateVisitor::Ints(std::vector<int64_t>& values) {
  uint64_t size = values.size();
  UInt(size);
  if (!saving()) {
    if (size > in_.size()) Damaged();  // each takes at least a byte
    values.assign(size, 0);
  }
  uint64_t previous = 0;  // neighbours are close, so deltas are short; they wrap around
  for (auto& value : values) {
    auto delta = static_cast<int64_t>(static_cast<uint64_t>(value) - previous);
    Int(delta);
    previous += static_cast<uint64_t>(delta);
    value = static_cast<int64_t>(previous);
  }
}

void StateVisitor::UInts(std::vector<uint64_t>& values) {
  uint64_t size = values.size();
  UInt(size);
  if (!saving()) {
    if (size > in_.size()) Damaged();
    values.assign(size, 0);
  }
  for (auto& value : values) UInt(value);
}

void StateVisitor::Blob(StateBlob& blob) {
  bool present = blob != nullptr;
  Bool(present);
  if (saving()) {
    if (!present) return;
    PutVarint(blob->size());
    out_->append(*blob);
  } else {
    blob = present ? std::make_shared<const std::string>(TextView()) : nullptr;
  }
}

void StateVisitor::IntIn(int64_t& value, int64_t least, int64_t most, std::string_view what) {
  Int(value);
  if (saving() || (value >= least && value <= most)) return;
  ThrowDamaged(stage_, Format("{} must be from {} to {}, got {}", what, least, most, value));
}

void StateVisitor::IntsIn(std::vector<int64_t>& values, int64_t least, int64_t most,
                          std::string_view what) {
  Ints(values);
  if (saving()) return;
  for (int64_t value : values) {
    if (value >= least && value <= most) continue;
    ThrowDamaged(stage_, Format("{} must be from {} to {}, got {}", what, least, most, value));
  }
}

void StateVisitor::Count(int64_t& value, std::string_view what, int64_t most) {
  IntIn(value, 0, most, what);
}

void StateVisitor::Position(int64_t& value, int64_t size) {
  Int(value);
  if (saving() || (value >= 0 && value <= size)) return;
  const std::string problem = Format("rows given must be from 0 to {}, got {}", size, value);
  if (value < 0) ThrowDamaged(stage_, problem);
  throw Error(ErrorKind::kInvalidArgument,
              "set_state: the state is damaged, or of a source that was longer: {}: {}; it stands "
              "after the end of the {} elements that there are now: give the source those that it "
              "had, or begin without a state",
              stage_, problem, size);
}

void StateVisitor::ThrowDamaged(std::string_view stage, std::string_view what) {
  throw Error(ErrorKind::kInvalidArgument,
              "set_state: the state is damaged: {}{}{}; use the bytes of get_state unchanged, and "
              "the pipeline as it was",
              stage, stage.empty() ? "" : ": ", what);
}

void StateVisitor::ExpectEnd() const {
  if (!in_.empty()) Damaged();
}

}  // namespace penstock
