// Names for the classes and dict keys of structures, so that a structure can be written to a file
// and found again by another process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "element/structure.h"

namespace penstock {

// Told by the folder that knows the foreign runtime, for each new Structure::foreign(): its name,
// "" for one that no file can hold, and Structure::names().
void NameForeign(Structure::Kind kind, const void* foreign, std::string name,
                 const std::vector<std::string>& fields);
bool ForeignIsNamed(const void* foreign);
// "" for null, and for what no file can hold.
std::string ForeignName(const void* foreign);

// Looks up what has been named in this process; asks the runtime for the rest, which may have no
// answer on a thread that cannot call it. What is found has these fields: both may be of a file
// that nobody has checked. Null: not found.
const void* FindForeign(Structure::Kind kind, const std::string& name,
                        const std::vector<std::string>& fields);
// How many of these have found nothing, on this thread: whoever reads a file learns from it whether
// an error may be mended by elements that name what was sought.
int64_t ForeignMisses();
using ForeignFinder = const void* (*)(Structure::Kind kind, const std::string& name,
                                      const std::vector<std::string>& fields);
inline ForeignFinder g_find_foreign = nullptr;  // set once, by that folder

}  // namespace penstock
