// The classes and dict keys of structures. They live as long as a structure has them, and have
// names, so that a structure can be written to a file and restored in another process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/structure.h"

namespace penstock {

// The class of a named tuple or record, or the canonical keys of a dict. Destroying it releases a
// reference to the object.
struct ForeignForm {
  const void* object;
  std::string name;  // "" if it cannot be written to a file
  bool lasting;      // the object lives as long as the process in any case
};

// Also "" for a structure without a form.
inline const std::string& ForeignName(const Structure& structure) {
  static const std::string none;
  return structure.foreign_form() ? structure.foreign_form()->name : none;
}

// Null if no ForeignRef to this object exists.
ForeignRef KnownForeign(const void* object);
// Takes over a reference to the object. `fields` are the Structure::names() of its structures.
ForeignRef NameForeign(Structure::Kind kind, ForeignForm form,
                       const std::vector<std::string>& fields);

// Finds a form named in this process; otherwise asks the runtime, which may have no answer on a
// thread that must not call it. The result has these fields. `name` and `fields` may come from an
// unchecked file. Returns null if not found.
ForeignRef FindForeign(Structure::Kind kind, const std::string& name,
                       const std::vector<std::string>& fields);
// The number of unsuccessful calls of FindForeign on this thread. It shows the reader of a file
// whether an error may disappear once elements have named the missing form.
int64_t ForeignMisses();

}  // namespace penstock
