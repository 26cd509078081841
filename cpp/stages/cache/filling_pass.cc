// Writing while delivering, and handling failures of either.
#include "stages/cache/filling_pass.h"

#include <cerrno>

namespace penstock {
namespace {

void WarnNotKept(Session& session, const FillingOptions& options, const Error& error) {
  session.Warn(Format("{}: {}; the elements of this pass are not kept, and will be computed again",
                      options.stage, error.message()));
}

}  // namespace

std::unique_ptr<RowSink> MakeSink(Session& session, const FillingOptions& options,
                                  const std::function<std::unique_ptr<RowSink>()>& make) {
  try {
    return make();
  } catch (const Error& error) {
    bool full = error.os_error() == ENOSPC;
#if defined(EDQUOT)
    full = full || error.os_error() == EDQUOT;
#endif
    if (!options.best_effort || !full) throw;
    WarnNotKept(session, options, error);
    return nullptr;
  }
}

// The sink has stored the first `kept` rows of the block.
void FillingPass::Failed(Block& block, int64_t kept, const Error& error) {
  sink_.reset();
  whole_ = false;
  outcome_ = Outcome::kNone;
  if (options_.best_effort && error.os_error() != 0) {
    WarnNotKept(session_, options_, error);
    return;
  }
  // The element can never be stored: the pass ends with it.
  ended_ = true;
  if (kept == 0) {
    block = Block::Of(error);
    return;
  }
  block = block.Slice(0, kept);
  error_ = error;  // as a separate step: a caller that asked for one row ignores an error after it
}

Block FillingPass::Next(int64_t max_rows) {
  if (error_) return Block::Of(*std::exchange(error_, std::nullopt));
  if (ended_) return Block::AtEnd();
  Block block = input_->NextBlock(max_rows);
  EndAlone(block);
  rows_ += block.rows;
  if (sink_ && block.rows > 0) Keep(block);
  // The next pass tries failed elements again.
  if (block.error && !block.error->transient()) {
    sink_.reset();
    whole_ = false;
  }
  if (whole_ && (block.end || rows_ == options_.cardinality)) Complete(block);
  return block;
}

void FillingPass::Keep(Block& block) {
  int64_t before = sink_->rows();
  try {
    sink_->Append(block);
  } catch (const Error& error) {
    Failed(block, sink_->rows() - before, error);
  }
}

void FillingPass::Complete(Block& block) {
  whole_ = false;  // reported once
  outcome_ = Outcome::kWhole;
  if (!sink_) return;
  try {
    sink_->Commit();
    sink_.reset();
    outcome_ = Outcome::kWritten;
  } catch (const Error& error) {
    Failed(block, block.rows, error);
  }
}

void FillingPass::VisitState(StateVisitor& visitor) {
  visitor.Bool(ended_);
  visitor.Bool(whole_);
  visitor.Count(rows_, "elements made");
  VisitChild(visitor, *input_);
  if (!visitor.saving()) sink_.reset();
}

}  // namespace penstock
