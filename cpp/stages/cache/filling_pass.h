// A pass over the input that also writes what it delivers. A cache in a file and a snapshot do so
// until they are complete.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "engine/session.h"

namespace penstock {

// Where the rows go. Destroyed without Commit, it leaves no files.
class RowSink {
 public:
  virtual ~RowSink() = default;
  // Throws an Error: of the operating system, or one that names the element which cannot be kept.
  virtual void Append(const Block& rows) = 0;
  virtual int64_t rows() const = 0;  // that it has taken
  virtual void Commit() = 0;
};

struct FillingOptions {
  std::string stage;         // for messages
  int64_t cardinality = -2;  // of the input, or negative
  // Failing to write loses only what is written: the elements go on, with a warning. Else it is an
  // error.
  bool best_effort = true;
};

// A stage that keeps its elements is through after the last one when it knows their number,
// otherwise when it is asked for more and there is none. It never emits the end together with an
// element, whether it makes its elements or reads them, because what other stages find in it then
// depends on this moment.
inline void EndAlone(Block& block) { block.end = block.end && block.rows == 0; }

class FillingPass {
 public:
  enum class Outcome { kNone, kWhole, kWritten };

  // `sink`: null passes the elements through. `whole`: false when it could not be made.
  FillingPass(IteratorPtr input, std::unique_ptr<RowSink> sink, bool whole, Session& session,
              FillingOptions options)
      : input_(std::move(input)),
        sink_(std::move(sink)),
        whole_(whole),
        session_(session),
        options_(std::move(options)) {}

  Block Next(int64_t max_rows);
  // The input is restored where it was; nothing is written then, because the begin is missing.
  void VisitState(StateVisitor& visitor);
  // Once, when all has been delivered: without an error in it, and written or not.
  Outcome TakeOutcome() { return std::exchange(outcome_, Outcome::kNone); }

 private:
  void Keep(Block& block);
  void Complete(Block& block);
  void Failed(Block& block, int64_t kept, const Error& error);

  IteratorPtr input_;
  std::unique_ptr<RowSink> sink_;
  bool whole_;  // no element has failed or was lost, here or before the state was saved
  Outcome outcome_ = Outcome::kNone;
  Session& session_;
  const FillingOptions options_;
  int64_t rows_ = 0;
  bool ended_ = false;
  std::optional<Error> error_;  // comes next
};

// Makes a sink, or warns and gives none when the disk is full.
std::unique_ptr<RowSink> MakeSink(Session& session, const FillingOptions& options,
                                  const std::function<std::unique_ptr<RowSink>()>& make);

}  // namespace penstock
