// The operators of tensors with TensorFlow's names: a method of Python takes as long as NumPy does
// for a small array. What NumPy computes as TensorFlow does is computed here; the class is asked
// for the rest.
#include <array>
#include <utility>

#include "python/bind.h"

namespace py = pybind11;

namespace penstock {
namespace {

// Integers are divided by other rules than NumPy's.
enum class Divides { kNothing, kToWhole, kToFraction };

struct Operator {
  const char* name;
  const char* reflected;
  int slot;
  int slot_in_place;
  binaryfunc PyNumberMethods::* of_numpy;
  Divides divides = Divides::kNothing;
};

constexpr Operator kOperators[] = {
    {"__add__", "__radd__", Py_nb_add, Py_nb_inplace_add, &PyNumberMethods::nb_add},
    {"__sub__", "__rsub__", Py_nb_subtract, Py_nb_inplace_subtract, &PyNumberMethods::nb_subtract},
    {"__mul__", "__rmul__", Py_nb_multiply, Py_nb_inplace_multiply, &PyNumberMethods::nb_multiply},
    {"__matmul__", "__rmatmul__", Py_nb_matrix_multiply, Py_nb_inplace_matrix_multiply,
     &PyNumberMethods::nb_matrix_multiply},
    {"__and__", "__rand__", Py_nb_and, Py_nb_inplace_and, &PyNumberMethods::nb_and},
    {"__or__", "__ror__", Py_nb_or, Py_nb_inplace_or, &PyNumberMethods::nb_or},
    {"__xor__", "__rxor__", Py_nb_xor, Py_nb_inplace_xor, &PyNumberMethods::nb_xor},
    {"__lshift__", "__rlshift__", Py_nb_lshift, Py_nb_inplace_lshift, &PyNumberMethods::nb_lshift},
    {"__rshift__", "__rrshift__", Py_nb_rshift, Py_nb_inplace_rshift, &PyNumberMethods::nb_rshift},
    {"__floordiv__", "__rfloordiv__", Py_nb_floor_divide, Py_nb_inplace_floor_divide,
     &PyNumberMethods::nb_floor_divide, Divides::kToWhole},
    {"__mod__", "__rmod__", Py_nb_remainder, Py_nb_inplace_remainder,
     &PyNumberMethods::nb_remainder, Divides::kToWhole},
    {"__truediv__", "__rtruediv__", Py_nb_true_divide, Py_nb_inplace_true_divide,
     &PyNumberMethods::nb_true_divide, Divides::kToFraction},
};
constexpr Operator kPower = {"__pow__", "__rpow__", Py_nb_power, Py_nb_inplace_power, nullptr};
constexpr const char* kComparisons[] = {"__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__"};

PyTypeObject* g_type = nullptr;  // made at import, with the GIL

bool IsTensor(PyObject* object) { return PyObject_TypeCheck(object, g_type); }

bool IsNumber(PyObject* object) {
  return PyLong_CheckExact(object) || PyFloat_CheckExact(object) || PyBool_Check(object);
}

// Whether NumPy's operator takes tensors and numbers of Python as they are, and by the same rules.
bool IsOfNumPy(Divides divides, PyObject* left, PyObject* right) {
  bool integers = false;
  for (PyObject* operand : {left, right}) {
    if (IsTensor(operand)) {
      const char kind = PyArray_DESCR(reinterpret_cast<PyArrayObject*>(operand))->kind;
      if (kind == 'O') return false;  // strings
      integers |= kind == 'i' || kind == 'u';
    } else if (!IsNumber(operand)) {
      return false;
    }
  }
  if (!integers || divides == Divides::kNothing) return true;
  return divides == Divides::kToWhole && IsNumber(right) && PyObject_IsTrue(right) == 1;
}

PyRef WithoutClass(PyObject* operand) {
  if (!IsTensor(operand)) return PyRef::Borrow(operand);
  return PyRef::Steal(
      PyArray_View(reinterpret_cast<PyArrayObject*>(operand), nullptr, &PyArray_Type));
}

// What NumPy has made of operands, in the class of the tensor among them.
PyObject* InClass(PyTypeObject* type, PyRef made) {
  if (made && PyArray_IsScalar(made.get(), Generic)) {
    made = PyRef::Steal(PyArray_FromScalar(made.get(), nullptr));
  }
  if (!made || !PyArray_CheckExact(made.get())) return made.release();
  return PyArray_View(reinterpret_cast<PyArrayObject*>(made.get()), nullptr, type);
}

// `compute` is called with the operands as NumPy has them.
template <typename Compute>
PyObject* Operate(const char* name, const char* reflected, Divides divides, PyObject* left,
                  PyObject* right, Compute compute) {
  PyObject* tensor = IsTensor(left) ? left : right;
  if (!IsOfNumPy(divides, left, right)) {
    return PyObject_CallMethod(tensor, "_operate", "sO", tensor == left ? name : reflected,
                               tensor == left ? right : left);
  }
  PyRef a = WithoutClass(left);
  PyRef b = WithoutClass(right);
  if (!a || !b) return nullptr;
  return InClass(Py_TYPE(tensor), PyRef::Steal(compute(a.get(), b.get())));
}

template <size_t i>
PyObject* Binary(PyObject* left, PyObject* right) {
  constexpr Operator op = kOperators[i];
  return Operate(op.name, op.reflected, op.divides, left, right, [&](PyObject* a, PyObject* b) {
    return (PyArray_Type.tp_as_number->*op.of_numpy)(a, b);
  });
}

PyObject* Power(PyObject* base, PyObject* exponent, PyObject* modulo) {
  if (modulo != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return Operate(kPower.name, kPower.reflected, kPower.divides, base, exponent,
                 [](PyObject* a, PyObject* b) {
                   return PyArray_Type.tp_as_number->nb_power(a, b, Py_None);
                 });
}

PyObject* Compare(PyObject* self, PyObject* other, int op) {
  return Operate(
      kComparisons[op], nullptr, Divides::kNothing, self, other,
      [op](PyObject* a, PyObject* b) { return PyArray_Type.tp_richcompare(a, b, op); });
}

template <size_t... i>
std::vector<PyType_Slot> Slots(std::index_sequence<i...>) {
  std::vector<PyType_Slot> slots;
  for (int slot : {kPower.slot, kPower.slot_in_place}) {
    slots.push_back({slot, reinterpret_cast<void*>(Power)});
  }
  (
      [&] {
        for (int slot : {kOperators[i].slot, kOperators[i].slot_in_place}) {
          slots.push_back({slot, reinterpret_cast<void*>(Binary<i>)});
        }
      }(),
      ...);
  slots.push_back({Py_tp_richcompare, reinterpret_cast<void*>(Compare)});
  slots.push_back({0, nullptr});
  return slots;
}

}  // namespace

void BindTensorOperators(py::module_& module) {
  auto slots = Slots(std::make_index_sequence<std::size(kOperators)>());
  PyType_Spec spec = {"penstock._core.TensorOperators", 0, 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots.data()};
  PyObject* type = PyType_FromSpecWithBases(&spec, reinterpret_cast<PyObject*>(&PyArray_Type));
  if (!type) throw py::error_already_set();
  g_type = reinterpret_cast<PyTypeObject*>(type);
  module.add_object("TensorOperators", type);
}

}  // namespace penstock
