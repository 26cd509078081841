// Runs traced functions: for all rows together, or row by row.
#include "compute/program/program.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <string>

#include "compute/program/regions.h"
#include "compute/program/row_columns.h"
#include "compute/program/rows_at_once.h"
#include "data/block_builder.h"
#include "runtime/blocking.h"

namespace penstock {
namespace {

constexpr size_t kLongWork = 256 << 10;  // bytes; more work is worth releasing a foreign lock

class Program final : public Function {
 public:
  explicit Program(ProgramPlan plan);

  void Map(Block&& rows, const CallInfo& info, std::vector<Block>& out) override {
    if (AllAtOnce(rows, info.ragged, out)) return;
    if (!light_) LeaveForeignLock();
    BlockBuilder made(rows.rows, info.slabs, info.first_row);
    for (int64_t row = 0; row < rows.rows; ++row) {
      Element element;
      try {
        element = rows.Row(row);
        std::vector<Tensor> values = Run(element, info, &made);
        made.Add({TakeResults(values), plan_.result, element.origin});
      } catch (Error& error) {
        if (error.transient()) {
          made.Finish(out);
          rows = rows.Slice(row, rows.rows - row);
          throw;
        }
        made.AddError(Placed(std::move(error), element, info, row));
      } catch (const std::bad_alloc&) {  // affects this row only: the others are not lost
        made.AddError(Placed(Error(ErrorKind::kMemory, "{}: out of memory", info.stage->kind),
                             element, info, row));
      }
    }
    made.Finish(out);
  }

  bool Test(const Element& element, const CallInfo& info) override {
    std::vector<Tensor> leaves = One(element, info).leaves;
    bool one = leaves.size() == 1 && leaves[0].elements() == 1;
    if (!one || leaves[0].dtype().code != TypeCode::kBool) {
      std::string types;
      for (const Tensor& leaf : leaves) types += ' ' + leaf.dtype().name();
      throw Placed(Error(ErrorKind::kType, "{}: the predicate must return one bool, got {}{}",
                         info.stage->kind, plan_.result->ToString(), types),
                   element, info, 0);
    }
    return leaves[0].value<bool>();
  }

  DatasetPtr Open(const Element& element, const CallInfo& info) override {
    if (!plan_.reader) {
      throw Error(
          ErrorKind::kType,
          "{}: the function must return a Dataset; use map for functions that return values",
          info.stage->kind);
    }
    return plan_.reader->Open(One(element, info), info);
  }

  bool opens_files() const override { return plan_.reader && plan_.reader->opens_files(); }
  MaybeSpec opened_spec() const override {
    return plan_.reader ? plan_.reader->opened_spec() : std::nullopt;
  }
  bool needs_lock() const override { return false; }

 private:
  // For each leaf the plan expects, its number in an element of this structure.
  std::vector<int> OrderOf(const Structure* structure, const CallInfo& info) const {
    if (structure == plan_.element) return {};
    std::vector<int> order = LeafOrder(structure, plan_.element);
    if (order.empty()) {
      throw Error(ErrorKind::kType,
                  "{}: the native function was traced for elements of structure {}, got {}",
                  info.stage->kind, plan_.element->ToString(), structure->ToString());
    }
    return order;
  }

  Error Placed(Error error, const Element& element, const CallInfo& info, int64_t row) const {
    Origin origin = element.origin;
    if (const Origin& opened = error.origin(); opened.file) {  // opened by an operation
      origin.file = opened.file;
      origin.offset = opened.offset;
    } else if (!origin.file) {
      origin.file = FileOf(element);
    }
    error.In(FailedStepOf(info, row, element), element.origin);
    error.At(std::move(origin));
    return error;
  }

  // The file that is read for an element, if one of its leaves is a file name.
  std::shared_ptr<const std::string> FileOf(const Element& element) const {
    if (file_leaf_ < 0) return nullptr;
    const std::vector<int> order = element.structure == plan_.element
                                       ? std::vector<int>{}
                                       : LeafOrder(element.structure, plan_.element);
    if (element.structure != plan_.element && order.empty()) return nullptr;
    const auto leaf = static_cast<size_t>(file_leaf_);
    const Tensor& name = element.leaves[order.empty() ? leaf : order[leaf]];
    const TypeCode code = name.dtype().code;
    const bool text = code == TypeCode::kText || code == TypeCode::kBytes;
    if (!text || name.elements() != 1) return nullptr;
    return std::make_shared<const std::string>(name.string(0));
  }

  static RandomKey KeyOf(const ProgramStep& step, const CallInfo& info, uint64_t element) {
    const RandomKey key = info.random.Key(step.seed).Fold(element);
    return step.seed ? key : key.Fold(step.draw);
  }

  std::vector<Tensor> Start(const std::vector<Tensor>& leaves,
                            const std::vector<int>& order) const {
    std::vector<Tensor> values(static_cast<size_t>(values_));
    for (size_t i = 0; i < arguments_; ++i) values[i] = leaves[order.empty() ? i : order[i]];
    std::copy(plan_.constants.begin(), plan_.constants.end(), values.begin() + arguments_);
    return values;
  }

  // The initial values for all rows together, without the leaves.
  std::vector<Column> Constants() const {
    std::vector<Column> values(static_cast<size_t>(values_), Column::Constant({}));
    for (size_t i = 0; i < plan_.constants.size(); ++i) {
      values[arguments_ + i].items = plan_.constants[i];
    }
    return values;
  }

  // All values of one row. Values that no later step needs are dropped, except for the results.
  std::vector<Tensor> Run(const Element& element, const CallInfo& info, BlockBuilder* into) const {
    std::vector<Tensor> values = Start(element.leaves, OrderOf(element.structure, info));
    std::vector<Tensor> inputs;
    for (const auto& [step, last, leaf] : instructions_) {
      inputs.clear();
      for (size_t i = 0; i < step.inputs.size(); ++i) {
        Tensor& value = values[static_cast<size_t>(step.inputs[i])];
        if (last[i])
          inputs.push_back(std::move(value));
        else
          inputs.push_back(value);
      }
      RandomKey key;
      if (step.op->random()) key = KeyOf(step, info, element.origin.key);
      const FillOp* fill = step.op->fill();
      if (into && fill && leaf >= 0) {
        values[static_cast<size_t>(step.output)] =
            fill->Fill(inputs, key, [&](const LeafSpec& spec) {
              return into->MemoryFor(static_cast<size_t>(leaf), spec.dtype, spec.shape);
            });
        continue;
      }
      std::vector<Tensor> outputs = step.op->Call(inputs, key);
      std::move(outputs.begin(), outputs.end(), values.begin() + step.output);
    }
    return values;
  }

  std::vector<Tensor> TakeResults(std::vector<Tensor>& values) const {
    std::vector<Tensor> leaves;
    for (int result : results_) leaves.push_back(values[static_cast<size_t>(result)]);
    return leaves;
  }

  Element One(const Element& element, const CallInfo& info) const {
    if (!light_) LeaveForeignLock();
    Element result;
    result.structure = plan_.result;
    result.origin = element.origin;
    try {
      std::vector<Tensor> values = Run(element, info, nullptr);
      result.leaves = TakeResults(values);
    } catch (Error& error) {
      if (error.transient()) throw;
      throw Placed(std::move(error), element, info, 0);
    }
    return result;
  }

  // False, with `rows` unchanged, if they must be processed individually: that determines which row
  // fails, and completes all others. All rows together may need more memory than is available.
  bool AllAtOnce(Block& rows, bool ragged, std::vector<Block>& out) {
    if (rows.rows == 0 || !by_rows_.load(std::memory_order_relaxed)) return false;
    try {
      return rows.stacked() ? MapStacked(rows, ragged, out) : MapOfOneShape(rows, ragged, out);
    } catch (const Error& error) {
      if (error.transient()) throw;
    } catch (const std::bad_alloc&) {  // likewise
    }
    return false;
  }

  bool ReadsElement(const Instruction& made) const;
  bool OnlyReadsShapes() const;
  bool Results(std::vector<Column>& values, int64_t rows, Block& made);
  // `ragged`: results may be in ragged form.
  bool MapStacked(Block& rows, bool ragged, std::vector<Block>& out);
  bool MapOfOneShape(const Block& rows, bool ragged, std::vector<Block>& out);
  bool MapShapes(const Block& rows, bool ragged, std::vector<Block>& out);

  ProgramPlan plan_;
  std::vector<Instruction> instructions_;
  std::vector<int> results_;
  const size_t arguments_;
  const int values_;
  int file_leaf_ = -1;        // the leaf that names a file for an operation; -1: none
  bool only_shapes_ = false;  // the operations read nothing but the element's shapes
  bool light_ = true;         // only arithmetic: not worth releasing a foreign lock for one row
  std::atomic<bool> by_rows_{true};  // no operation has refused so far; relaxed: only saves time
};

// Numbers outputs and draws; returns the number of values.
int Number(ProgramPlan& plan) {
  int next = plan.element->leaves() + static_cast<int>(plan.constants.size());
  uint64_t draws = 0;
  for (ProgramStep& step : plan.steps) {
    step.output = next;
    next += static_cast<int>(step.op->outputs());
    if (step.op->random() && !step.seed) step.draw = draws++;
  }
  return next;
}

Program::Program(ProgramPlan plan)
    : plan_(std::move(plan)),
      results_(plan_.results),
      arguments_(static_cast<size_t>(plan_.element->leaves())),
      values_(Number(plan_)) {
  plan_.steps = WithRegions(std::move(plan_.steps), results_, !plan_.exact);
  for (ProgramStep& step : plan_.steps) {
    Instruction made{std::move(step), {}, -1};
    made.last.resize(made.step.inputs.size());
    auto leaf = std::find(results_.begin(), results_.end(), made.step.output);
    if (std::count(results_.begin(), results_.end(), made.step.output) == 1) {
      made.leaf = static_cast<int>(leaf - results_.begin());
    }
    light_ = light_ && made.step.op->row_local();
    if (made.step.op->reads_file() && static_cast<size_t>(made.step.inputs[0]) < arguments_) {
      file_leaf_ = made.step.inputs[0];
    }
    instructions_.push_back(std::move(made));
  }
  plan_.steps.clear();
  only_shapes_ = OnlyReadsShapes();
  std::vector<bool> needed(static_cast<size_t>(values_));
  for (int result : results_) needed[static_cast<size_t>(result)] = true;
  for (auto made = instructions_.rbegin(); made != instructions_.rend(); ++made) {
    for (size_t i = made->step.inputs.size(); i-- > 0;) {
      auto value = static_cast<size_t>(made->step.inputs[i]);
      made->last[i] = !needed[value];
      needed[value] = true;
    }
  }
}

bool Program::ReadsElement(const Instruction& made) const {
  return std::any_of(made.step.inputs.begin(), made.step.inputs.end(),
                     [this](int input) { return static_cast<size_t>(input) < arguments_; });
}

bool Program::OnlyReadsShapes() const {
  for (int result : results_) {
    if (static_cast<size_t>(result) < arguments_) return false;
  }
  return std::all_of(instructions_.begin(), instructions_.end(), [this](const Instruction& made) {
    const Op& op = *made.step.op;
    return !ReadsElement(made) ||
           (made.step.inputs.size() == 1 && op.reads_shapes() && op.fill() && !op.random());
  });
}

// For a consumer that takes the rows of a block of results individually.
void TakeOneByOne(Block& results) {
  // Strings that were cut out of much larger ones must not keep the larger ones in memory.
  constexpr size_t kMostKept = 8;
  for (Column& column : results.columns) {
    Tensor& items = column.items;
    if (!column.ragged() || items.storage() != Storage::kPacked) continue;
    if (items.footprint() * kMostKept < items.buffer()->size()) items = items.Alone();
  }
  results.Separate();
}

// Computes the results of all rows from the values. Throws if an operation fails; false if one
// cannot process several rows.
bool Program::Results(std::vector<Column>& values, int64_t rows, Block& made) {
  if (!RunAtOnce(instructions_, rows, values)) {
    by_rows_.store(false, std::memory_order_relaxed);
    return false;
  }
  made.structure = plan_.result;
  made.rows = rows;
  for (int result : results_) {
    made.columns.push_back(values[static_cast<size_t>(result)].Stacked(rows));
    if (made.columns.back().items.shape().rank() == 0) {
      by_rows_.store(false, std::memory_order_relaxed);
      return false;
    }
  }
  return true;
}

// As AllAtOnce, for stacked rows.
bool Program::MapStacked(Block& rows, bool ragged, std::vector<Block>& out) {
  if (rows.footprint() > kLongWork) LeaveForeignLock();
  std::vector<int> order;
  if (rows.structure != plan_.element) {
    order = LeafOrder(rows.structure, plan_.element);
    if (order.empty()) return false;
  }
  std::vector<Column> values = Constants();
  for (size_t i = 0; i < arguments_; ++i) values[i] = rows.columns[order.empty() ? i : order[i]];
  Block made;
  if (!Results(values, rows.rows, made)) return false;
  if (made.ragged() && !ragged) {
    made.origins = rows.origins;
    TakeOneByOne(made);
  }
  out.push_back(std::move(made));  // nothing can fail from here on
  Block done = std::move(rows);
  if (out.back().elements.empty()) out.back().origins = std::move(done.origins);
  return true;
}

// Copies the origins of separate rows to their results.
void TakeOrigins(const Block& rows, Block& results) {
  for (size_t i = 0; i < rows.elements.size(); ++i) {
    const Origin& origin = rows.elements[i].origin;
    if (results.elements.empty())
      results.origins.Add(static_cast<int64_t>(i), origin);
    else
      results.elements[i].origin = origin;
  }
}

// As AllAtOnce, for separate rows (usually shuffled), which are stacked first.
bool Program::MapOfOneShape(const Block& rows, bool ragged, std::vector<Block>& out) {
  if (only_shapes_ && MapShapes(rows, ragged, out)) return true;
  if (rows.rows == 1) return false;
  Block stacked;
  stacked.columns = ColumnsOf(rows.elements);
  if (stacked.columns.empty()) return false;
  stacked.structure = rows.structure;
  stacked.rows = rows.rows;
  std::vector<Block> made;
  if (!MapStacked(stacked, ragged, made)) return false;
  TakeOrigins(rows, made.front());
  out.push_back(std::move(made.front()));
  return true;
}

// As AllAtOnce, for rows that may differ in shape, if only their shapes are read.
bool Program::MapShapes(const Block& rows, bool ragged, std::vector<Block>& out) {
  std::vector<int> order;
  if (rows.structure != plan_.element) order = LeafOrder(rows.structure, plan_.element);
  if (rows.structure != plan_.element && order.empty()) return false;
  for (const Element& row : rows.elements) {
    if (row.structure != rows.structure) return false;
  }
  std::vector<Column> values = Constants();
  for (const Instruction& made : instructions_) {
    if (!ReadsElement(made)) continue;
    auto leaf = static_cast<size_t>(made.step.inputs[0]);
    if (!order.empty()) leaf = static_cast<size_t>(order[leaf]);
    Tensor column = ReadShapes(*made.step.op->fill(), rows.elements, leaf);
    if (column.shape().rank() == 0) return false;
    values[static_cast<size_t>(made.step.output)] = std::move(column);
  }
  Block made;
  if (!Results(values, rows.rows, made)) return false;
  if (made.ragged() && !ragged) TakeOneByOne(made);
  TakeOrigins(rows, made);
  out.push_back(std::move(made));
  return true;
}

}  // namespace

FunctionPtr MakeProgram(ProgramPlan plan) { return std::make_shared<Program>(std::move(plan)); }

}  // namespace penstock
