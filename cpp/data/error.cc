// Formatting and construction of errors.
#include "data/error.h"

#include <cerrno>
#include <charconv>
#include <new>
#include <system_error>

#include "data/printable.h"
#include "data/state_visitor.h"

namespace penstock {
namespace internal {

void AppendValue(std::string& out, std::string_view value) { out.append(Printable(value)); }
void AppendValue(std::string& out, int64_t value) { out.append(std::to_string(value)); }
void AppendValue(std::string& out, uint64_t value) { out.append(std::to_string(value)); }
void AppendValue(std::string& out, double value) {
  char text[32];
  auto end = std::to_chars(text, text + sizeof(text), value).ptr;
  out.append(text, end);
}

}  // namespace internal

Error Error::FromErrno(int code, const std::string& file, std::string message) {
  bool missing = code == ENOENT;
  const ErrorKind kind = missing          ? ErrorKind::kNotFound
                         : code == ENOMEM ? ErrorKind::kMemory
                                          : ErrorKind::kOs;
  if (code == EMFILE) {
    message +=
        ": this process may have no more files open; raise its limit (ulimit -n), or read "
        "fewer files at a time";
  }
  Error error(kind, "{}: {}", message, std::generic_category().message(code));
  error.os_error_ = code;
  error.origin_.file = std::make_shared<const std::string>(file);
  return error;
}

Error Error::Foreign(std::shared_ptr<void> exception) {
  Error error(ErrorKind::kForeign, "");
  error.foreign_ = std::move(exception);
  return error;
}

Error& Error::In(FailedStep step, Origin origin) {
  std::string note = Format("penstock: in stage {}, element {}", step.stage.text(), step.element);
  if (!step.text.empty()) note += step.text[0] == '(' ? " " + step.text : " (" + step.text + ")";
  if (origin.file) {
    note += Format(" (file {}", *origin.file);
    if (origin.offset >= 0) note += Format(", byte {}", origin.offset);
    note += ")";
  }
  Note(std::move(note));
  failed_step_ = std::make_shared<const FailedStep>(std::move(step));
  return At(std::move(origin));
}

void Error::Visit(StateVisitor& visitor) {
  auto kind = static_cast<uint64_t>(kind_);
  visitor.UInt(kind);
  visitor.Demand(kind <= static_cast<uint64_t>(ErrorKind::kInterrupted), "the kind of an error");
  kind_ = static_cast<ErrorKind>(kind);
  visitor.Text(message_);
  int64_t code = os_error_;
  visitor.Int(code);
  os_error_ = static_cast<int>(code);
  visitor.Bool(left_stage_);
  uint64_t count = notes_.size();
  visitor.UInt(count);
  if (!visitor.saving()) notes_.clear();
  for (uint64_t i = 0; i < count; ++i) {
    if (!visitor.saving()) notes_.emplace_back();
    visitor.Text(notes_[i]);
  }
  bool from_file = origin_.file != nullptr;
  visitor.Bool(from_file);
  if (from_file) {
    std::string file = visitor.saving() ? *origin_.file : "";
    visitor.Text(file);
    if (!visitor.saving()) origin_.file = std::make_shared<const std::string>(std::move(file));
  }
  visitor.UInt(origin_.key);
  visitor.Int(origin_.index);
  visitor.Int(origin_.offset);
  bool placed = failed_step_ != nullptr;
  visitor.Bool(placed);
  if (!placed) return;
  FailedStep step = visitor.saving() ? *failed_step_ : FailedStep();
  visitor.Text(step.stage.kind);
  visitor.Text(step.stage.name);
  visitor.Text(step.stage.function);
  visitor.Int(step.element);
  visitor.Text(step.text);
  if (!visitor.saving()) failed_step_ = std::make_shared<const FailedStep>(std::move(step));
}

void Error::LeftStage(const StageLabel& stage) noexcept {
  if (left_stage_ || transient()) return;
  left_stage_ = true;
  try {
    // Code that handles files knows only the kind of the stage.
    const bool known =
        failed_step_ && (!failed_step_->stage.plain() || failed_step_->stage.kind != stage.kind);
    if (!known && !stage.plain()) Note(Format("penstock: in stage {}", stage.text()));
  } catch (const std::bad_alloc&) {  // the rows before the error matter more than a note
  }
}

}  // namespace penstock
