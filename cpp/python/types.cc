// Converts NumPy dtypes and scalars to and from the engine's.
#include "python/types.h"

#include <numpy/arrayscalars.h>

#include <cstring>
#include <mutex>
#include <string>
#include <unordered_map>

#include "data/error.h"
#include "python/free_threads.h"

namespace penstock {
namespace {

constexpr int kTypeNums[] = {NPY_BOOL,       NPY_INT8,      NPY_INT16,      NPY_INT32,
                             NPY_INT64,      NPY_UINT8,     NPY_UINT16,     NPY_UINT32,
                             NPY_UINT64,     NPY_FLOAT16,   NPY_FLOAT32,    NPY_FLOAT64,
                             NPY_LONGDOUBLE, NPY_COMPLEX64, NPY_COMPLEX128, NPY_CLONGDOUBLE};
constexpr int kNumeric = sizeof(kTypeNums) / sizeof(kTypeNums[0]);

PyTypeObject* g_scalar_types[kNumeric];
PyArray_Descr* g_descrs[kNumeric];
std::unordered_map<PyTypeObject*, int>* g_codes;
// By code and unit. The other dtypes never change after import.
struct TimeDescrs {
  InsteadOfGil mutex;
  std::unordered_map<uint32_t, PyArray_Descr*> of;
};
TimeDescrs* g_time_descrs;

// Inlines the common sizes.
inline void CopyItem(void* to, const void* from, size_t size) {
  if (size == 8)
    std::memcpy(to, from, 8);
  else if (size == 4)
    std::memcpy(to, from, 4);
  else
    std::memcpy(to, from, size);
}

TypeCode CodeOfInteger(bool is_signed, size_t size) {
  int log2 = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3;
  return static_cast<TypeCode>(static_cast<int>(is_signed ? TypeCode::kInt8 : TypeCode::kUInt8) +
                               log2);
}

constexpr char kMlDtypes[] = "ml_dtypes";  // the package that provides bfloat16 and similar types

bool IsOfMlDtypes(PyTypeObject* type) {
  PyRef module =
      PyRef::Steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__module__"));
  if (!module) PyErr_Clear();
  return module && PyUnicode_Check(module.get()) &&
         PyUnicode_CompareWithASCIIString(module.get(), kMlDtypes) == 0;
}

// Loads the package that adds a type to NumPy; false with an error set.
bool FindAdded(const std::string& name) {
  if (PyRef::Steal(PyImport_ImportModule(kMlDtypes))) return true;
  if (PyErr_ExceptionMatches(PyExc_ImportError)) {
    PyErr_Format(PyExc_ImportError, "dtype %s needs ml_dtypes: pip install ml_dtypes",
                 name.c_str());
  }
  return false;
}

}  // namespace

void InitTypes() {
  g_codes = new std::unordered_map<PyTypeObject*, int>;
  g_time_descrs = new TimeDescrs;
  for (int i = 0; i < kNumeric; ++i) {
    g_scalar_types[i] = reinterpret_cast<PyTypeObject*>(PyArray_TypeObjectFromType(kTypeNums[i]));
    g_descrs[i] = PyArray_DescrFromType(kTypeNums[i]);
    (*g_codes)[g_scalar_types[i]] = i;
  }
  // Two of NumPy's integer types have the same size (long and long long, or int and long).
  for (int num : {NPY_LONGLONG, NPY_LONG, NPY_INT}) {
    auto* type = reinterpret_cast<PyTypeObject*>(PyArray_TypeObjectFromType(num));
    PyArray_Descr* descr = PyArray_DescrFromType(num);
    g_codes->emplace(type, static_cast<int>(CodeOfInteger(true, PyDataType_ELSIZE(descr))));
    Py_DECREF(descr);
  }
  for (int num : {NPY_ULONGLONG, NPY_ULONG, NPY_UINT}) {
    auto* type = reinterpret_cast<PyTypeObject*>(PyArray_TypeObjectFromType(num));
    PyArray_Descr* descr = PyArray_DescrFromType(num);
    g_codes->emplace(type, static_cast<int>(CodeOfInteger(false, PyDataType_ELSIZE(descr))));
    Py_DECREF(descr);
  }
}

PyArray_Descr* DescrOf(DType dtype) {
  int code = static_cast<int>(dtype.code);
  if (code < kNumeric) {
    Py_INCREF(g_descrs[code]);
    return g_descrs[code];
  }
  if (dtype.is_reference()) return PyArray_DescrFromType(NPY_OBJECT);
  uint32_t key = static_cast<uint32_t>(code) << 16 | dtype.param;
  {
    std::lock_guard lock(g_time_descrs->mutex);
    auto found = g_time_descrs->of.find(key);
    if (found != g_time_descrs->of.end()) {
      Py_INCREF(found->second);
      return found->second;
    }
  }
  if (dtype.code == TypeCode::kAdded && !FindAdded(dtype.name())) return nullptr;
  PyRef name = PyRef::Steal(PyUnicode_FromString(dtype.name().c_str()));
  PyArray_Descr* descr = nullptr;
  if (!PyArray_DescrConverter(name.get(), &descr)) return nullptr;
  std::lock_guard lock(g_time_descrs->mutex);
  if (g_time_descrs->of.emplace(key, descr).second) Py_INCREF(descr);
  return descr;
}

bool DTypeOfDescr(PyArray_Descr* descr, DType* dtype) {
  size_t size = static_cast<size_t>(PyDataType_ELSIZE(descr));
  if (PyTypeNum_ISUSERDEF(descr->type_num) && IsOfMlDtypes(descr->typeobj)) {
    PyRef name = PyRef::Steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(descr), "name"));
    const char* text = name ? PyUnicode_AsUTF8(name.get()) : nullptr;
    if (!text) return false;
    *dtype = DType::Added(text, static_cast<uint32_t>(size));
    return true;
  }
  switch (descr->kind) {
    case 'b':
      *dtype = DType::Of(TypeCode::kBool);
      return true;
    case 'i':
      *dtype = DType::Of(CodeOfInteger(true, size));
      return true;
    case 'u':
      *dtype = DType::Of(CodeOfInteger(false, size));
      return true;
    case 'f':
      *dtype = DType::Of(size == 2   ? TypeCode::kFloat16
                         : size == 4 ? TypeCode::kFloat32
                         : size == 8 ? TypeCode::kFloat64
                                     : TypeCode::kLongDouble);
      return true;
    case 'c':
      *dtype = DType::Of(size == 8    ? TypeCode::kComplex64
                         : size == 16 ? TypeCode::kComplex128
                                      : TypeCode::kCLongDouble);
      return true;
    case 'M':
    case 'm': {
      PyRef name = PyRef::Steal(PyObject_Str(reinterpret_cast<PyObject*>(descr)));
      const char* text = name ? PyUnicode_AsUTF8(name.get()) : nullptr;
      if (!text) return false;
      std::string full(text);
      size_t open = full.find('[');
      std::string unit =
          open == std::string::npos ? "" : full.substr(open + 1, full.size() - open - 2);
      *dtype =
          DType::OfTime(descr->kind == 'M' ? TypeCode::kDatetime64 : TypeCode::kTimedelta64, unit);
      return true;
    }
    case 'S':
      *dtype = DType::Of(TypeCode::kBytes);
      return true;
    case 'U':
    case 'T':
      *dtype = DType::Of(TypeCode::kText);
      return true;
    case 'O':
      *dtype = DType::Of(TypeCode::kObject);
      return true;
    default:
      PyErr_Format(PyExc_TypeError, "array: dtype %S cannot travel through a pipeline; %s", descr,
                   PyDataType_HASFIELDS(descr)
                       ? "make a dict of its fields: {name: array[name] for name in "
                         "array.dtype.names}"
                       : "convert it first");
      return false;
  }
}

bool DTypeOfObject(PyObject* object, DType* dtype) {
  if (object == reinterpret_cast<PyObject*>(&PyUnicode_Type)) {
    *dtype = DType::Of(TypeCode::kText);
    return true;
  }
  if (object == reinterpret_cast<PyObject*>(&PyBytes_Type)) {
    *dtype = DType::Of(TypeCode::kBytes);
    return true;
  }
  if (object == reinterpret_cast<PyObject*>(&PyBaseObject_Type)) {
    *dtype = DType::Of(TypeCode::kObject);
    return true;
  }
  PyArray_Descr* descr = nullptr;
  if (!PyArray_DescrConverter(object, &descr)) return false;
  bool known = DTypeOfDescr(descr, dtype);
  Py_DECREF(descr);
  return known;
}

PyObject* DTypeToObject(DType dtype) {
  PyTypeObject* type = dtype.code == TypeCode::kText     ? &PyUnicode_Type
                       : dtype.code == TypeCode::kBytes  ? &PyBytes_Type
                       : dtype.code == TypeCode::kObject ? &PyBaseObject_Type
                                                         : nullptr;
  if (type) return Py_NewRef(reinterpret_cast<PyObject*>(type));
  return reinterpret_cast<PyObject*>(DescrOf(dtype));
}

PyTypeObject* ScalarType(TypeCode code) {
  int i = static_cast<int>(code);
  return i < kNumeric ? g_scalar_types[i] : nullptr;
}

int ScalarTypeCode(PyTypeObject* type) {
  auto found = g_codes->find(type);
  return found == g_codes->end() ? -1 : found->second;
}

size_t ScalarOffset(TypeCode code) {
  // Each scalar object is a PyObject followed by its value (numpy/arrayscalars.h).
  switch (code) {
    case TypeCode::kLongDouble:
      return offsetof(PyLongDoubleScalarObject, obval);
    case TypeCode::kCLongDouble:
      return offsetof(PyCLongDoubleScalarObject, obval);
    case TypeCode::kComplex64:
      return offsetof(PyCFloatScalarObject, obval);
    case TypeCode::kComplex128:
      return offsetof(PyCDoubleScalarObject, obval);
    default:
      return offsetof(PyLongLongScalarObject, obval);
  }
}

void* ScalarValue(PyObject* scalar, TypeCode code) {
  return reinterpret_cast<uint8_t*>(scalar) + ScalarOffset(code);
}

PyObject* MakeScalar(DType dtype, const void* value, PyRef* reuse) {
  int code = static_cast<int>(dtype.code);
  if (dtype.code == TypeCode::kBool) {
    return Py_NewRef(*static_cast<const bool*>(value) ? PyArrayScalar_True : PyArrayScalar_False);
  }
  if (code >= kNumeric) {
    PyRef descr = PyRef::Steal(reinterpret_cast<PyObject*>(DescrOf(dtype)));
    if (!descr) return nullptr;
    return PyArray_Scalar(const_cast<void*>(value), reinterpret_cast<PyArray_Descr*>(descr.get()),
                          nullptr);
  }
  PyTypeObject* type = g_scalar_types[code];
  if (reuse && *reuse && IsUnique(reuse->get()) && Py_TYPE(reuse->get()) == type) {
    CopyItem(ScalarValue(reuse->get(), dtype.code), value, dtype.itemsize);
    return Py_NewRef(reuse->get());
  }
  PyObject* scalar = type->tp_alloc(type, 0);
  if (!scalar) return nullptr;
  CopyItem(ScalarValue(scalar, dtype.code), value, dtype.itemsize);
  if (reuse) *reuse = PyRef::Borrow(scalar);
  return scalar;
}

}  // namespace penstock
