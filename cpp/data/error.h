// Errors are values with a position in the stream: thrown inside a stage, passed as values between
// stages.
#pragma once

#include <concepts>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/origin.h"
#include "runtime/stage_label.h"

namespace penstock {

class StateVisitor;

enum class ErrorKind : uint8_t {
  kInvalidArgument,  // ValueError
  kType,             // TypeError
  kOverflow,         // OverflowError: an integer that its type does not hold
  kNotFound,         // FileNotFoundError
  kOs,               // OSError with its errno
  kData,             // penstock.DataError: corrupt input
  kState,            // penstock.StateError: something that a saved state needs is missing
  kMemory,           // MemoryError
  kRecursion,        // RecursionError: a thread's stack is too small
  kRuntime,          // RuntimeError
  kWorker,           // penstock.WorkerError: a worker process has ended
  kForeign,          // an exception of the foreign runtime, re-raised unchanged
  kCancelled,        // the session is closing; never shown
  kInterrupted,      // a signal handler raised; nothing was consumed
};

// The step of a stage that failed.
struct FailedStep {
  StageLabel stage;
  int64_t element = 0;  // its index at the stage
  std::string text;     // a short form of the element (ElementText), or ""
};

namespace internal {
void AppendValue(std::string& out, std::string_view value);
void AppendValue(std::string& out, int64_t value);
void AppendValue(std::string& out, uint64_t value);
void AppendValue(std::string& out, double value);
template <std::integral T>
void AppendAny(std::string& out, T value) {
  if constexpr (std::is_signed_v<T>)
    AppendValue(out, static_cast<int64_t>(value));
  else
    AppendValue(out, static_cast<uint64_t>(value));
}
template <std::floating_point T>
void AppendAny(std::string& out, T value) {
  AppendValue(out, static_cast<double>(value));
}
inline void AppendAny(std::string& out, std::string_view value) { AppendValue(out, value); }
}  // namespace internal

// Replaces each "{}" of `format` in order (GCC 12 has no std::format). Escapes texts, see
// Printable.
template <typename... Args>
std::string Format(std::string_view format, const Args&... args) {
  std::string out;
  [[maybe_unused]] auto next = [&](const auto& arg) {
    size_t at = format.find("{}");
    out.append(format.substr(0, at));
    internal::AppendAny(out, arg);
    format.remove_prefix(at == std::string_view::npos ? format.size() : at + 2);
  };
  (next(args), ...);
  return out.append(format);
}

class Error : public std::exception {
 public:
  template <typename... Args>
  Error(ErrorKind kind, std::string_view format, const Args&... args)
      : kind_(kind), message_(Format(format, args...)) {}
  // Appends errno and its text: "read_file: cannot open a.txt: Permission denied".
  static Error FromErrno(int code, const std::string& file, std::string message);
  // An exception object of the foreign runtime.
  static Error Foreign(std::shared_ptr<void> exception);

  ErrorKind kind() const { return kind_; }
  const std::string& message() const { return message_; }
  const char* what() const noexcept override { return message_.c_str(); }
  const Origin& origin() const { return origin_; }
  const std::shared_ptr<void>& foreign() const { return foreign_; }
  int os_error() const { return os_error_; }
  const std::vector<std::string>& notes() const { return notes_; }

  Error& At(Origin origin) {
    origin_ = std::move(origin);
    return *this;
  }
  Error& Note(std::string note) {
    notes_.push_back(std::move(note));
    return *this;
  }
  // Adds a note that names the failed element, its stage and its file.
  Error& In(FailedStep step, Origin origin);
  const FailedStep* failed_step() const { return failed_step_.get(); }
  // Reads or writes everything except the exception of the foreign runtime.
  void Visit(StateVisitor& visitor);
  // Attaches the original exception to an error that was read.
  void Becomes(std::shared_ptr<void> exception) { foreign_ = std::move(exception); }
  // Called by the frame of the stage that the error arises in, before any other stage sees it. An
  // error without a FailedStep gets a note with the stage's label, if the label says more than the
  // kind of the stage and there is memory for the note.
  void LeftStage(const StageLabel& stage) noexcept;
  // Interruptions and cancellations pass through stages without being counted as elements.
  bool transient() const {
    return kind_ == ErrorKind::kCancelled || kind_ == ErrorKind::kInterrupted;
  }

 private:
  ErrorKind kind_;
  std::string message_;
  Origin origin_;
  std::shared_ptr<void> foreign_;
  int os_error_ = 0;
  bool left_stage_ = false;
  std::shared_ptr<const FailedStep> failed_step_;
  std::vector<std::string> notes_;
};

}  // namespace penstock
