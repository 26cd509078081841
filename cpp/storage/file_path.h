// Paths of files, as text.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

// Throws a ValueError for a path that the system would cut off at a null character.
void RequireWhole(const std::string& path);
// Throws a DataError: a name in a list leads to something that is not a file.
[[noreturn]] void ThrowNotPlain(const std::string& path);
// A name of a file in a folder that is listed: no way to another folder, or to a device.
bool IsPlainName(std::string_view name);
// The path that a link at `path` leads to at last, there or not; `path` itself when it is none.
std::string WithoutLink(const std::string& path);

}  // namespace penstock
