// File paths as text.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

// Throws a ValueError for a path that the system would truncate at a null character.
void RequireWhole(const std::string& path);
// Throws a DataError: a listed name refers to something that is not a file.
[[noreturn]] void ThrowNotPlain(const std::string& path);
// Whether a name is valid in the list of a folder: it leads neither to another folder nor to a
// device.
bool IsPlainName(std::string_view name);
// The final target of a link at `path`, whether or not it exists; `path` itself if it is not a
// link.
std::string WithoutLink(const std::string& path);

}  // namespace penstock
