// ignore_errors: skips failed elements, up to a number of consecutive ones.
#include "data/foreign.h"
#include "data/printable.h"
#include "engine/input.h"
#include "engine/registry.h"
#include "storage/stop_check.h"

namespace penstock {
namespace {

struct IgnoreErrorsOptions {
  std::string stage;        // the stage whose errors are skipped; "": the input
  PlannedFunction handler;  // called with each error; may be null
  bool decides = false;     // an error raised by the handler replaces the original one
  int64_t most = -1;        // maximum consecutive skipped errors; negative: unlimited
};

class IgnoreErrorsDataset final : public Dataset {
 public:
  explicit IgnoreErrorsDataset(IgnoreErrorsOptions options) : options_(std::move(options)) {}
  int64_t cardinality() const override { return kUnknown; }
  MaybeSpec spec() const override { return input_spec(); }
  // Skipping errors does not change the randomness of later stages.
  bool transparent() const override { return true; }
  const IgnoreErrorsOptions& options() const { return options_; }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  IgnoreErrorsOptions options_;
};

class IgnoreErrorsIterator final : public BlockIterator {
 public:
  IgnoreErrorsIterator(IteratorPtr input, IgnoreErrorsOptions options, const RunContext& context)
      : input_(std::move(input)),
        options_(std::move(options)),
        handler_(context.Called(options_.handler)),
        cancel_(context.cancel) {}

  void VisitState(StateVisitor& visitor) override {
    visitor.Count(index_, "elements pulled");
    visitor.Count(in_a_row_, "errors in a row");
    // An error that has not been reported is pulled again.
    input_.VisitState(visitor, failed_ ? 1 : 0);
  }

  // Errors reported before the state was saved are not reported again. A handler that decides is
  // called again, because the error it raised is a separate step.
  std::optional<Error> Discard(int64_t& steps) override {
    again_ = true;
    auto error = Iterator::Discard(steps);
    again_ = false;
    return error;
  }

 protected:
  Block DoNextBlock(int64_t max_rows) override {
    StopCheck stop(&cancel_);
    for (;;) {
      stop.Look();  // an infinite input that always fails must still be closable
      if (failed_) {
        if (auto error = Judge()) return Block::Of(*std::move(error));
        continue;
      }
      input_.Keep(input_.position());
      Block block = input_.NextBlock(max_rows);
      if (block.rows > 0) in_a_row_ = 0;
      index_ += block.rows;
      if (!block.error || block.error->transient()) return block;
      failed_ = std::exchange(block.error, std::nullopt);
      block.end = false;  // reported again after the error
      if (block.rows > 0) return block;
    }
  }

 private:
  // Returns the error to deliver for the last one; nullopt if it is skipped.
  std::optional<Error> Judge() {
    Error error = *failed_;
    bool all = options_.most >= 0 && in_a_row_ >= options_.most;
    bool ends_program = TheForeignRuntime().EndsProgram(error);
    if (all && !ends_program) {
      error.Note(
          Format("penstock: max_errors={} in a row were left out before this one", options_.most));
    }
    std::optional<Error> delivered;
    if (all || ends_program)
      delivered = std::move(error);
    else if (handler_ && !(again_ && !options_.decides))
      delivered = AskHandler(error);  // throws if interrupted; then the handler is called again
    failed_.reset();
    ++index_;
    if (!all) ++in_a_row_;
    return delivered;
  }

  // The step where the error arose, if known; otherwise where it surfaced.
  FailedStep FailedStepOf(const Error& error) {
    if (error.failed_step()) return *error.failed_step();
    const Origin& origin = error.origin();
    StageLabel stage{options_.stage.empty() ? input_.iterator().name() : options_.stage, "", ""};
    return {std::move(stage), origin.file && origin.index >= 0 ? origin.index : index_, ""};
  }

  // Calls the handler with (error, stage, element, file, offset, name, function, text). Returns the
  // error that it raised.
  std::optional<Error> AskHandler(const Error& error) {
    static const StructureRef arguments =
        Structure::Tuple(std::vector<StructureRef>(8, Structure::Leaf()));
    const Origin& origin = error.origin();
    const FailedStep step = FailedStepOf(error);
    auto text = [](const std::string& t) { return Tensor::String(TypeCode::kText, t); };
    Element call;
    call.structure = arguments;
    call.origin = origin;
    call.leaves = {TheForeignRuntime().ErrorObject(error),
                   text(step.stage.kind),
                   Tensor::Scalar<int64_t>(step.element),
                   text(origin.file ? WithoutSecrets(*origin.file) : ""),
                   Tensor::Scalar<int64_t>(origin.offset),
                   text(step.stage.name),
                   text(step.stage.function),
                   text(step.text)};
    const StageLabel stage{step.stage.kind, "", ""};
    CallInfo info{&stage, {}, step.element};
    std::vector<Block> answers;
    handler_->Map(Block::Of(std::move(call)), info, answers);
    for (Block& answer : answers) {
      if (!answer.error) continue;
      if (!answer.error->foreign()) return std::move(answer.error);
      // Give the error the position of the element; the handler's call arguments carry no
      // information about it.
      return Error::Foreign(answer.error->foreign()).In(step, origin);
    }
    return std::nullopt;
  }

  Input input_;
  const IgnoreErrorsOptions options_;
  const FunctionPtr handler_;
  const CancelToken cancel_;
  std::optional<Error> failed_;  // pulled but not handled yet
  int64_t index_ = 0;            // elements and errors of the input so far
  int64_t in_a_row_ = 0;         // errors since the last element
  bool again_ = false;           // repeating steps that were delivered before
};

IteratorPtr IgnoreErrorsDataset::MakeIterator(const RunContext& context) const {
  return std::make_unique<IgnoreErrorsIterator>(StartInput(context, 0, context.batch_rows),
                                                options_, context);
}

const RegisterDataset ignore_errors_stage(
    "ignore_errors", {.share_states = {"stage"}},
    [](const std::vector<DatasetPtr>&, const Args& args) -> std::shared_ptr<Dataset> {
      IgnoreErrorsOptions options;
      if (args.Has("stage")) options.stage = args.Text("stage");
      if (args.Has("max_errors")) options.most = args.IntAtLeast("max_errors", 1);
      if (args.Has("handler")) options.handler = args.Callable("handler");
      options.decides = args.Has("decides") && args.Bool("decides");
      return std::make_shared<IgnoreErrorsDataset>(std::move(options));
    });

}  // namespace
}  // namespace penstock
