// Files as memory on Windows: they are read as a whole.
#if defined(_WIN32)
#include "storage/mapped_file.h"

namespace penstock {

BufferRef MapLocalFile(const std::string& path) { return ReadExactly(path); }

}  // namespace penstock
#endif
