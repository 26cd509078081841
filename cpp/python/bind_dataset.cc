// The plan in Python: creates nodes, values and specifications generically.
#include <pybind11/stl.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <optional>

#include "compute/io/json_fields.h"
#include "data/element_list.h"
#include "data/element_text.h"
#include "engine/registry.h"
#include "engine/stack_need.h"
#include "python/arrow.h"
#include "python/bind.h"
#include "python/element_rng.h"
#include "python/errors.h"
#include "python/gil.h"
#include "python/py_function.h"
#include "python/py_indexable.h"
#include "python/pytree.h"
#include "python/shown_refs.h"
#include "python/specs.h"
#include "python/types.h"
#include "python/whole.h"
#include "runtime/blocking.h"
#include "stages/batch/batching.h"
#include "stages/files/file_dataset.h"
#include "stages/files/index_file.h"

namespace py = pybind11;
using namespace py::literals;

namespace penstock {
namespace {

// A node of the plan. Its functions belong to the plan, which may be in use without any reference
// from Python. But the node's Python object shows the references to them to the garbage collector,
// because a function often refers to an object that refers to its dataset (a method of the object
// that holds the dataset). That is correct as long as anything that runs a plan keeps its Python
// Dataset alive: an iterator shows its own dataset to the collector, and its run shows the datasets
// that functions returned (ShownRefs). A run that is being closed holds both through references
// that the collector cannot see.
struct Node {
  DatasetPtr plan;
  std::vector<PyObject*> roots;  // borrowed from the plan
};

// Queries about a plan recurse through all of its stages.
const Dataset& Readable(const Node& node) {
  RequireStack(StackUse::kPlan, node.plan->depth());
  return *node.plan;
}

Node& NodeOf(PyObject* self) { return py::cast<Node&>(py::handle(self)); }

int NodeTraverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!py::detail::is_holder_constructed(self)) return 0;
  for (PyObject* root : NodeOf(self).roots) Py_VISIT(root);
  return 0;
}

int NodeClear(PyObject* self) {
  if (!py::detail::is_holder_constructed(self)) return 0;
  Node& node = NodeOf(self);
  node.roots.clear();
  node.plan.reset();
  return 0;
}

void CollectNodes(PyHeapTypeObject* heap) {
  MadeWhole(heap);
  heap->ht_type.tp_flags |= Py_TPFLAGS_HAVE_GC;
  heap->ht_type.tp_traverse = NodeTraverse;
  heap->ht_type.tp_clear = NodeClear;
}

// __new__ for classes whose instances must be complete: it runs __init__, and calling __init__
// again later has no effect. If there is no constructor, pybind11's __init__ raises.
PyObject* NewWhole(PyTypeObject* cls, PyObject* args, PyObject* kwargs) {
  PyObject* self = nullptr;
  try {
    self = py::detail::make_new_instance(cls);
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
  if (self && cls->tp_init(self, args, kwargs) < 0) Py_CLEAR(self);
  return self;
}

struct Value {
  std::shared_ptr<const Element> element;
};
struct Spec {
  std::shared_ptr<const ElementSpec> spec;
  static Spec Of(const py::object& nested) {
    return {std::make_shared<const ElementSpec>(SpecOfPython(nested))};
  }
};
// Many values, held by a source.
struct Elements {
  std::shared_ptr<ElementList> elements;
};
// The rows of a table, which a source shares with the table's creator.
struct TableRows {
  std::shared_ptr<Table> table;
};
// An object that the engine passes through unchanged.
struct Opaque {
  Args::Foreign object;
};

// An object with `size` rows, which the plan fetches by position.
struct Indexable {
  py::object object;
  int64_t size;
};

// Packs texts that a plan will hold, such as file names, so that no stage of a run has to handle
// Python objects. Long texts stay shared with the user.
Tensor WithShortTextsPacked(Tensor texts) {
  constexpr size_t kShort = 256;  // bytes, on average
  const bool objects = texts.storage() == Storage::kObjects && texts.shape().rank() > 0;
  if (!objects || texts.dtype().code != TypeCode::kText) return texts;
  std::vector<std::string_view> items(static_cast<size_t>(texts.elements()));
  size_t bytes = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    items[i] = texts.string(static_cast<int64_t>(i));
    bytes += items[i].size();
  }
  if (bytes > kShort * items.size()) return texts;
  return Tensor::Strings(TypeCode::kText, texts.shape(), items);
}

Value MakeValue(const py::object& object, bool borrow) {
  Flattened flat;
  auto element = std::make_shared<Element>();
  if (!Flatten(object.ptr(), &flat)) throw py::error_already_set();
  element->structure = flat.structure;
  for (PyObject* leaf : flat.leaves) {
    Tensor tensor;
    if (!ToTensor(leaf, borrow ? Sharing::kBorrow : Sharing::kCopy, &tensor)) {
      throw py::error_already_set();
    }
    if (borrow && tensor.shape().rank() > 0) tensor.BecomeConstant();  // shared with the user
    element->leaves.push_back(WithShortTextsPacked(std::move(tensor)));
  }
  return {std::move(element)};
}

py::object ValueToPython(const Value& value) {
  std::vector<PyObject*> leaves;
  for (const Tensor& leaf : value.element->leaves) leaves.push_back(ToPython(leaf));
  PyObject* nested = Unflatten(value.element->structure, leaves.data());
  if (!nested) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(nested);
}

// The most upstream node whose spec is unknown although the specs of its inputs are known.
DatasetPtr FirstUnknown(const DatasetPtr& plan) {
  DatasetPtr node = plan;
  for (;;) {
    if (node->spec()) return nullptr;
    DatasetPtr next;
    for (auto& input : node->inputs()) {
      if (!input->spec()) next = input;
    }
    if (!next) return node;
    node = next;
  }
}

// Lists among a stage's arguments that describe its functions: those that take a random generator,
// those that are coroutine functions, and those that belong to penstock. Not arguments themselves.
constexpr const char* kWantsRng = "wants_rng";
constexpr const char* kAwaits = "awaits";
constexpr const char* kOwn = "own";
bool IsAside(const py::handle& name) {
  return name.equal(py::str(kWantsRng)) || name.equal(py::str(kAwaits)) ||
         name.equal(py::str(kOwn));
}

PlannedFunction Planned(const py::handle& function,
                        const std::shared_ptr<const ElementSpec>& declared, CallForm form) {
  PlannedFunction planned{MakePyFunction(PyRef::Borrow(function.ptr()), declared, form)};
  planned.executor = form.executor;
  if (!form.awaits) planned.gone_over = std::make_shared<std::atomic<bool>>(false);
  return planned;
}

// `argument` is for errors: "range: stop". `declared` and `form` are for functions.
Args::Value ToArg(const std::string& argument, const py::handle& value,
                  const std::shared_ptr<const ElementSpec>& declared, CallForm form) {
  if (value.is_none()) return std::monostate{};
  if (py::isinstance<py::bool_>(value)) return value.cast<bool>();
  if (py::isinstance<Value>(value)) return value.cast<const Value&>().element;
  if (py::isinstance<Spec>(value)) return value.cast<const Spec&>().spec;
  if (py::isinstance<Opaque>(value)) return value.cast<const Opaque&>().object;
  if (py::isinstance<TableRows>(value)) return Args::Foreign(value.cast<const TableRows&>().table);
  if (py::isinstance<Elements>(value)) {
    return Args::Foreign(value.cast<const Elements&>().elements);
  }
  if (py::isinstance<NativeFunction>(value)) return value.cast<const NativeFunction&>().function;
  if (py::isinstance<ProcessFunctionOfPython>(value)) {
    return PlannedProcessFunction(value.cast<const ProcessFunctionOfPython&>(), declared,
                                  form.wants_rng);
  }
  if (py::isinstance<Indexable>(value)) {
    auto& [object, size] = value.cast<const Indexable&>();
    return PlannedFunction{MakeIndexableFunction(PyRef::Borrow(object.ptr()), size, declared)};
  }
  if (PyIndex_Check(value.ptr()) && !PyCallable_Check(value.ptr())) {
    PyRef whole = PyRef::Steal(PyNumber_Index(value.ptr()));
    int64_t number = whole ? PyLong_AsLongLong(whole.get()) : -1;
    if (number != -1 || !PyErr_Occurred()) return number;
    if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
      PyErr_Clear();
      throw Error(ErrorKind::kInvalidArgument, "{}: an int of 64 bits was expected, got {}",
                  argument, std::string(py::str(value)));
    }
    // For example an array of several items: not a number, but the stage may accept it.
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw py::error_already_set();
    PyErr_Clear();
  }
  if (PyFloat_Check(value.ptr())) return value.cast<double>();
  if (py::isinstance<py::str>(value)) {
    std::string text;
    if (!TextToBytes(value.ptr(), &text)) throw py::error_already_set();
    return text;
  }
  if (py::isinstance<ExecutedFunctionOfPython>(value)) {
    auto& [plain, executor, timeout_ns] = value.cast<const ExecutedFunctionOfPython&>();
    form.executor = ExecutorOf(executor);
    form.timeout_ns = timeout_ns;
    return Planned(plain, declared, form);
  }
  if (PyCallable_Check(value.ptr())) return Planned(value, declared, form);
  if (py::isinstance<py::tuple>(value) || py::isinstance<py::list>(value)) {
    try {
      return value.cast<std::vector<int64_t>>();
    } catch (const py::cast_error&) {
      throw Error(ErrorKind::kType, "{}: a sequence of ints was expected, got {}", argument,
                  std::string(py::str(py::repr(value))));
    }
  }
  return ToForeign(PyRef::Borrow(value.ptr()));
}

// The objects among the arguments that the plan keeps references to.
std::vector<PyObject*> RootsOf(const py::dict& args) {
  std::vector<PyObject*> roots;
  for (auto [name, value] : args) {
    if (IsAside(name)) continue;
    if (py::isinstance<Indexable>(value)) {
      roots.push_back(value.cast<const Indexable&>().object.ptr());
      continue;
    }
    if (py::isinstance<ProcessFunctionOfPython>(value)) {
      roots.push_back(value.cast<const ProcessFunctionOfPython&>().plain.ptr());
      continue;
    }
    if (py::isinstance<ExecutedFunctionOfPython>(value)) {
      roots.push_back(value.cast<const ExecutedFunctionOfPython&>().plain.ptr());
      continue;
    }
    if (py::isinstance<Elements>(value) || py::isinstance<TableRows>(value)) continue;
    Args::Value arg = ToArg("", value, nullptr, {});
    if (py::isinstance<NativeFunction>(value)) {
      PyObject* plain = value.cast<const NativeFunction&>().plain;
      if (plain) roots.push_back(plain);
    } else if (std::holds_alternative<PlannedFunction>(arg)) {
      roots.push_back(value.ptr());
    } else if (auto* object = std::get_if<Args::Foreign>(&arg)) {
      roots.push_back(static_cast<PyObject*>(object->get()));
    }
  }
  return roots;
}

Elements ElementsOf(const py::iterable& values) {
  auto elements = std::make_shared<ElementList>();
  for (const py::handle& value : values) elements->Add(value.cast<const Value&>().element);
  elements->Finish();
  return {std::move(elements)};
}

TableRows RowsOf(const py::object& table, const std::string& stage) {
  return {std::make_shared<Table>(TableOfArrow(table.ptr(), stage))};
}

Opaque OpaqueOf(const py::object& object) { return {ToForeign(PyRef::Borrow(object.ptr()))}; }

Indexable IndexableOf(py::object object, int64_t size) { return {std::move(object), size}; }

}  // namespace

DatasetPtr DatasetOfPython(PyObject* object) {
  PyRef node = PyRef::Steal(PyObject_GetAttrString(object, "_node"));
  if (!node || !py::isinstance<Node>(node.get())) {
    PyErr_Clear();
    return nullptr;
  }
  return py::handle(node.get()).cast<const Node&>().plan;
}

DatasetPtr KeepingDataset(PyObject* object, Session* session) {
  struct Kept {
    DatasetPtr plan;
    ShownRef dataset;
  };
  DatasetPtr plan = DatasetOfPython(object);
  if (!plan) return nullptr;
  auto kept = std::make_shared<Kept>(Kept{plan, ShownRef(session, PyRef::Borrow(object), true)});
  return {std::move(kept), plan.get()};
}

void MadeWhole(PyHeapTypeObject* heap) {
  heap->ht_type.tp_new = NewWhole;
  heap->ht_type.tp_flags &= ~Py_TPFLAGS_BASETYPE;  // an __init__ of a subclass could skip ours
}

Tensor DatasetToPython(DatasetPtr plan) {
  Attachment& gil = EnsureAttached();
  static std::atomic<PyObject*> of_node{nullptr};            // never freed
  PyObject* wrap = of_node.load(std::memory_order_acquire);  // pairs with the release below
  if (!wrap) {
    PyRef module = PyRef::Steal(PyImport_ImportModule("penstock.dataset"));
    wrap = module ? PyObject_GetAttrString(module.get(), "of_node") : nullptr;
    of_node.store(wrap, std::memory_order_release);
  }
  PyRef node = PyRef::Steal(py::cast(Node{std::move(plan), {}}).release().ptr());
  PyRef dataset = PyRef::Steal(
      wrap ? CallPython([&] { return PyObject_CallOneArg(wrap, node.get()); }) : nullptr);
  if (!dataset && gil.TakeInterrupt()) throw Error(ErrorKind::kInterrupted, "");
  if (!dataset) throw CurrentPythonError();
  return AdoptObject(TypeCode::kObject, std::move(dataset));
}

Args ArgsOfDict(const std::string& owner, const py::dict& dict) {
  Args args(owner);
  std::shared_ptr<const ElementSpec> declared;
  if (dict.contains("output_signature") && py::isinstance<Spec>(dict["output_signature"])) {
    declared = dict["output_signature"].cast<const Spec&>().spec;
  }
  for (auto [name, value] : dict) {
    if (IsAside(name)) continue;
    auto listed = [&dict, &name](const char* aside) {
      return dict.contains(aside) && dict[aside].contains(name);
    };
    std::string argument = owner + ": " + std::string(py::str(name));
    CallForm form{listed(kWantsRng), listed(kAwaits)};
    // The run's executor option applies only to user functions.
    if (dict.contains("part_of") || listed(kOwn)) form.executor = Executor::kThread;
    args.Set(py::str(name), ToArg(argument, value, declared, form));
  }
  return args;
}

void BindDataset(py::module_& module) {
  py::class_<Value> value(module, "Value", py::custom_type_setup(MadeWhole));
  DefInit(Noted(value), &MakeValue, py::arg("value"), py::arg("borrow"))
      .def("value", &ValueToPython)
      .def("spec", [](const Value& value) {
        return Spec{std::make_shared<const ElementSpec>(ElementSpec::Of(*value.element))};
      });
  py::class_<NativeFunction> native(module, "NativeFunction", py::custom_type_setup(MadeWhole));
  Noted(native);
  module.def(
      "reader",
      [](const std::string& kind, const py::dict& args) {
        return NativeFunction{{MakeReader(kind, ArgsOfDict(kind, args))}};
      },
      py::arg("kind"), py::arg("args"));
  // Returns (records, the error of the last one, warnings) for the file. Calls `progress` with byte
  // counts.
  module.def(
      "index_file",
      [](const NativeFunction& reader, const std::string& file, const std::string& target,
         const CancelToken& cancel, const py::function& progress) {
        IndexedFile of;
        {
          py::gil_scoped_release released;
          of = WriteRecordIndex(reader.function.usual, file, target, cancel, [&](int64_t bytes) {
            py::gil_scoped_acquire acquired;
            progress(bytes);
          });
        }
        return py::make_tuple(of.records, of.problem, of.warnings);
      },
      py::arg("reader"), py::arg("file"), py::arg("target"), py::arg("cancel"),
      py::arg("progress"));
  // Returns the file that the index describes: (format, records, size in bytes, the error of its
  // last record).
  module.def(
      "check_index",
      [](const std::string& path) {
        IndexedFile of;
        {
          py::gil_scoped_release released;
          const RecordIndex index(path, "index");
          index.Check();
          of = index.of();
        }
        return py::make_tuple(of.format, of.records, of.size, of.problem);
      },
      py::arg("path"));
  module.def("index_path", &IndexPathOf, py::arg("file"), py::arg("folder"));
  module.def(
      "json_fields",
      [](const Spec& signature, const std::vector<std::optional<Value>>& defaults) {
        std::vector<std::optional<Tensor>> values;
        for (auto& each : defaults) {
          values.push_back(each ? std::optional(each->element->leaves.at(0)) : std::nullopt);
        }
        return NativeFunction{{MakeJsonFields(*signature.spec, std::move(values))}};
      },
      py::arg("signature"), py::arg("defaults"));
  py::class_<Spec> spec(module, "Spec", py::custom_type_setup(MadeWhole));
  DefInit(Noted(spec), &Spec::Of, py::arg("nested"));
  py::class_<Elements> elements(module, "Elements", py::custom_type_setup(MadeWhole));
  DefInit(Noted(elements), &ElementsOf);
  py::class_<TableRows> rows(module, "Rows", py::custom_type_setup(MadeWhole));
  DefInit(Noted(rows), &RowsOf, py::arg("table"), py::arg("stage"));
  py::class_<Opaque> opaque(module, "Opaque", py::custom_type_setup(MadeWhole));
  DefInit(Noted(opaque), &OpaqueOf);
  py::class_<Indexable> indexable(module, "Indexable", py::custom_type_setup(MadeWhole));
  DefInit(Noted(indexable), &IndexableOf, py::arg("object"), py::arg("size"));
  py::class_<Node> node(module, "Node", py::custom_type_setup(CollectNodes));
  Noted(node)
      .def_property_readonly("kind", [](const Node& n) { return n.plan->kind(); })
      .def_property_readonly("label",
                             [](const Node& n) {
                               return py::reinterpret_steal<py::str>(StringToPython(
                                   DType::Of(TypeCode::kText), n.plan->label().text()));
                             })
      .def_property_readonly("cardinality", [](const Node& n) { return Readable(n).cardinality(); })
      .def("spec", [](const Node& n,
                      const py::object& leaf) { return SpecToPython(Readable(n).spec(), leaf); })
      // As `spec`, with the shapes of the first element where nothing is known about the others.
      .def("first_spec",
           [](const Node& n, const py::object& leaf) {
             MaybeSpec spec;
             {
               ShapesOfFirst scope;
               spec = Readable(n).spec();
             }
             return SpecToPython(spec, leaf);
           })
      // Whether its spec may use the shapes of one element for all elements.
      .def_property_readonly(
          "guesses_shapes",
          [](const Node& n) { return !Readable(n).spec() || GuessesShapes(*n.plan); })
      .def("first_unknown",
           [](const Node& n) -> std::optional<Node> {
             Readable(n);
             DatasetPtr unknown = FirstUnknown(n.plan);
             if (!unknown) return std::nullopt;
             return Node{unknown, {}};
           })
      .def("is_of", [](const Node& n, const Node& other) { return n.plan == other.plan; })
      .def("set_spec",
           [](const Node& n, const Spec& spec) { n.plan->SetProbedSpec(*spec.spec, *spec.spec); })
      // Copies the spec of another node whose elements are of the same kind.
      .def("take_spec",
           [](const Node& n, const Node& other) {
             if (MaybeSpec spec = other.plan->spec()) n.plan->SetProbedSpec(*spec, *spec);
           })
      // Sets the first element, and the sizes that all other elements are known to have.
      .def(
          "set_first",
          [](const Node& n, const Value& first, const KnownShapes& shapes) {
            const ElementSpec spec = ElementSpec::Of(*first.element);
            n.plan->SetProbedSpec(KnownOfAll(spec, shapes), spec);
          },
          py::arg("first"), py::arg("shapes"));
  module.def(
      "make",
      [](const std::string& kind, const std::vector<Node>& inputs, const py::dict& args,
         const Node* like) {
        std::vector<DatasetPtr> plans;
        for (auto& input : inputs) plans.push_back(input.plan);
        const Args made = ArgsOfDict(kind, args);
        // A source may open files here, and the call may come from a user function in the engine.
        // The thread must keep the GIL, which pybind11 relies on.
        ScopedBlockingHook keep_gil(nullptr);
        // A copy gets the seed of the original, so it must not draw one from the global sequence.
        std::optional<ScopedRandom> unused;
        if (like) unused.emplace(StageRandom{});
        DatasetPtr plan = MakeDataset(kind, std::move(plans), made);
        auto* const seed = plan->own_seed();
        auto* const original = like ? like->plan->own_seed() : nullptr;
        if (seed && original) {
          // relaxed: a single number; a state restored meanwhile may or may not take effect
          seed->store(original->load(std::memory_order_relaxed), std::memory_order_relaxed);
        }
        return Node{std::move(plan), RootsOf(args)};
      },
      py::arg("kind"), py::arg("inputs"), py::arg("args"), py::arg("like") = nullptr);
  module.def(
      "element_text",
      [](const py::object& object) { return ElementText(*MakeValue(object, true).element); },
      py::arg("element"));
  module.def("stage_traits", [] {
    py::dict traits;
    for (auto& [kind, of] : TraitsOfStages()) {
      py::dict arguments;
      for (auto& [name, form] : of.arguments) arguments[py::str(name)] = NameOf(form);
      traits[py::str(kind)] = py::dict(
          "name"_a = of.name, "form_of"_a = of.form_of, "timing"_a = of.timing,
          "keeps_sizes"_a = of.keeps_sizes, "of_positions"_a = of.of_positions,
          "fetches"_a = of.fetches, "folds"_a = of.folds, "reads"_a = of.reads,
          "format"_a = of.format, "keeping"_a = py::frozenset(py::cast(of.keeping)),
          "replays"_a = of.replays,
          "timing_arguments"_a = py::frozenset(py::cast(of.timing_arguments)),
          "share_states"_a = py::frozenset(py::cast(of.share_states)), "arguments"_a = arguments);
    }
    return traits;
  });
}

}  // namespace penstock
