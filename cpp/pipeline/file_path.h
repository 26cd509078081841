// Paths of files, as text.
#pragma once

#include <string>

namespace penstock {

// Throws a ValueError for a path that the system would cut off at a null character.
void RequireWhole(const std::string& path);
// The path that a link at `path` leads to at last, there or not; `path` itself when it is none.
std::string WithoutLink(const std::string& path);

}  // namespace penstock
