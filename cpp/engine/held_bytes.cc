// Charges held memory to the budget, and rejects what can never fit within the limit.
#include "engine/held_bytes.h"

#include "engine/session.h"

namespace penstock {

HeldBytes::HeldBytes(Session& session, const StageLabel& stage, const char* instead)
    : session_(session), stage_(stage), instead_(instead), counts_(session.options().counts_all) {}

void HeldBytes::Set(size_t bytes) {
  if (!counts_) return;
  const int64_t more = static_cast<int64_t>(bytes) - bytes_;
  bytes_ += more;
  session_.AddHeld(more);
  if (more > 0) session_.budget().Charge(more);
  if (more < 0) session_.budget().Release(-more);
}

std::optional<Error> HeldBytes::Excess() const {
  const int64_t limit = session_.budget().limit();
  const int64_t all = session_.held();
  if (!counts_ || bytes_ == 0 || all <= limit) return std::nullopt;
  return Error(ErrorKind::kMemory,
               "{}: it holds {} bytes, and all stages {}, where memory_limit is {} and count_all "
               "counts them; {}, or raise memory_limit",
               stage_.kind, bytes_, all, limit, instead_);
}

}  // namespace penstock
