// A pass over the input that also writes the elements it delivers. Used by cache in a file and by
// snapshot until they are complete.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "engine/session.h"

namespace penstock {

// The destination of the rows. Destroying it without Commit leaves no files.
class RowSink {
 public:
  virtual ~RowSink() = default;
  // Throws an Error: of the operating system, or one that names the element that cannot be stored.
  virtual void Append(const Block& rows) = 0;
  virtual int64_t rows() const = 0;  // appended so far
  virtual void Commit() = 0;
};

struct FillingOptions {
  std::string stage;         // for messages
  int64_t cardinality = -2;  // of the input, or negative
  // A write failure only loses the written data: elements continue, with a warning. Otherwise it is
  // an error.
  bool best_effort = true;
};

// A stage that keeps its elements completes after the last one if it knows their number; otherwise
// when it is asked for more and there is none. It never emits the end together with an element,
// whether it produces or reads its elements, because the content that other stages find in it
// depends on this moment.
inline void EndAlone(Block& block) { block.end = block.end && block.rows == 0; }

class FillingPass {
 public:
  enum class Outcome { kNone, kWhole, kWritten };

  // `sink`: null only passes the elements through. `whole`: false if the sink could not be created.
  FillingPass(IteratorPtr input, std::unique_ptr<RowSink> sink, bool whole, Session& session,
              FillingOptions options)
      : input_(std::move(input)),
        sink_(std::move(sink)),
        whole_(whole),
        session_(session),
        options_(std::move(options)) {}

  Block Next(int64_t max_rows);
  // Restores the position of the input. Nothing is written afterwards, because the beginning is
  // missing.
  void VisitState(StateVisitor& visitor);
  // The outcome, returned once after everything has been delivered: complete without errors, and
  // written or not.
  Outcome TakeOutcome() { return std::exchange(outcome_, Outcome::kNone); }

 private:
  void Keep(Block& block);
  void Complete(Block& block);
  void Failed(Block& block, int64_t kept, const Error& error);

  IteratorPtr input_;
  std::unique_ptr<RowSink> sink_;
  bool whole_;  // no element failed or was lost, here or before the state was saved
  Outcome outcome_ = Outcome::kNone;
  Session& session_;
  const FillingOptions options_;
  int64_t rows_ = 0;
  bool ended_ = false;
  std::optional<Error> error_;  // returned by the next call
};

// Creates a sink; if the disk is full, warns and returns null.
std::unique_ptr<RowSink> MakeSink(Session& session, const FillingOptions& options,
                                  const std::function<std::unique_ptr<RowSink>()>& make);

}  // namespace penstock
