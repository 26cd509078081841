// Files as memory: the system reads what is touched.
#pragma once

#include <string>

#include "data/buffer.h"

namespace penstock {

// The bytes of a regular file as they are; empty for an empty one. Writing to them changes a copy
// of this process, never the file. While they are held, the file must not become shorter: touching
// what is gone ends the process.
// A remote file is read as a whole.
BufferRef MapFile(const std::string& path);
BufferRef MapLocalFile(const std::string& path);
// The bytes of a file in memory of exactly their size.
BufferRef ReadExactly(const std::string& path);

}  // namespace penstock
