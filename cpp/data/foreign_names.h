// The classes and dict keys of structures: kept while a structure has them, and with names, so that
// a structure can be written to a file and found again by another process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/structure.h"

namespace penstock {

// The class of a named tuple or record, or the canonical keys of a dict; a reference to the object
// is released with it.
struct ForeignForm {
  const void* object;
  std::string name;  // "" for one that no file can hold
  bool lasting;      // the object lives as long as the process, whoever else has it
};

// "" also for a structure that has neither.
inline const std::string& ForeignName(const Structure& structure) {
  static const std::string none;
  return structure.foreign_form() ? structure.foreign_form()->name : none;
}

// Null when no ForeignRef to this object exists.
ForeignRef KnownForeign(const void* object);
// Takes over a reference to the object. `fields` are Structure::names() of its structures.
ForeignRef NameForeign(Structure::Kind kind, ForeignForm form,
                       const std::vector<std::string>& fields);

// Looks up what has been named in this process; asks the runtime for the rest, which may have no
// answer on a thread that cannot call it. What is found has these fields: both may come from a file
// that has not been checked. Null: not found.
ForeignRef FindForeign(Structure::Kind kind, const std::string& name,
                       const std::vector<std::string>& fields);
// How many of these lookups have found nothing on this thread. A reader of a file sees by it
// whether an error may disappear once elements have named what was sought.
int64_t ForeignMisses();

}  // namespace penstock
