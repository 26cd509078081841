// What the engine must know of objects of a foreign runtime, without seeing it.
#pragma once

#include <string_view>

namespace penstock {

// The bytes (UTF-8 for text) of a string object that is held by a kObjects tensor. Set once, at
// import, by the folder that knows the runtime; called without any lock of it.
using ForeignString = std::string_view (*)(const void* object);
inline ForeignString g_foreign_string = nullptr;

}  // namespace penstock
