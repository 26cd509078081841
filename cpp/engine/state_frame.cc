// Sealing and opening states.
#include "engine/state_frame.h"

#include "data/error.h"
#include "engine/state.h"
#include "storage/crc32c.h"

namespace penstock {
namespace {

constexpr std::string_view kMagic = "PSTK";
constexpr uint64_t kStateVersion = 7;
constexpr size_t kChecksum = 4;

}  // namespace

std::string StateFrame::Sealed() const {
  std::string out(kMagic);
  StateVisitor visitor(&out);
  uint64_t version = kStateVersion;
  visitor.UInt(version);
  for (std::string text : {plan, account, shared, seeds, body}) visitor.Text(text);
  uint32_t crc = Crc32c(out.data(), out.size());
  for (size_t i = 0; i < kChecksum; ++i) out.push_back(static_cast<char>(crc >> (8 * i)));
  return out;
}

StateFrame StateFrame::Open(std::string_view state) {
  if (state.size() < kMagic.size() + kChecksum || !state.starts_with(kMagic)) {
    throw Error(ErrorKind::kInvalidArgument,
                "set_state: these bytes are not a state of an iterator; use those of get_state");
  }
  std::string_view sealed = state.substr(0, state.size() - kChecksum);
  uint32_t crc = 0;
  for (size_t i = 0; i < kChecksum; ++i) {
    crc |= static_cast<uint32_t>(static_cast<uint8_t>(state[sealed.size() + i])) << (8 * i);
  }
  if (crc != Crc32c(sealed.data(), sealed.size())) {
    throw Error(
        ErrorKind::kInvalidArgument,
        "set_state: the state is damaged or truncated; use the bytes of get_state unchanged");
  }
  StateVisitor visitor(sealed.substr(kMagic.size()));
  uint64_t version;
  visitor.UInt(version);
  if (version != kStateVersion) {
    throw Error(ErrorKind::kInvalidArgument,
                "set_state: the state has version {}, this penstock reads version {}; {}", version,
                kStateVersion,
                version > kStateVersion ? "it was saved by a newer one, upgrade this one"
                                        : "it was saved by an older one, start from the beginning");
  }
  StateFrame frame;
  visitor.Text(frame.plan);
  visitor.Text(frame.account);
  visitor.Text(frame.shared);
  visitor.Text(frame.seeds);
  visitor.Text(frame.body);
  visitor.ExpectEnd();
  return frame;
}

}  // namespace penstock
