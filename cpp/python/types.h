// dtypes, NumPy scalars and arrays: one table maps TypeCode to NumPy and back.
#pragma once

#include "data/tensor.h"
#include "python/python.h"

namespace penstock {

// Called once at import. InitArrays sets an error if it fails.
void InitTypes();
bool InitArrays();

// The NumPy dtype; text, bytes and objects become NumPy's object dtype. New reference; null, with
// an error set, if the package that adds the type is missing.
PyArray_Descr* DescrOf(DType dtype);
// False, with a Python error set, for structured dtypes, which are not supported.
bool DTypeOfDescr(PyArray_Descr* descr, DType* dtype);
// Converts a dtype argument of a user: str, bytes, object, or anything numpy.dtype accepts.
bool DTypeOfObject(PyObject* object, DType* dtype);
// The dtype as element_spec shows it: numpy.dtype, or str, bytes, object. New reference.
PyObject* DTypeToObject(DType dtype);

// NumPy's scalar type for a numeric code, null for other codes. Borrowed.
PyTypeObject* ScalarType(TypeCode code);
// The type code of an exact NumPy scalar type, -1 for other types. ScalarValue points to the value.
int ScalarTypeCode(PyTypeObject* type);
void* ScalarValue(PyObject* scalar, TypeCode code);
size_t ScalarOffset(TypeCode code);  // of the value within the object, in bytes
// A NumPy scalar with this value. `reuse` may hold an earlier scalar, which is reused if nothing
// else refers to it.
PyObject* MakeScalar(DType dtype, const void* value, PyRef* reuse = nullptr);

// Converts a value to a tensor: Python and NumPy scalars, arrays, strings, sequences by NumPy's
// rules, and any other object as an opaque leaf. Shares memory only with arrays that have no
// reference other than the one `object` comes from, and copies the others, unless `kBorrow`.
enum class Sharing { kCopy, kIfUnique, kBorrow };
bool ToTensor(PyObject* object, Sharing sharing, Tensor* tensor);
// Moves out of the tensor, so that unshared memory becomes a writeable array. `own`: treat the
// memory as unshared although other rows of it are referenced. New reference.
PyObject* ToPython(Tensor tensor, bool own = false);
// The bytes of a text, including one that os.fsdecode made from a file name that is not valid
// UTF-8. False, with an error set, if it has no encoding.
bool TextToBytes(PyObject* text, std::string* bytes);
// Converts one string, or one row of a column of strings, without extracting the row first.
PyObject* StringToPython(DType dtype, std::string_view text);
// `own`: a row of a column that the consumer owns, delivered once.
PyObject* RowToPython(const Tensor& column, int64_t row, bool own = false);

// The contents of a str or bytes object in a tensor. Needs no GIL: it is a plain read.
std::string_view StringOf(PyObject* object);
// A kObjects tensor of `count` references in memory from NewReferences (gil.h). Takes over that
// memory, even if it throws.
Tensor AdoptObjects(TypeCode code, const Shape& shape, PyObject** objects, size_t count);
// A kObjects tensor that is a scalar.
Tensor AdoptObject(TypeCode code, PyRef object);

}  // namespace penstock
