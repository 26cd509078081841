// Walks nested Python values.
#include "python/pytree.h"

#include <string>

#include "data/foreign_names.h"
#include "python/free_threads.h"
#include "python/gil.h"
#include "python/key_tuples.h"

namespace penstock {
namespace {

using Kind = Structure::Kind;

// Interned at import: a thread that waited for another one to intern them would be attached
// meanwhile.
struct Names {
  PyObject* fields;
  PyObject* dataclass;
  PyObject* attrs;
  PyObject* name;
};
Names g_names;

bool IsNamedTuple(PyObject* object) {
  if (!PyTuple_Check(object) || PyTuple_CheckExact(object)) return false;
  return PyObject_HasAttr(reinterpret_cast<PyObject*>(Py_TYPE(object)), g_names.fields);
}

// The field names of a dataclass or attrs instance; null (no error) for anything else.
PyRef RecordFields(PyObject* object) {
  auto* type = reinterpret_cast<PyObject*>(Py_TYPE(object));
  if (PyType_Check(object)) return {};
  if (PyObject_HasAttr(type, g_names.dataclass)) {
    PyRef fields = PyRef::Steal(PyObject_GetAttr(type, g_names.dataclass));
    if (fields && PyDict_Check(fields.get())) return PyRef::Steal(PyDict_Keys(fields.get()));
    PyErr_Clear();
    return {};
  }
  if (PyObject_HasAttr(type, g_names.attrs)) {
    PyRef attributes = PyRef::Steal(PyObject_GetAttr(type, g_names.attrs));
    PyRef names = PyRef::Steal(PyList_New(0));
    PyRef items = PyRef::Steal(PySequence_Fast(attributes.get(), ""));
    if (!items) {
      PyErr_Clear();
      return {};
    }
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
      PyRef name =
          PyRef::Steal(PyObject_GetAttr(PySequence_Fast_GET_ITEM(items.get(), i), g_names.name));
      if (!name || PyList_Append(names.get(), name.get()) < 0) return {};
    }
    return names;
  }
  return {};
}

std::string TextOf(PyObject* object) {
  PyRef text = PyRef::Steal(PyUnicode_Check(object) ? Py_NewRef(object) : PyObject_Repr(object));
  const char* utf8 = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  if (!utf8) PyErr_Clear();
  return utf8 ? utf8 : "?";
}

// Calls a function of penstock.foreign with (the kind of structure, argument, field names). New
// reference; null without an error if the function returns None.
PyRef AskForeign(const char* function, Kind kind, PyRef argument,
                 const std::vector<std::string>& fields) {
  PyRef module = PyRef::Steal(PyImport_ImportModule("penstock.foreign"));
  PyRef names = PyRef::Steal(PyTuple_New(static_cast<Py_ssize_t>(fields.size())));
  for (size_t i = 0; names && i < fields.size(); ++i) {
    PyTuple_SET_ITEM(names.get(), static_cast<Py_ssize_t>(i),
                     PyUnicode_DecodeUTF8(fields[i].data(),
                                          static_cast<Py_ssize_t>(fields[i].size()), "replace"));
  }
  const char* what = kind == Kind::kDict ? "dict" : kind == Kind::kRecord ? "record" : "tuple";
  PyRef answer;
  if (module && names && argument) {
    answer = PyRef::Steal(
        PyObject_CallMethod(module.get(), function, "sOO", what, argument.get(), names.get()));
  }
  PyErr_Clear();
  if (answer && answer.get() == Py_None) return {};
  return answer;
}

// The reference that structures hold for a class or for canonical keys.
ForeignRef FormOf(Kind kind, PyRef object, const std::vector<std::string>& fields) {
  if (ForeignRef known = KnownForeign(object.get())) return known;
  PyRef answer = AskForeign("name_of", kind, PyRef::Borrow(object.get()), fields);
  const char* name = nullptr;
  int lasting = 0;
  if (answer && !PyArg_ParseTuple(answer.get(), "sp", &name, &lasting)) name = nullptr;
  PyErr_Clear();
  return NameForeign(kind, {object.release(), name ? name : "", name && lasting}, fields);
}

// An item of a dict, kept if others can reach the dict. Null if it is missing, perhaps with an
// error set.
PyObject* ItemOf(PyObject* dict, PyObject* key, Flattened* out) {
#if defined(Py_GIL_DISABLED)
  // Never borrow here: the lookup locks the dict, and releases any lock this thread holds.
  PyObject* found = nullptr;
  if (PyDict_GetItemRef(dict, key, &found) <= 0) return nullptr;
  const PyRef item = PyRef::Steal(found);
  out->KeepIfShared(item.get());
  return item.get();
#else
  (void)out;
  return PyDict_GetItemWithError(dict, key);
#endif
}

StructureRef FlattenInto(PyObject* object, Flattened* out, int depth);

// `foreign`: the class or the canonical keys; null for a plain tuple.
StructureRef FlattenChildren(Kind kind, const std::vector<PyObject*>& items,
                             std::vector<std::string> names, PyRef foreign, Flattened* out,
                             int depth) {
  std::vector<StructureRef> children;
  children.reserve(items.size());
  for (PyObject* item : items) {
    StructureRef child = FlattenInto(item, out, depth + 1);
    if (!child) return nullptr;
    children.push_back(std::move(child));
  }
  ForeignRef form = foreign ? FormOf(kind, std::move(foreign), names) : nullptr;
  return Structure::Make(kind, std::move(children), std::move(names), std::move(form));
}

StructureRef FlattenInto(PyObject* object, Flattened* out, int depth) {
  constexpr int kMaxNesting = 200;
  if (depth > kMaxNesting) {
    PyErr_Format(PyExc_ValueError, "element: nested more than %d deep (does it contain itself?)",
                 kMaxNesting);
    return nullptr;
  }
  if (object == Py_None) return Structure::None();
  if (depth > 0 && (PyTuple_Check(object) || PyDict_Check(object)) && !IsUnique(object)) {
    out->exclusive = false;
  }
  if (PyTuple_CheckExact(object) || IsNamedTuple(object)) {
    std::vector<PyObject*> items(&PyTuple_GET_ITEM(object, 0),
                                 &PyTuple_GET_ITEM(object, 0) + PyTuple_GET_SIZE(object));
    if (PyTuple_CheckExact(object)) return FlattenChildren(Kind::kTuple, items, {}, {}, out, depth);
    auto* type = reinterpret_cast<PyObject*>(Py_TYPE(object));
    PyRef fields = PyRef::Steal(PyObject_GetAttr(type, g_names.fields));
    std::vector<std::string> names;
    for (Py_ssize_t i = 0;
         fields && PyTuple_Check(fields.get()) && i < PyTuple_GET_SIZE(fields.get()); ++i) {
      names.push_back(TextOf(PyTuple_GET_ITEM(fields.get(), i)));
    }
    return FlattenChildren(Kind::kNamedTuple, items, std::move(names), PyRef::Borrow(type), out,
                           depth);
  }
  if (PyDict_Check(object)) {
    PyRef list = PyRef::Steal(PyDict_Keys(object));
    PyRef keys = list ? PyRef::Steal(PyList_AsTuple(list.get())) : PyRef();
    if (keys) keys = CanonicalKeys(std::move(keys));
    if (!keys) return nullptr;
    std::vector<PyObject*> items;
    std::vector<std::string> names;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys.get()); ++i) {
      PyObject* key = PyTuple_GET_ITEM(keys.get(), i);
      items.push_back(ItemOf(object, key, out));
      if (!items.back()) {
        if (!PyErr_Occurred()) PyErr_SetObject(PyExc_KeyError, key);  // it was just removed
        return nullptr;
      }
      names.push_back(TextOf(key));
    }
    return FlattenChildren(Kind::kDict, items, std::move(names), std::move(keys), out, depth);
  }
  if (PyRef fields = RecordFields(object)) {
    out->exclusive = false;  // a record may be referenced from anywhere
    std::vector<PyObject*> items;
    std::vector<std::string> names;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(fields.get()); ++i) {
      PyObject* name = PyList_GET_ITEM(fields.get(), i);
      PyRef value = PyRef::Steal(PyObject_GetAttr(object, name));
      if (!value) return nullptr;
      names.push_back(TextOf(name));
      items.push_back(value.get());
      out->kept.push_back(std::move(value));
    }
    auto* type = reinterpret_cast<PyObject*>(Py_TYPE(object));
    return FlattenChildren(Kind::kRecord, items, std::move(names), PyRef::Borrow(type), out, depth);
  }
  out->leaves.push_back(object);
  return Structure::Leaf();
}

bool NestedLike(const Structure* like, PyObject* object, Flattened* out);

inline bool LikeInto(const Structure* like, PyObject* object, Flattened* out) {
  if (like->kind() != Kind::kLeaf) return NestedLike(like, object, out);
  out->leaves.push_back(object);
  return true;
}

bool NestedLike(const Structure* like, PyObject* object, Flattened* out) {
  auto& children = like->children();
  auto count = static_cast<Py_ssize_t>(children.size());
  switch (like->kind()) {
    case Kind::kLeaf:
      break;  // nothing nests
    case Kind::kNone:
      return object == Py_None;
    case Kind::kTuple:
    case Kind::kNamedTuple:
      if (like->kind() == Kind::kTuple
              ? !PyTuple_CheckExact(object)
              : static_cast<const void*>(Py_TYPE(object)) != like->foreign()) {
        return false;
      }
      if (PyTuple_GET_SIZE(object) != count) return false;
      out->exclusive = out->exclusive && IsUnique(object);
      for (Py_ssize_t i = 0; i < count; ++i) {
        if (!LikeInto(children[i], PyTuple_GET_ITEM(object, i), out)) return false;
      }
      return true;
    case Kind::kDict: {
      if (!PyDict_Check(object)) return false;
      const ObjectLock lock(object);
      if (PyDict_GET_SIZE(object) != count) return false;
      out->exclusive = out->exclusive && IsUnique(object);
      auto* keys = static_cast<PyObject*>(const_cast<void*>(like->foreign()));
      // Most dicts have the same key objects as the first one, in the same order.
      bool in_order = true;
      Py_ssize_t place = 0;
      for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject *wanted = PyTuple_GET_ITEM(keys, i), *key, *value = nullptr;
        in_order = in_order && PyDict_Next(object, &place, &key, &value) && key == wanted;
        if (in_order) {
          out->KeepIfShared(value);
        } else {
          value = ItemOf(object, wanted, out);
        }
        if (!value) return false;
        if (!LikeInto(children[i], value, out)) return false;
      }
      return true;
    }
    case Kind::kRecord:
      if (static_cast<const void*>(Py_TYPE(object)) != like->foreign()) return false;
      out->exclusive = false;
      for (Py_ssize_t i = 0; i < count; ++i) {
        PyRef value = PyRef::Steal(PyObject_GetAttrString(object, like->names()[i].c_str()));
        if (!value || !LikeInto(children[i], value.get(), out)) return false;
        out->kept.push_back(std::move(value));
      }
      return true;
  }
  return false;
}

PyObject* UnflattenFrom(const Structure* structure, PyObject**& leaves) {
  auto& children = structure->children();
  auto count = static_cast<Py_ssize_t>(children.size());
  auto* type = static_cast<PyTypeObject*>(const_cast<void*>(structure->foreign()));
  switch (structure->kind()) {
    case Kind::kLeaf:
      return std::exchange(*leaves++, nullptr);
    case Kind::kNone:
      Py_RETURN_NONE;
    case Kind::kTuple: {
      PyRef tuple = PyRef::Steal(PyTuple_New(count));
      for (Py_ssize_t i = 0; tuple && i < count; ++i) {
        PyObject* child = UnflattenFrom(children[i], leaves);
        if (!child) return nullptr;
        PyTuple_SET_ITEM(tuple.get(), i, child);
      }
      return tuple.release();
    }
    case Kind::kNamedTuple: {
      PyRef plain = PyRef::Steal(PyTuple_New(count));
      for (Py_ssize_t i = 0; plain && i < count; ++i) {
        PyObject* child = UnflattenFrom(children[i], leaves);
        if (!child) return nullptr;
        PyTuple_SET_ITEM(plain.get(), i, child);
      }
      if (!plain) return nullptr;
      // As namedtuple's own _make: bypasses an overridden __new__.
      PyRef args = PyRef::Steal(PyTuple_Pack(1, plain.get()));
      return args ? PyTuple_Type.tp_new(type, args.get(), nullptr) : nullptr;
    }
    case Kind::kDict: {
      PyRef dict = PyRef::Steal(PyDict_New());
      auto* keys = static_cast<PyObject*>(const_cast<void*>(structure->foreign()));
      for (Py_ssize_t i = 0; dict && i < count; ++i) {
        PyRef child = PyRef::Steal(UnflattenFrom(children[i], leaves));
        if (!child || PyDict_SetItem(dict.get(), PyTuple_GET_ITEM(keys, i), child.get()) < 0) {
          return nullptr;
        }
      }
      return dict.release();
    }
    case Kind::kRecord: {
      // Bypasses __init__ and frozen checks: sets the fields to their former values.
      PyRef empty = PyRef::Steal(PyTuple_New(0));
      PyRef record = PyRef::Steal(PyBaseObject_Type.tp_new(type, empty.get(), nullptr));
      for (Py_ssize_t i = 0; record && i < count; ++i) {
        PyRef child = PyRef::Steal(UnflattenFrom(children[i], leaves));
        PyRef name = PyRef::Steal(PyUnicode_FromString(structure->names()[i].c_str()));
        if (!child || !name || PyObject_GenericSetAttr(record.get(), name.get(), child.get()) < 0) {
          return nullptr;
        }
      }
      return record.release();
    }
  }
  return nullptr;
}

}  // namespace

ForeignRef FindPythonForm(Kind kind, const std::string& name,
                          const std::vector<std::string>& fields) {
  if (Attachment* attachment = CurrentAttachment()) {
    attachment->Attach();
  } else if (!PyGILState_Check()) {
    return nullptr;
  }
  PyRef text = PyRef::Steal(
      PyUnicode_DecodeUTF8(name.data(), static_cast<Py_ssize_t>(name.size()), "replace"));
  PyRef found = AskForeign("find", kind, std::move(text), fields);
  if (!found) return nullptr;
  // Structures trust the objects they hold, so check the result here.
  bool dict = kind == Kind::kDict;
  if (dict ? !PyTuple_CheckExact(found.get()) ||
                 PyTuple_GET_SIZE(found.get()) != static_cast<Py_ssize_t>(fields.size())
           : !PyType_Check(found.get())) {
    return nullptr;
  }
  bool tuple =
      !dict && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(found.get()), &PyTuple_Type);
  if (!dict && tuple != (kind == Kind::kNamedTuple)) return nullptr;
  if (dict) found = CanonicalKeys(std::move(found));
  if (!found) PyErr_Clear();
  return found ? FormOf(kind, std::move(found), fields) : nullptr;
}

void InitPytree() {
  g_names = {PyUnicode_InternFromString("_fields"),
             PyUnicode_InternFromString("__dataclass_fields__"),
             PyUnicode_InternFromString("__attrs_attrs__"), PyUnicode_InternFromString("name")};
}

bool Flatten(PyObject* object, Flattened* out) {
  out->exclusive = IsUnique(object);
  out->structure = FlattenInto(object, out, 0);
  return static_cast<bool>(out->structure);
}

bool FlattenLike(const Structure* like, PyObject* object, Flattened* out) {
  // `structure` is kept by a reference: reading keys and fields may run user code, and with it
  // other threads, which may drop the caller's source of `like`.
  if (out->structure != like) out->structure = like;
  if (LikeInto(like, object, out)) return true;
  PyErr_Clear();
  out->leaves.clear();
  out->kept.clear();
  out->exclusive = true;
  return false;
}

PyObject* Unflatten(const Structure* structure, PyObject** leaves) {
  int count = structure->leaves();
  PyObject** next = leaves;
  PyObject* value = UnflattenFrom(structure, next);
  if (!value) {
    for (int i = 0; i < count; ++i) Py_XDECREF(leaves[i]);
  }
  return value;
}

}  // namespace penstock
