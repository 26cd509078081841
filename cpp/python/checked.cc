// Calls both, and compares in Python, which can show the values.
#include "python/checked.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "data/pending.h"
#include "python/errors.h"
#include "python/gil.h"
#include "python/pytree.h"
#include "python/types.h"

namespace penstock {
namespace {

using Result = std::variant<Element, Error>;

// The results of the first rows, at most `count` of them.
std::vector<Result> FirstResults(const std::vector<Block>& blocks, size_t from, int64_t count) {
  std::vector<Result> results;
  for (size_t i = from; i < blocks.size(); ++i) {
    const Block& block = blocks[i];
    for (int64_t row = 0; row < block.rows; ++row) {
      if (static_cast<int64_t>(results.size()) == count) return results;
      results.emplace_back(block.Row(row));
    }
    if (block.error && static_cast<int64_t>(results.size()) < count) {
      results.emplace_back(*block.error);
    }
  }
  return results;
}

PyRef ToObject(const Element& element) {
  std::vector<PyObject*> leaves;
  for (const Tensor& leaf : element.leaves) {
    leaves.push_back(ToPython(leaf));
    if (leaves.back()) continue;
    for (PyObject* made : leaves) Py_XDECREF(made);
    return PyRef();
  }
  return PyRef::Steal(Unflatten(element.structure, leaves.data()));
}

// Copies of the rows in separate memory: a plain function may modify them, as in a pipeline.
Block CopiesOf(const Block& rows, int64_t count) {
  Block copies = rows.Slice(0, count);
  copies.Separate();
  for (Element& row : copies.elements) {
    for (Tensor& leaf : row.leaves) {
      if (!leaf.dtype().is_reference()) leaf = leaf.Alone();
    }
  }
  return copies;
}

PyRef ToObject(const Error& error) {
  RaisePython(error);
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  return PyRef::Steal(value);
}

class Checked final : public Function {
 public:
  Checked(FunctionPtr program, FunctionPtr exact, FunctionPtr plain, int64_t count, PyRef compare)
      : program_(std::move(program)),
        exact_(std::move(exact)),
        plain_(std::move(plain)),
        count_(count),
        compare_(std::move(compare)) {}

  void Map(Block&& rows, const CallInfo& info, std::vector<Block>& out) override {
    const int64_t checked = std::min(rows.rows, count_ - info.index);
    if (checked <= 0) return program_->Map(std::move(rows), info, out);
    const Block whole = rows;
    const size_t before = out.size();
    program_->Map(std::move(rows), info, out);
    CallInfo plain = info;
    plain.slabs = nullptr;
    plain.ragged = false;
    try {
      std::vector<Block> wanted, exact;
      plain_->Map(CopiesOf(whole, checked), plain, wanted);
      if (exact_) exact_->Map(whole.Slice(0, checked), plain, exact);
      Compare(exact_ ? FirstResults(exact, 0, checked) : FirstResults(out, before, checked),
              FirstResults(wanted, 0, checked), whole, info, before, out);
    } catch (const Error&) {  // interrupted: all of it is repeated
      out.erase(out.begin() + static_cast<std::ptrdiff_t>(before), out.end());
      rows = whole;
      throw;
    }
  }

  bool Test(const Element& element, const CallInfo& info) override {
    if (info.index >= count_) return program_->Test(element, info);
    Result made = Tested(*program_, element, info);
    const Result exact = exact_ ? Tested(*exact_, element, info) : made;
    if (auto error = Difference(exact, Tested(*plain_, element, info), info.index)) throw *error;
    if (auto* error = std::get_if<Error>(&made)) throw *error;
    return std::get<Element>(made).leaves[0].value<bool>();
  }

  DatasetPtr Open(const Element& element, const CallInfo& info) override {
    return program_->Open(element, info);
  }
  MaybeSpec opened_spec() const override { return program_->opened_spec(); }
  bool needs_lock() const override { return true; }

 private:
  static Result Tested(Function& function, const Element& element, const CallInfo& info) {
    try {
      Element kept;
      kept.leaves.push_back(Tensor::Scalar(function.Test(element, info)));
      return kept;
    } catch (const Error& error) {
      if (error.transient()) throw;
      return error;
    }
  }

  // The exception that the comparison raised, with the element that failed; nullopt if both agree.
  std::optional<Error> Difference(const Result& made, const Result& wanted, int64_t index) const {
    Attachment& gil = EnsureAttached();
    auto to_object = [](const auto& result) { return ToObject(result); };
    PyRef one = std::visit(to_object, made);
    PyRef other = one ? std::visit(to_object, wanted) : PyRef();
    PyRef same = PyRef::Steal(other ? CallPython([&] {
      return PyObject_CallFunction(compare_.get(), "LOO", static_cast<long long>(index), one.get(),
                                   other.get());
    })
                                    : nullptr);
    if (same) return std::nullopt;
    if (gil.TakeInterrupt()) throw Error(ErrorKind::kInterrupted, "");
    return CurrentPythonError();
  }

  // Replaces results in `made` that differ from the wanted ones by errors.
  void Compare(const std::vector<Result>& made, const std::vector<Result>& wanted,
               const Block& rows, const CallInfo& info, size_t before,
               std::vector<Block>& out) const {
    for (size_t i = 0; i < std::min(made.size(), wanted.size()); ++i) {
      const auto row = static_cast<int64_t>(i);
      std::optional<Error> error = Difference(made[i], wanted[i], info.index + row);
      if (!error) continue;
      const Element element = rows.Row(row);
      error->In(FailedStepOf(info, row, element), element.origin);
      Replace(row, *std::move(error), before, out);
    }
  }

  // Replaces step `number` of the blocks from `before` on by an error.
  static void Replace(int64_t number, Error error, size_t before, std::vector<Block>& out) {
    PendingBlocks steps;
    for (size_t i = before; i < out.size(); ++i) steps.Add(std::move(out[i]));
    out.erase(out.begin() + static_cast<std::ptrdiff_t>(before), out.end());
    int64_t done = 0;
    while (!steps.empty()) {
      const bool here = done == number;
      Block block = steps.Take(done < number ? number - done : here ? 1 : INT64_MAX);
      done += block.rows + block.error.has_value();
      out.push_back(here ? Block::Of(error) : std::move(block));
    }
  }

  const FunctionPtr program_;
  const FunctionPtr exact_;  // null: the program
  const FunctionPtr plain_;
  const int64_t count_;
  const PyRef compare_;
};

}  // namespace

FunctionPtr MakeChecked(FunctionPtr program, FunctionPtr exact, FunctionPtr plain, int64_t count,
                        PyRef compare) {
  return std::make_shared<Checked>(std::move(program), std::move(exact), std::move(plain), count,
                                   std::move(compare));
}

}  // namespace penstock
