// Files as memory on Windows: they are read as a whole.
#if defined(_WIN32)
#include <algorithm>

#include "storage/file.h"
#include "storage/mapped_file.h"

namespace penstock {

BufferRef MapFile(const std::string& path) {
  size_t size = 0;
  BufferRef content = ReadWholeFile(path, &size);
  BufferRef exact = Buffer::Allocate(size);
  std::copy_n(content->data(), size, exact->data());
  return exact;
}

}  // namespace penstock
#endif
