// Fetches rows by position: individually, or a whole block in one call.
#include "python/py_indexable.h"

#include <optional>

#include "python/element_rng.h"
#include "python/errors.h"
#include "python/gil.h"
#include "python/rows.h"
#include "python/running_call.h"

namespace penstock {
namespace {

int64_t PositionOf(const Block& rows, int64_t row) {
  if (!rows.stacked()) return rows.elements[row].leaves[0].value<int64_t>();
  return reinterpret_cast<const int64_t*>(rows.columns[0].items.data())[row];
}

class IndexableFunction final : public Function {
 public:
  IndexableFunction(PyRef object, int64_t size, std::shared_ptr<const ElementSpec> declared)
      : object_(std::move(object)), size_(size), declared_(std::move(declared)) {
    get_many_ = PyRef::Steal(PyUnicode_InternFromString("__getitems__"));
    if (!get_many_) throw CurrentPythonError();
    many_ = PyObject_HasAttr(object_.get(), get_many_.get()) == 1;
  }

  void Map(Block&& rows, const CallInfo& info, std::vector<Block>& out) override {
    Attachment& gil = EnsureAttached();
    RowPolicy policy;
    policy.stage = info.stage->kind.c_str();
    policy.declared = declared_.get();
    RowCollector collector(policy, rows.rows, info.slabs, info.first_row, &last_structure_);
    {
      ScopedRandom random(info.random);
      gil.Yield();
      random.For(rows.key(0));
      std::optional<RunningCall> running(std::in_place, info, rows, object_.get());
      PyRef fetched;
      std::optional<Error> wrong;  // an error of the object, and so of each row
      if (!HasItsSize() || !running->Timed([&] { return FetchAll(rows, &fetched); })) {
        if (gil.TakeInterrupt()) throw Error(ErrorKind::kInterrupted, "");
        wrong = CurrentUserError();
      }
      for (int64_t row = 0; row < rows.rows; ++row) {
        running->At(row);
        if (wrong) {
          collector.AddError(At(*wrong, rows, row, info));
          continue;
        }
        if (row > 0) {
          gil.Yield();
          random.For(rows.key(row));
        }
        PyRef value = fetched ? PyRef::Borrow(PyTuple_GET_ITEM(fetched.get(), row))
                              : running->Timed([&] { return Fetch(PositionOf(rows, row)); });
        if (value && (collector.AddScalar(value.get(), rows, row) ||
                      collector.Add(value.get(), rows.origin(row)))) {
          continue;
        }
        if (gil.TakeInterrupt()) {
          collector.Finish(out);
          running.reset();
          rows = rows.Slice(row, rows.rows - row);
          throw Error(ErrorKind::kInterrupted, "");
        }
        collector.AddError(At(CurrentUserError(), rows, row, info));
      }
    }
    collector.Finish(out);
  }

  bool needs_lock() const override { return true; }

 private:
  // False with an error set.
  bool HasItsSize() const {
    Py_ssize_t now = CallPython([this] { return PyObject_Size(object_.get()); });
    if (now == size_) return true;
    if (now >= 0) {
      PyErr_Format(PyExc_RuntimeError,
                   "from_indexable: the object had %lld rows when the dataset was made, it has %zd "
                   "now; make the dataset again when it changes",
                   static_cast<long long>(size_), now);
    }
    return false;
  }

  // New reference, null with an error set.
  PyRef Fetch(int64_t position) const {
    PyRef index = PyRef::Steal(PyLong_FromLongLong(position));
    if (!index) return {};
    return PyRef::Steal(CallPython([&] { return PyObject_GetItem(object_.get(), index.get()); }));
  }

  // Fetches all rows of a block in one call, if the object supports it. If the call fails, nothing
  // is fetched: each row is then requested individually, so that only the failing row fails. False,
  // with an error set, if the result is not a list with one item per row.
  bool FetchAll(const Block& rows, PyRef* fetched) const {
    if (!many_ || rows.rows == 1) return true;
    PyRef positions = PyRef::Steal(PyList_New(rows.rows));
    if (!positions) return false;
    for (int64_t row = 0; row < rows.rows; ++row) {
      PyObject* position = PyLong_FromLongLong(PositionOf(rows, row));
      if (!position) return false;
      PyList_SET_ITEM(positions.get(), row, position);
    }
    PyRef came = PyRef::Steal(CallPython([&] {
      return PyObject_CallMethodOneArg(object_.get(), get_many_.get(), positions.get());
    }));
    if (!came) {
      if (!PyErr_ExceptionMatches(PyExc_Exception)) return false;
      PyErr_Clear();
      return true;
    }
    if (!PyList_Check(came.get()) && !PyTuple_Check(came.get())) {
      PyErr_Format(PyExc_TypeError,
                   "from_indexable: __getitems__ must return a list with a row for each index, got "
                   "%.200R",
                   reinterpret_cast<PyObject*>(Py_TYPE(came.get())));
      return false;
    }
    came = PyRef::Steal(PySequence_Tuple(came.get()));  // a list may change meanwhile
    if (!came) return false;
    if (PyTuple_GET_SIZE(came.get()) != rows.rows) {
      PyErr_Format(PyExc_ValueError,
                   "from_indexable: __getitems__ of %lld indices must return as many rows, got %zd",
                   static_cast<long long>(rows.rows), PyTuple_GET_SIZE(came.get()));
      return false;
    }
    *fetched = std::move(came);
    return true;
  }

  // Marks the error as a failure of this row.
  static Error At(Error error, const Block& rows, int64_t row, const CallInfo& info) {
    return error.In({*info.stage, info.index + row, Format("index {}", PositionOf(rows, row))},
                    rows.origin(row));
  }

  PyRef object_;
  PyRef get_many_;  // the name __getitems__
  bool many_;       // whether the object has such a method
  int64_t size_;
  std::shared_ptr<const ElementSpec> declared_;
  LastStructure last_structure_;
};

}  // namespace

FunctionPtr MakeIndexableFunction(PyRef object, int64_t size,
                                  std::shared_ptr<const ElementSpec> declared) {
  return std::make_shared<IndexableFunction>(std::move(object), size, std::move(declared));
}

}  // namespace penstock
