// The calls of a thread, the innermost first.
#include "python/running_call.h"

#include "data/element_text.h"
#include "python/gil.h"

namespace penstock {
namespace {

thread_local RunningCall::Thread* t_thread = nullptr;

}  // namespace

void RunningCall::SetThread(Thread* thread) { t_thread = thread; }

RunningCall::RunningCall(const StageLabel& stage, int64_t first, const int64_t& row,
                         const Block* rows)
    : thread_(t_thread), stage_(stage), first_(first), row_(row), rows_(rows) {
  if (!thread_) return;
  std::lock_guard lock(thread_->mutex);
  outer_ = thread_->call;
  thread_->call = this;
}

RunningCall::~RunningCall() {
  if (!thread_) return;
  {
    std::lock_guard lock(thread_->mutex);
    thread_->call = outer_;
  }
  CurrentAttachment()->EndIfForked();
}

std::string RunningCall::text() const {
  std::string text = Format("{}, element {}", stage_.text(), first_ + row_);
  std::string element = rows_ && row_ < rows_->rows ? RowText(*rows_, row_) : "";
  if (element.empty()) return text;
  return text + (element[0] == '(' ? " " + element : " (" + element + ")");
}

}  // namespace penstock
