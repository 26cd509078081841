// dtypes, NumPy scalars and arrays at the border: one table from TypeCode to NumPy and back.
#pragma once

#include "data/tensor.h"
#include "python/python.h"

namespace penstock {

// Called once at import. InitTypes is of types.cc, the other one of arrays.cc, whose error is set.
void InitTypes();
bool InitArrays();

// New reference; text, bytes and objects are NumPy's object dtype. Null with an error set where the
// package of an added type is missing.
PyArray_Descr* DescrOf(DType dtype);
// False (with a Python error set) for dtypes that cannot travel: structured ones.
bool DTypeOfDescr(PyArray_Descr* descr, DType* dtype);
// dtype arguments of users: str, bytes, object, or anything numpy.dtype takes.
bool DTypeOfObject(PyObject* object, DType* dtype);
// New reference: what element_spec shows: numpy.dtype, or str, bytes, object.
PyObject* DTypeToObject(DType dtype);

// NumPy's scalar type of a numeric code, null for the others. Borrowed.
PyTypeObject* ScalarType(TypeCode code);
// The type code of an exact NumPy scalar type, -1 for others; its value stands at ScalarValue.
int ScalarTypeCode(PyTypeObject* type);
void* ScalarValue(PyObject* scalar, TypeCode code);
size_t ScalarOffset(TypeCode code);  // of that value in the object, in bytes
// A NumPy scalar with this value. `reuse` may hold one made before: it is used again when there is
// no other reference to it.
PyObject* MakeScalar(DType dtype, const void* value, PyRef* reuse = nullptr);

// Values to tensors. Python and NumPy scalars, arrays, strings, sequences by NumPy's rules, any
// other object as an opaque leaf. May share memory with arrays that have no reference but the one
// that `object` comes from; else copies, unless `kBorrow`.
enum class Sharing { kCopy, kIfUnique, kBorrow };
bool ToTensor(PyObject* object, Sharing sharing, Tensor* tensor);
// New reference. Moves out of the tensor, so that unshared memory becomes a writeable array. `own`:
// it is one although other rows of its memory are referred to.
PyObject* ToPython(Tensor tensor, bool own = false);
// The bytes of a text, also of one that os.fsdecode made of the name of a file that is no UTF-8.
// False with an error set for one that has none.
bool TextToBytes(PyObject* text, std::string* bytes);
// One string, or one row of a column of strings, without first taking that row out of its block.
PyObject* StringToPython(DType dtype, std::string_view text);
// `own`: the row of an own column, given out once.
PyObject* RowToPython(const Tensor& column, int64_t row, bool own = false);

// What a str or bytes object of a tensor holds. Needs no GIL: it is a plain read.
std::string_view StringOf(PyObject* object);
// A kObjects tensor of `count` references in memory of NewReferences (gil.h), which it takes over,
// also when it throws.
Tensor AdoptObjects(TypeCode code, const Shape& shape, PyObject** objects, size_t count);
// A scalar of one.
Tensor AdoptObject(TypeCode code, PyRef object);

}  // namespace penstock
