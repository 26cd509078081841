// Bytes of a local or remote file through a window that is read ahead in large pieces.
#include "sources/byte_source.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "element/error.h"
#include "pipeline/file.h"
#include "pipeline/record_reader.h"
#include "runtime/blocking.h"

namespace penstock {
namespace {

class PlainBytes final : public ByteSource {
 public:
  PlainBytes(std::string path, const Opener& opener, size_t chunk)
      : path_(std::move(path)), file_(opener.Open(path_)), chunk_(std::max<size_t>(chunk, 4096)) {}

  size_t Fill(size_t size) override {
    while (end_ - begin_ < size && !ended_) {
      if (begin_ > 0 && (end_ == begin_ || window_.size() - end_ < chunk_)) {
        std::memmove(window_.data(), window_.data() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
      }
      // Doubling: a record of any length costs a constant number of moves per byte.
      if (window_.size() - end_ < chunk_) window_.resize(std::max(end_ + chunk_, 2 * end_));
      LeaveForeignLock();
      size_t got = file_->Read(offset_ + static_cast<int64_t>(end_ - begin_), window_.data() + end_,
                               window_.size() - end_);
      ended_ = got == 0;
      end_ += got;
    }
    return end_ - begin_;
  }
  const uint8_t* data() const override { return window_.data() + begin_; }
  void Skip(size_t size) override {
    begin_ += size;
    offset_ += static_cast<int64_t>(size);
  }
  int64_t offset() const override { return offset_; }
  void Seek(int64_t offset) override {
    begin_ = end_ = 0;
    ended_ = false;
    offset_ = offset;
  }
  const std::string& path() const override { return path_; }

 private:
  std::string path_;
  std::unique_ptr<InputFile> file_;
  size_t chunk_;
  std::vector<uint8_t> window_;
  size_t begin_ = 0;
  size_t end_ = 0;
  int64_t offset_ = 0;  // of begin_ in the file
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> OpenBytes(const std::string& path, const Opener& opener, size_t chunk) {
  return std::make_unique<PlainBytes>(path, opener, chunk);
}

}  // namespace penstock
