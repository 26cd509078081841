// A cache of a dataset's open files.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "storage/file.h"

namespace penstock {

// Keeps the most recently used files open: enough for most datasets to open each file only once.
class OpenFiles {
 public:
  using FilePtr = std::shared_ptr<InputFile>;

  template <typename Open>
  FilePtr Get(size_t number, Open open) {
    {
      std::lock_guard lock(mutex_);
      auto found = open_.find(number);
      if (found != open_.end()) {
        used_.splice(used_.begin(), used_, found->second.used);
        return found->second.file;
      }
    }
    FilePtr file = open();
    FilePtr dropped;  // closed after the lock
    std::lock_guard lock(mutex_);
    if (!open_.contains(number)) {
      used_.push_front(number);
      open_[number] = {file, used_.begin()};
    }
    if (open_.size() > most_) {
      dropped = std::move(open_[used_.back()].file);
      open_.erase(used_.back());
      used_.pop_back();
    }
    return file;
  }

 private:
  const size_t most_ = MostKeptOpen();
  struct Entry {
    FilePtr file;
    std::list<size_t>::iterator used;
  };
  std::mutex mutex_;  // a leaf lock
  std::unordered_map<size_t, Entry> open_;
  std::list<size_t> used_;  // most recently used first
};

}  // namespace penstock
