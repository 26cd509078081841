// The operators of TensorFlow-compatible tensors. A Python method would take as long as NumPy needs
// for a small array, so operations on which NumPy and TensorFlow agree are computed here. The
// Python class computes the others.
#include <utility>
#include <vector>

#include "python/bind.h"

namespace py = pybind11;

namespace penstock {
namespace {

// Where NumPy's result differs from TensorFlow's.
enum class Rule {
  kSame,
  kBits,        // only integers have bit operations
  kToWhole,     // dividing integers by zero is an error
  kToFraction,  // narrow integers become float32
  kPower,       // NumPy squares if the exponent is the Python number 2
};

struct Operator {
  const char* name;
  const char* reflected;
  int slot;
  int slot_in_place;
  binaryfunc PyNumberMethods::* of_numpy;
  Rule rule = Rule::kSame;
};

using Methods = PyNumberMethods;
constexpr Operator kOperators[] = {
    {"__add__", "__radd__", Py_nb_add, Py_nb_inplace_add, &Methods::nb_add},
    {"__sub__", "__rsub__", Py_nb_subtract, Py_nb_inplace_subtract, &Methods::nb_subtract},
    {"__mul__", "__rmul__", Py_nb_multiply, Py_nb_inplace_multiply, &Methods::nb_multiply},
    {"__matmul__", "__rmatmul__", Py_nb_matrix_multiply, Py_nb_inplace_matrix_multiply,
     &Methods::nb_matrix_multiply},
    {"__and__", "__rand__", Py_nb_and, Py_nb_inplace_and, &Methods::nb_and, Rule::kBits},
    {"__or__", "__ror__", Py_nb_or, Py_nb_inplace_or, &Methods::nb_or, Rule::kBits},
    {"__xor__", "__rxor__", Py_nb_xor, Py_nb_inplace_xor, &Methods::nb_xor, Rule::kBits},
    {"__lshift__", "__rlshift__", Py_nb_lshift, Py_nb_inplace_lshift, &Methods::nb_lshift,
     Rule::kBits},
    {"__rshift__", "__rrshift__", Py_nb_rshift, Py_nb_inplace_rshift, &Methods::nb_rshift,
     Rule::kBits},
    {"__floordiv__", "__rfloordiv__", Py_nb_floor_divide, Py_nb_inplace_floor_divide,
     &Methods::nb_floor_divide, Rule::kToWhole},
    {"__mod__", "__rmod__", Py_nb_remainder, Py_nb_inplace_remainder, &Methods::nb_remainder,
     Rule::kToWhole},
    {"__truediv__", "__rtruediv__", Py_nb_true_divide, Py_nb_inplace_true_divide,
     &Methods::nb_true_divide, Rule::kToFraction},
};
// In the order of Python's Py_LT to Py_GE.
constexpr const char* kComparisons[] = {"__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__"};

PyTypeObject* g_type = nullptr;  // set at import, with the GIL

bool IsTensor(PyObject* object) { return PyObject_TypeCheck(object, g_type); }

PyArrayObject* AsArray(PyObject* object) { return reinterpret_cast<PyArrayObject*>(object); }

// Whether the operands are tensors and Python numbers for which NumPy computes TensorFlow's result.
bool IsOfNumPy(Rule rule, PyObject* left, PyObject* right) {
  bool integers = false;
  bool floats = false;
  for (PyObject* operand : {left, right}) {
    if (IsTensor(operand)) {
      const char kind = PyArray_DESCR(AsArray(operand))->kind;
      if (kind == 'O') return false;  // strings
      integers |= kind == 'i' || kind == 'u';
      floats |= kind == 'f';
    } else if (!PyLong_CheckExact(operand) && !PyFloat_CheckExact(operand)) {
      return false;
    }
  }
  switch (rule) {
    case Rule::kSame:
    case Rule::kPower:
      return true;
    case Rule::kBits:
      return !floats;
    case Rule::kToWhole:
      return !integers || (!IsTensor(right) && PyObject_IsTrue(right) == 1);
    case Rule::kToFraction:
      return !integers;
  }
  return false;
}

// Whether two arrays are the same items of the same memory.
bool Coincide(PyArrayObject* a, PyArrayObject* b) {
  const int axes = PyArray_NDIM(a);
  return PyArray_DATA(a) == PyArray_DATA(b) && PyArray_DESCR(a) == PyArray_DESCR(b) &&
         axes == PyArray_NDIM(b) && PyArray_CompareLists(PyArray_DIMS(a), PyArray_DIMS(b), axes) &&
         PyArray_CompareLists(PyArray_STRIDES(a), PyArray_STRIDES(b), axes);
}

// A tensor as a plain NumPy array: for subclasses, NumPy takes longer than creating the view does.
PyRef WithoutClass(PyArrayObject* tensor) {
  PyObject* base = PyArray_BASE(tensor);  // most are views of InClass's input
  if (base && PyArray_CheckExact(base) && Coincide(tensor, AsArray(base)))
    return PyRef::Borrow(base);
  return PyRef::Steal(PyArray_View(tensor, nullptr, &PyArray_Type));
}

// Converts a Python number to the tensor's dtype where NumPy would choose that dtype too; NumPy
// takes longer.
PyRef InTypeOf(PyArrayObject* tensor, PyObject* number) {
  const int type = PyArray_TYPE(tensor);
  if (PyTypeNum_ISFLOAT(type) || (PyTypeNum_ISINTEGER(type) && PyLong_CheckExact(number))) {
    PyArray_Descr* descr = PyArray_DESCR(tensor);
    Py_INCREF(descr);
    PyRef made = PyRef::Steal(
        PyArray_NewFromDescr(&PyArray_Type, descr, 0, nullptr, nullptr, nullptr, 0, nullptr));
    if (made &&
        PyArray_SETITEM(AsArray(made.get()), PyArray_BYTES(AsArray(made.get())), number) == 0)
      return made;
    PyErr_Clear();  // it does not fit: NumPy raises the error
  }
  return PyRef::Borrow(number);
}

PyRef Taken(Rule rule, PyObject* operand, PyObject* tensor) {
  if (IsTensor(operand)) return WithoutClass(AsArray(operand));
  return rule == Rule::kPower ? PyRef::Borrow(operand) : InTypeOf(AsArray(tensor), operand);
}

// Converts NumPy's result to the class of the operands.
PyObject* InClass(PyTypeObject* type, PyRef made) {
  if (made && PyArray_IsScalar(made.get(), Generic)) {
    made = PyRef::Steal(PyArray_FromScalar(made.get(), nullptr));
  }
  if (!made || !PyArray_CheckExact(made.get())) return made.release();
  return PyArray_View(AsArray(made.get()), nullptr, type);
}

// Calls `compute` with the operands as NumPy takes them.
template <typename Compute>
PyObject* Operate(const char* name, const char* reflected, Rule rule, PyObject* left,
                  PyObject* right, Compute compute) {
  PyObject* tensor = IsTensor(left) ? left : right;
  if (!IsOfNumPy(rule, left, right)) {
    return PyObject_CallMethod(tensor, "_operate", "sO", tensor == left ? name : reflected,
                               tensor == left ? right : left);
  }
  const PyRef a = Taken(rule, left, tensor);
  const PyRef b = Taken(rule, right, tensor);
  if (!a || !b) return nullptr;
  return InClass(Py_TYPE(tensor), PyRef::Steal(compute(a.get(), b.get())));
}

template <size_t i>
PyObject* Binary(PyObject* left, PyObject* right) {
  constexpr Operator op = kOperators[i];
  return Operate(op.name, op.reflected, op.rule, left, right, [](PyObject* a, PyObject* b) {
    return (PyArray_Type.tp_as_number->*op.of_numpy)(a, b);
  });
}

PyObject* Power(PyObject* base, PyObject* exponent, PyObject* modulo) {
  if (modulo != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return Operate("__pow__", "__rpow__", Rule::kPower, base, exponent, [](PyObject* a, PyObject* b) {
    return PyArray_Type.tp_as_number->nb_power(a, b, Py_None);
  });
}

template <unaryfunc PyNumberMethods::* of_numpy>
PyObject* Unary(PyObject* self) {
  const PyRef array = WithoutClass(AsArray(self));
  if (!array) return nullptr;
  return InClass(Py_TYPE(self), PyRef::Steal((PyArray_Type.tp_as_number->*of_numpy)(array.get())));
}

PyObject* RichCompare(PyObject* self, PyObject* other, int op) {
  return Operate(kComparisons[op], nullptr, Rule::kSame, self, other,
                 [op](PyObject* a, PyObject* b) { return PyArray_Type.tp_richcompare(a, b, op); });
}

PyObject* WithoutClassOr(PyObject* otherwise, PyObject* value) {
  if (IsTensor(value) && PyArray_DESCR(AsArray(value))->kind != 'O')
    return WithoutClass(AsArray(value)).release();
  return PyObject_CallOneArg(otherwise, value);
}

PyMethodDef g_without_class = {"without_class", WithoutClassOr, METH_O,
                               "The array of a tensor of numbers; a function decides of the rest."};

template <size_t... i>
std::vector<PyType_Slot> Slots(std::index_sequence<i...>) {
  std::vector<PyType_Slot> slots;
  auto add = [&slots](int slot, auto function) {
    slots.push_back({slot, reinterpret_cast<void*>(function)});
  };
  // Tensors are immutable: `x -= 1` creates a new one, and other names of the old one are
  // unaffected.
  ((add(kOperators[i].slot, Binary<i>), add(kOperators[i].slot_in_place, Binary<i>)), ...);
  add(Py_nb_power, Power);
  add(Py_nb_inplace_power, Power);
  add(Py_nb_negative, Unary<&Methods::nb_negative>);
  add(Py_nb_positive, Unary<&Methods::nb_positive>);
  add(Py_nb_absolute, Unary<&Methods::nb_absolute>);
  add(Py_nb_invert, Unary<&Methods::nb_invert>);
  add(Py_tp_richcompare, RichCompare);
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
  module.def(
      "without_class",
      [](const py::function& otherwise) {
        return py::reinterpret_steal<py::object>(
            PyCFunction_New(&g_without_class, otherwise.ptr()));
      },
      py::arg("otherwise"));
}

}  // namespace penstock
