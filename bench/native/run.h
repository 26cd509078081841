// Running a pipeline from C++, as a session does for Python.
#pragma once

#include "engine/registry.h"
#include "engine/session.h"

namespace penstock::bench {

// Takes all elements, a block at a time; returns how many. Throws the first error.
inline int64_t Drain(const DatasetPtr& data) {
  Session session(data, RunOptions{}, RunIdentity{});
  constexpr int64_t kBlock = 1024;
  int64_t rows = 0;
  for (bool end = false; !end;) {
    Block block = session.NextBlock(kBlock);
    if (block.error) throw *std::move(block.error);
    rows += block.rows;
    end = block.end;
  }
  return rows;
}

}  // namespace penstock::bench
