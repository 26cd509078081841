// Caches the structure of the last value, which is nearly always the structure of the next one.
#pragma once

#include <mutex>

#include "data/structure.h"
#include "python/free_threads.h"

namespace penstock {

class LastStructure final {
 public:
  // For the values of one thread.
  class Use final {
   public:
#if defined(Py_GIL_DISABLED)
    explicit Use(LastStructure& shared) : shared_(shared) {
      std::lock_guard lock(shared_.mutex_);
      own_ = shared_.structure_;
    }
    const StructureRef& get() const { return own_; }
    void set(const StructureRef& structure) {
      own_ = structure;
      StructureRef before = structure;  // released after the lock
      std::lock_guard lock(shared_.mutex_);
      std::swap(shared_.structure_, before);
    }

   private:
    StructureRef own_;
#else
    explicit Use(LastStructure& shared) : shared_(shared) {}
    const StructureRef& get() const { return shared_.structure_; }
    void set(const StructureRef& structure) { shared_.structure_ = structure; }

   private:
#endif
    LastStructure& shared_;
  };

 private:
  InsteadOfGil mutex_;
  StructureRef structure_;
};

}  // namespace penstock
