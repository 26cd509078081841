// What temporaries of all systems have in common: which targets are refused.
#include "storage/temporary.h"

#include <cerrno>

#include "data/error.h"

namespace penstock {
void ThrowTaken(std::string_view stage, const std::string& target, OurKind kind) {
  std::string_view what = kind == OurKind::kFile
                              ? "is no cache; choose another name or remove it"
                              : "is no saved dataset, or has other files in it; choose another "
                                "path or remove it";
  throw Error::FromErrno(EEXIST, target, Format("{}: {} exists and {}", stage, target, what));
}

void RequireReplaceable(std::string_view stage, const std::string& target, OurKind kind) {
  if (LookAt(target, kind, true) == Occupant::kForeign) ThrowTaken(stage, target, kind);
}

}  // namespace penstock
