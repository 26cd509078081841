// prefetch(0), or any prefetch in debug mode: does not run ahead; its state is that of any other
// prefetch.
#pragma once

#include <string>

#include "engine/input.h"

namespace penstock {

class PassIterator final : public BlockIterator {
 public:
  explicit PassIterator(IteratorPtr input) : input_(std::move(input)) {}
  std::string state_name() const override { return "prefetch"; }
  void VisitState(StateVisitor& visitor) override { input_.VisitState(visitor); }
  std::optional<Error> Discard(int64_t& steps) override { return input_.Discard(steps); }

 protected:
  Block DoNextBlock(int64_t max_rows) override {
    input_.Keep(input_.position());
    return input_.NextBlock(max_rows);
  }

 private:
  Input input_;
};

}  // namespace penstock
