// A dataset that interleave opened for one element.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "engine/input.h"
#include "engine/producer.h"

namespace penstock {

// One open dataset, pulled inline or by its own thread.
class Opened {
 public:
  Opened(int64_t position, uint64_t parent, bool checked)
      : position_(position), parent_(parent), checked_(checked) {}

  // Each input has its own cancel token, because ending it must not end the others.
  void StartInline(DatasetPtr data, const RunContext& context) {
    data_ = std::move(data);
    input_.emplace(data_->Start(context));
  }
  void StartThread(DatasetPtr data, const RunContext& context, StageStats* stats,
                   ProducerOptions options) {
    data_ = std::move(data);
    CancelToken token = context.cancel.Child();
    producer_.emplace(*context.session, *data_, data_->Start(context.OnThread(token)), token, stats,
                      std::move(options));
  }
  // Starts the thread if it is not running.
  void RunAhead() {
    if (producer_ && !std::exchange(running_, true)) producer_->Start();
  }
  // See Iterator::RequestFirst; 0 once the thread has started.
  int64_t RequestFirst() {
    if (running_) return 0;
    return producer_ ? producer_->RequestFirst() : input_->iterator().RequestFirst();
  }
  bool Ready() { return !producer_ || producer_->Ready(); }
  Block Take(int64_t max_rows) {
    Block block = producer_ ? producer_->Take(max_rows) : input_->NextBlock(max_rows);
    if (input_) input_->Keep(input_->position());
    block.BecomeChildren(parent_, given_);  // identities derive from the outer dataset's element
    return block;
  }
  // See Iterator::Pass; inline only.
  std::optional<Error> Pass(int64_t& steps) {
    const int64_t before = steps;
    auto error = input_->Pass(steps);
    input_->Keep(input_->position());
    given_ += before - steps;
    return error;
  }
  void VisitState(StateVisitor& visitor) {
    visitor.Count(given_, "elements given of an open dataset");
    if (producer_)
      producer_->VisitState(visitor);
    else
      input_->VisitState(visitor);
  }
  int64_t position() const { return position_; }
  // Whether its elements are known to match the declared spec; otherwise each is checked.
  bool checked() const { return checked_; }

 private:
  const int64_t position_;  // of its element in the outer dataset
  const uint64_t parent_;
  const bool checked_;
  bool running_ = false;
  int64_t given_ = 0;
  DatasetPtr data_;
  std::optional<Input> input_;
  std::optional<Producer> producer_;
};
using OpenedPtr = std::unique_ptr<Opened>;

}  // namespace penstock
