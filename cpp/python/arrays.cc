// Converts arrays and values to tensors and back, without a copy where sharing is unobservable.
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "data/error.h"
#include "python/free_threads.h"
#include "python/gil.h"
#include "python/odd_values.h"
#include "python/types.h"

namespace penstock {
namespace {

// Keeps a buffer alive as the base of an array. A free list makes it cheaper than a capsule.
// Without a GIL there is no such list: the lists of Python's allocator are already per thread.
struct BufferOwner {
  PyObject_HEAD BufferRef buffer;
};

constexpr int kOwnersKept = 64;
BufferOwner* g_owners[kOwnersKept];
int g_owners_kept = 0;
PyTypeObject* g_owner_type = nullptr;  // made at import

void OwnerDealloc(PyObject* self) {
  auto* owner = reinterpret_cast<BufferOwner*>(self);
  owner->buffer.~BufferRef();
  Py_DECREF(g_owner_type);  // each object holds a reference to its heap type
#if !defined(Py_GIL_DISABLED)
  if (g_owners_kept < kOwnersKept) {
    g_owners[g_owners_kept++] = owner;
    return;
  }
#endif
  PyObject_Free(self);
}

PyObject* OwnerForeign(PyObject* self, void*) {
  return PyBool_FromLong(reinterpret_cast<BufferOwner*>(self)->buffer->foreign());
}

PyGetSetDef g_owner_attributes[] = {
    {"foreign", OwnerForeign, nullptr, "Whether the memory came from elsewhere.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyObject* NewOwner(BufferRef buffer) {
  BufferOwner* owner;
  if (g_owners_kept > 0) {
    owner = g_owners[--g_owners_kept];
    PyObject_Init(reinterpret_cast<PyObject*>(owner), g_owner_type);
  } else {
    owner = PyObject_New(BufferOwner, g_owner_type);
    if (!owner) return nullptr;
  }
  new (&owner->buffer) BufferRef(std::move(buffer));
  return reinterpret_cast<PyObject*>(owner);
}

void ReleaseObjects(void*, void* data, size_t size) {
  DeferredDecrefAll(static_cast<PyObject**>(data), size / sizeof(PyObject*));
}

void ReleaseArray(void* context, void*, size_t) { DeferredDecref(static_cast<PyObject*>(context)); }

// Caches the text's UTF-8 form in the object, so that it can be read later without the GIL.
bool PrepareText(PyObject* text) {
  return PyUnicode_IS_COMPACT_ASCII(text) || PyUnicode_AsUTF8AndSize(text, nullptr) != nullptr;
}

// The bytes of a text that is not valid UTF-8, if os.fsdecode made it from a file name.
PyRef BytesOfName(PyObject* text) {
  PyErr_Clear();
  PyRef bytes = PyRef::Steal(PyUnicode_AsEncodedString(text, "utf-8", "surrogateescape"));
  if (!bytes) PyErr_Clear();
  return bytes;
}

std::string_view BytesIn(const PyRef& bytes) {
  return {PyBytes_AS_STRING(bytes.get()), static_cast<size_t>(PyBytes_GET_SIZE(bytes.get()))};
}

bool OneObject(TypeCode code, PyRef object, Tensor* tensor) {
  if (code == TypeCode::kText && !PrepareText(object.get())) {
    if (PyRef bytes = BytesOfName(object.get())) {
      *tensor = Tensor::String(TypeCode::kText, BytesIn(bytes));
      return true;
    }
    code = TypeCode::kObject;  // other lone surrogates: cannot be encoded
  }
  *tensor = AdoptObject(code, std::move(object));
  return true;
}

// For texts of which some are not valid UTF-8. False if some cannot be encoded at all.
bool NamesToTensor(PyObject** items, size_t count, const Shape& shape, Tensor* tensor) {
  std::vector<PyRef> held(count);
  std::vector<std::string_view> names(count);
  for (size_t i = 0; i < count; ++i) {
    held[i] = BytesOfName(items[i]);
    if (!held[i]) return false;
    names[i] = BytesIn(held[i]);
  }
  *tensor = Tensor::Strings(TypeCode::kText, shape, names);
  return true;
}

// An object array: strings if all items are strings of one type, opaque objects otherwise.
bool ObjectArray(PyArrayObject* array, Tensor* tensor) {
  auto count = static_cast<size_t>(PyArray_SIZE(array));
  auto** items = static_cast<PyObject**>(PyArray_DATA(array));
  size_t texts = 0, bytes = 0, odd = 0;
  for (size_t i = 0; i < count; ++i) {
    if (items[i] && PyUnicode_CheckExact(items[i])) {
      if (PrepareText(items[i])) {
        ++texts;
      } else {
        PyErr_Clear();
        ++odd;
      }
    } else if (items[i] && PyBytes_CheckExact(items[i])) {
      ++bytes;
    }
  }
  Shape shape(reinterpret_cast<const int64_t*>(PyArray_DIMS(array)), PyArray_NDIM(array));
  if (odd && texts + odd == count && NamesToTensor(items, count, shape, tensor)) return true;
  TypeCode code = count && texts == count   ? TypeCode::kText
                  : count && bytes == count ? TypeCode::kBytes
                                            : TypeCode::kObject;
  PyObject** held = NewReferences(count);
  for (size_t i = 0; i < count; ++i) held[i] = Py_NewRef(items[i] ? items[i] : Py_None);
  *tensor = AdoptObjects(code, shape, held, count);
  return true;
}

bool ArrayToTensor(PyArrayObject* array, Sharing sharing, Tensor* tensor) {
  PyArray_Descr* descr = PyArray_DESCR(array);
  DType dtype;
  if (!DTypeOfDescr(descr, &dtype)) return false;
  if (PyArray_NDIM(array) > kMaxRank) {
    PyErr_Format(PyExc_ValueError, "array: at most %d axes are supported, got %d", kMaxRank,
                 PyArray_NDIM(array));
    return false;
  }
  if (dtype.is_reference()) {
    PyRef objects = PyRef::Steal(PyArray_FromArray(array, PyArray_DescrFromType(NPY_OBJECT),
                                                   NPY_ARRAY_CARRAY | NPY_ARRAY_FORCECAST));
    if (!objects) return false;
    auto* items = reinterpret_cast<PyArrayObject*>(objects.get());
    if (PyArray_NDIM(items) == 0) {
      return ToTensor(*static_cast<PyObject**>(PyArray_DATA(items)), sharing, tensor);
    }
    bool done = ObjectArray(items, tensor);
    if (done && tensor->elements() == 0 && dtype.code != TypeCode::kObject) {
      *tensor = AdoptObjects(dtype.code, tensor->shape(), nullptr, 0);
    }
    return done;
  }
  Shape shape(reinterpret_cast<const int64_t*>(PyArray_DIMS(array)), PyArray_NDIM(array));
  bool direct = PyArray_ISCARRAY_RO(array) && PyArray_ISNOTSWAPPED(array);
  if (direct && sharing != Sharing::kCopy && shape.rank() > 0) {
    auto* self = reinterpret_cast<PyObject*>(array);
    bool unique = IsUnique(self);
    PyObject* base = PyArray_BASE(array);
    if (base && Py_TYPE(base) == g_owner_type) {
      auto& buffer = reinterpret_cast<BufferOwner*>(base)->buffer;
      // Memory that the user can write to no longer belongs to the engine alone, even if it did
      // once.
      bool untouched =
          sharing == Sharing::kBorrow ? !PyArray_ISWRITEABLE(array) : unique && IsUnique(base);
      if (untouched) {
        size_t offset =
            static_cast<size_t>(static_cast<uint8_t*>(PyArray_DATA(array)) - buffer->data());
        // A row of an unshared column stays unshared.
        const bool part =
            sharing != Sharing::kBorrow && PyArray_ISWRITEABLE(array) && !buffer->unique();
        *tensor = Tensor::View(dtype, shape, part ? Buffer::Part(buffer) : buffer, offset);
        return true;
      }
    }
    if (sharing == Sharing::kBorrow || (unique && PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA))) {
      BufferRef shared = Buffer::Borrow(
          PyArray_DATA(array), static_cast<size_t>(PyArray_NBYTES(array)), ReleaseArray, self);
      Py_INCREF(self);
      *tensor = Tensor::View(dtype, shape, std::move(shared), 0);
      return true;
    }
  }
  Tensor copy = Tensor::Make(dtype, shape);
  if (direct) {
    std::memcpy(copy.mutable_data(), PyArray_DATA(array), copy.nbytes());
    *tensor = std::move(copy);
    return true;
  }
  PyArray_Descr* wanted = DescrOf(dtype);
  if (!wanted) return false;
  PyRef target = PyRef::Steal(PyArray_NewFromDescr(
      &PyArray_Type, wanted, shape.rank(),
      const_cast<npy_intp*>(reinterpret_cast<const npy_intp*>(shape.dims().data())), nullptr,
      copy.mutable_data(), NPY_ARRAY_CARRAY, nullptr));
  if (!target || PyArray_CopyInto(reinterpret_cast<PyArrayObject*>(target.get()), array) < 0) {
    return false;
  }
  *tensor = std::move(copy);
  return true;
}

// Whether the first scalar inside nested lists is a string: NumPy would choose dtype S or U for
// them and drop trailing NULs.
bool HoldsStrings(PyObject* object) {
  PyRef held = PyRef::Borrow(object);
  for (int depth = 0; depth < kMaxRank && (PyList_Check(held.get()) || PyTuple_Check(held.get()));
       ++depth) {
    PyRef first;
    {
      const ObjectLock lock(held.get());
      if (PySequence_Fast_GET_SIZE(held.get()) == 0) return false;
      first = PyRef::Borrow(PySequence_Fast_GET_ITEM(held.get(), 0));
    }
    held = std::move(first);
  }
  return PyUnicode_Check(held.get()) || PyBytes_Check(held.get());
}

// NumPy would convert a mapping that is not a dict to an array of its keys. (pandas mappings are
// arrays.)
bool IsMapping(PyObject* object) {
  return !PyList_Check(object) && !PyTuple_Check(object) &&
         PyObject_HasAttrString(object, "keys") && !PyObject_HasAttrString(object, "__array__");
}

// Called after NumPy rejected `object`, with the error set. Returns the array if `object` is a
// PyTorch tensor, or a sequence of them, whose type NumPy has only through ml_dtypes (such as
// bfloat16). Otherwise null with an error set.
PyRef TorchArray(PyObject* object) {
  if (!PyErr_ExceptionMatches(PyExc_TypeError)) return {};
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyRef module = PyRef::Steal(PyImport_ImportModule("penstock.torch_arrays"));
  PyRef made =
      PyRef::Steal(module ? PyObject_CallMethod(module.get(), "array_of", "O", object) : nullptr);
  if (made && made.get() == Py_None) {
    PyErr_Restore(type, value, trace);
    return {};
  }
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  return made;
}

bool SequenceToTensor(PyObject* object, Tensor* tensor) {
  if (IsEndless(object) || IsDataset(object) || IsMapping(object))
    return OneObject(TypeCode::kObject, PyRef::Borrow(object), tensor);
  if (!CheckItems(object)) return false;
  const bool list = PyList_Check(object) || PyTuple_Check(object);
  const auto made = [&](bool of_objects) {
    PyArray_Descr* dtype = of_objects ? PyArray_DescrFromType(NPY_OBJECT) : nullptr;
    return PyRef::Steal(PyArray_FromAny(object, dtype, 0, 0, 0, nullptr));
  };
  bool strings = list && HoldsStrings(object);
  PyRef array = made(strings);
  // If a list has numbers before strings, NumPy has converted the numbers to strings.
  if (array && !strings && list &&
      PyTypeNum_ISSTRING(PyArray_TYPE(reinterpret_cast<PyArrayObject*>(array.get())))) {
    strings = true;
    array = made(strings);
  }
  if (!array) array = TorchArray(object);
  if (!array) return false;
  auto* items = reinterpret_cast<PyArrayObject*>(array.get());
  if (strings && PyArray_SIZE(items) > 0) {
    PyObject* first = *static_cast<PyObject**>(PyArray_DATA(items));
    if (PyList_Check(first) || PyTuple_Check(first)) {
      PyErr_SetString(PyExc_ValueError, "array: nested lists of strings have unequal lengths");
      return false;
    }
  }
  if (PyArray_TYPE(items) == NPY_OBJECT && PyArray_NDIM(items) == 0) {
    return OneObject(TypeCode::kObject, PyRef::Borrow(object), tensor);
  }
  return ArrayToTensor(items, Sharing::kIfUnique, tensor);
}

}  // namespace

bool InitArrays() {
  PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(OwnerDealloc)},
                         {Py_tp_getset, g_owner_attributes},
                         {0, nullptr}};
  PyType_Spec spec = {"penstock._core.BufferOwner", sizeof(BufferOwner), 0, Py_TPFLAGS_DEFAULT,
                      slots};
  g_owner_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return g_owner_type != nullptr;
}

Tensor AdoptObject(TypeCode code, PyRef object) {
  PyObject** slot = NewReferences(1);
  *slot = object.release();
  return AdoptObjects(code, {}, slot, 1);
}

std::string_view StringOf(PyObject* self) {
  if (PyBytes_Check(self)) {
    return {PyBytes_AS_STRING(self), static_cast<size_t>(PyBytes_GET_SIZE(self))};
  }
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(self, &size);  // cached by PrepareText: a plain read
  return {text ? text : "", static_cast<size_t>(text ? size : 0)};
}

Tensor AdoptObjects(TypeCode code, const Shape& shape, PyObject** objects, size_t count) {
  BufferRef held;
  try {
    held = Buffer::Borrow(objects, count * sizeof(PyObject*), ReleaseObjects, nullptr);
  } catch (...) {
    DeferredDecrefAll(objects, count);
    throw;
  }
  return Tensor::Objects(code, shape, std::move(held));
}

bool ToTensor(PyObject* object, Sharing sharing, Tensor* tensor) {
  PyTypeObject* type = Py_TYPE(object);
  if (type == &PyArray_Type) {
    return ArrayToTensor(reinterpret_cast<PyArrayObject*>(object), sharing, tensor);
  }
  if (type == &PyFloat_Type) {
    *tensor = Tensor::Scalar(PyFloat_AS_DOUBLE(object));
    return true;
  }
  if (type == &PyLong_Type) {
    int overflow;
    int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (!overflow) {
      *tensor = Tensor::Scalar(value);
      return true;
    }
    return SequenceToTensor(object, tensor);
  }
  if (type == &PyBool_Type) {
    *tensor = Tensor::Scalar(object == Py_True);
    return true;
  }
  if (type == &PyUnicode_Type) return OneObject(TypeCode::kText, PyRef::Borrow(object), tensor);
  if (type == &PyBytes_Type) return OneObject(TypeCode::kBytes, PyRef::Borrow(object), tensor);
  int code = ScalarTypeCode(type);
  if (code >= 0) {
    auto type_code = static_cast<TypeCode>(code);
    *tensor = Tensor::ScalarBytes(DType::Of(type_code), ScalarValue(object, type_code));
    return true;
  }
  if (PyArray_Check(object)) {  // a subclass: the class is dropped
    if (!CheckMask(object)) return false;
    PyRef plain = PyRef::Steal(PyArray_FromArray(reinterpret_cast<PyArrayObject*>(object), nullptr,
                                                 NPY_ARRAY_ENSUREARRAY));
    return plain && ArrayToTensor(reinterpret_cast<PyArrayObject*>(plain.get()),
                                  sharing == Sharing::kBorrow ? sharing : Sharing::kCopy, tensor);
  }
  if (PyUnicode_Check(object)) {
    PyRef text = PyRef::Steal(PyUnicode_FromObject(object));
    return text && OneObject(TypeCode::kText, std::move(text), tensor);
  }
  if (PyBytes_Check(object)) {
    PyRef bytes = PyRef::Steal(
        PyBytes_FromStringAndSize(PyBytes_AS_STRING(object), PyBytes_GET_SIZE(object)));
    return bytes && OneObject(TypeCode::kBytes, std::move(bytes), tensor);
  }
  return SequenceToTensor(object, tensor);
}

bool TextToBytes(PyObject* text, std::string* bytes) {
  Py_ssize_t size = 0;
  if (const char* utf8 = PyUnicode_AsUTF8AndSize(text, &size)) {
    bytes->assign(utf8, static_cast<size_t>(size));
    return true;
  }
  if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) return false;
  PyRef name = BytesOfName(text);
  if (!name) {
    PyErr_Format(PyExc_ValueError, "%R has no form in bytes: it has lone surrogates", text);
    return false;
  }
  *bytes = BytesIn(name);
  return true;
}

PyObject* StringToPython(DType dtype, std::string_view text) {
  auto size = static_cast<Py_ssize_t>(text.size());
  if (dtype.code == TypeCode::kBytes) return PyBytes_FromStringAndSize(text.data(), size);
  return PyUnicode_DecodeUTF8(text.data(), size, "surrogateescape");
}

PyObject* RowToPython(const Tensor& column, int64_t row, bool own) {
  if (column.storage() == Storage::kPacked && column.shape().rank() == 1) {
    return StringToPython(column.dtype(), column.string(row));
  }
  return ToPython(column.Row(row), own);
}

namespace {

PyObject* ReferencesToPython(const Tensor& tensor) {
  bool packed = tensor.storage() == Storage::kPacked;
  if (tensor.shape().rank() == 0) {
    if (packed) return StringToPython(tensor.dtype(), tensor.string());
    return Py_NewRef(static_cast<PyObject*>(tensor.objects()[0]));
  }
  auto dims = tensor.shape().dims();
  PyRef array = PyRef::Steal(PyArray_SimpleNew(
      tensor.shape().rank(), reinterpret_cast<const npy_intp*>(dims.data()), NPY_OBJECT));
  if (!array) return nullptr;
  auto** items =
      static_cast<PyObject**>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(array.get())));
  for (int64_t i = 0, n = tensor.elements(); i < n; ++i) {
    PyObject* item = packed ? StringToPython(tensor.dtype(), tensor.string(i))
                            : Py_NewRef(static_cast<PyObject*>(tensor.objects()[i]));
    if (!item) return nullptr;
    PyObject* old = items[i];
    items[i] = item;
    Py_XDECREF(old);
  }
  return array.release();
}

}  // namespace

PyObject* ToPython(Tensor tensor, bool own) {
  if (tensor.dtype().is_reference()) return ReferencesToPython(tensor);
  if (tensor.shape().rank() == 0) return MakeScalar(tensor.dtype(), tensor.data());
  BufferRef buffer = tensor.take_buffer();
  size_t offset = tensor.offset();
  DType dtype = tensor.dtype();
  const Shape& shape = tensor.shape();
  if (!buffer) {  // a row of one item, stored inside the tensor
    Tensor copy = Tensor::Make(dtype, shape);
    std::memcpy(copy.mutable_data(), tensor.data(), copy.nbytes());
    buffer = copy.take_buffer();
    offset = 0;
  }
  const bool writeable = own || buffer->unique();
  uint8_t* data = buffer->data() + offset;
  PyRef owner = PyRef::Steal(NewOwner(std::move(buffer)));
  if (!owner) return nullptr;
  PyArray_Descr* descr = DescrOf(dtype);
  if (!descr) return nullptr;
  PyRef array = PyRef::Steal(PyArray_NewFromDescr(
      &PyArray_Type, descr, shape.rank(),
      const_cast<npy_intp*>(reinterpret_cast<const npy_intp*>(shape.dims().data())), nullptr, data,
      writeable ? NPY_ARRAY_CARRAY : NPY_ARRAY_CARRAY_RO, nullptr));
  if (!array ||
      PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(array.get()), owner.release()) < 0) {
    return nullptr;
  }
  return array.release();
}

}  // namespace penstock
