// Files as memory, wherever they are.
#include "storage/mapped_file.h"

#include <algorithm>

#include "storage/file.h"
#include "storage/remote.h"

namespace penstock {

BufferRef MapFile(const std::string& path) {
  return IsRemote(path) ? ReadExactly(path) : MapLocalFile(path);
}

BufferRef ReadExactly(const std::string& path) {
  size_t size = 0;
  const BufferRef content = ReadWholeFile(path, &size);
  BufferRef exact = Buffer::Allocate(size);
  std::copy_n(content->data(), size, exact->data());
  return exact;
}

}  // namespace penstock
