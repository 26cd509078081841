// The buffer of shuffle: a reservoir of rows, from which each output is chosen uniformly.
#pragma once

#include <unordered_map>
#include <vector>

#include "engine/dataset.h"
#include "engine/fills_ahead.h"
#include "engine/held_bytes.h"
#include "engine/row_cursor.h"
#include "runtime/cancel.h"
#include "stages/shuffle/reservoir.h"
#include "stages/shuffle/row_store.h"

namespace penstock {

// The contents of a shuffle's state, whether it buffers rows or only their indices.
struct ShuffleState {
  uint64_t key = 0;
  int64_t drawn = 0;
  int64_t items = 0;            // elements pulled
  bool ended = false;           // whether the input has ended
  int64_t forgotten = 0;        // number of input steps that failed earlier
  std::vector<int64_t> failed;  // positions of later failed steps
  int64_t pulled = 0;           // input steps
  int64_t back = 0;             // how many of them are pulled again

  void Visit(StateVisitor& visitor);
};

class ShuffleBuffer final : public BlockIterator, public FillsAhead {
 public:
  // `known`: the number of elements, kInfinite or kUnknown.
  ShuffleBuffer(IteratorPtr input, RandomKey key, int64_t size, int64_t known,
                const RunContext& context, const StageLabel& stage)
      : ahead_(std::move(input), kTogether),
        key_(key),
        size_(size),
        known_(known),
        slots_(key, size),
        held_(*context.session, stage, "use a smaller buffer_size"),
        cancel_(context.cancel) {}
  ~ShuffleBuffer() override { Clear(); }

  void VisitState(StateVisitor& visitor) override;
  int64_t Draining() override;
  std::optional<Error> FillAhead(int64_t steps) override;

 protected:
  Block DoNextBlock(int64_t max_rows) override;

 private:
  struct Held {
    int64_t position = 0;           // of its step in the input
    RowStore::Cell cell = nullptr;  // null: must be read again after a restore
  };

  // The number of input steps processed.
  int64_t position() const { return ahead_.position(); }
  void Fill(int64_t steps, int64_t more);
  void Pull(int64_t rows);
  RowStore::Cell KeepNext();
  Block Draw(int64_t max_rows);
  void PrefetchNext() const;
  void MoveRows();
  void Clear();
  Error TakeError();
  int64_t Low() const;
  void ForgetFailures(int64_t low);
  void Restore(StateVisitor& visitor);
  bool Refilling() const { return base_ + position() < refill_until_; }
  std::optional<Error> Refill();

  static constexpr int64_t kTogether = 64 << 10;  // bytes of rows that are pulled together

  RowCursor ahead_;  // pulled but not processed
  RandomKey key_;
  int64_t size_;
  const int64_t known_;
  Reservoir<Held> slots_;
  RowStore cells_;
  HeldBytes held_;                     // of cells_
  std::vector<RowStore::Cell> drawn_;  // for the block being built
  CancelToken cancel_;
  bool ahead_packs_ = false;  // its rows are stored as bytes
  int64_t items_ = 0;         // elements processed
  int64_t base_ = 0;          // steps before the input's own count started
  bool ended_ = false;
  std::vector<int64_t> failed_;  // positions of the input's errors,
  int64_t forgotten_ = 0;        // and the number of errors before them
  int64_t refill_until_ = 0;
  std::unordered_map<int64_t, size_t> waiting_;  // after a restore: position -> slot
};

}  // namespace penstock
