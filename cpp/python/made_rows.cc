// Makes rows in a worker, and serialises them: pickle takes large arrays without a copy.
#include "python/made_rows.h"

#include <utility>

#include "engine/session.h"
#include "python/gil.h"
#include "python/whole.h"
#include "runtime/clock.h"
#include "workers/wire.h"

namespace py = pybind11;

namespace penstock {
namespace {

constexpr int64_t kMarkShare = 100;  // marks take at most one percent of the time

// The bytes of rows, for as long as a buffer refers to them.
struct BytesOfRows {
  std::shared_ptr<const MadeRows> rows;
  std::string_view bytes;

  py::buffer_info Info() const {
    auto* data = const_cast<char*>(bytes.data());  // read-only
    return {reinterpret_cast<uint8_t*>(data), static_cast<py::ssize_t>(bytes.size()), true};
  }
};

void VisitMarks(StateVisitor& visitor, MadeRows& made) {
  uint64_t count = made.marks.size();
  visitor.UInt(count);
  if (!visitor.saving()) made.marks.resize(count);
  for (auto& [steps, position] : made.marks) {
    visitor.Int(steps);
    visitor.Int(position.steps);
    visitor.Blob(position.state);
  }
}

// For pickle: the function that recreates the rows, and its arguments.
py::tuple ReducedRows(const std::shared_ptr<MadeRows>& made, int protocol) {
  const Attachment attachment(Attachment::Role::kConsumer);  // pickles objects and errors
  MessageWriter writer(MessageKind::kAnswer);
  uint64_t count = made->blocks.size();
  writer.head().UInt(count);
  for (const Block& block : made->blocks) writer.Put(block);
  VisitMarks(writer.head(), *made);
  writer.head().Bool(made->astray);
  const MessageWriter::Parts parts = writer.FinishApart();
  py::list bulk;
  auto small = parts.small.begin();
  for (const std::string_view bytes : parts.bulk) {
    if (small != parts.small.end() && bytes.data() == small->data()) {
      bulk.append(py::bytes(*small++));
    } else if (protocol < 5) {
      bulk.append(py::bytes(bytes.data(), bytes.size()));
    } else {
      const py::object exporter = py::cast(BytesOfRows{made, bytes});
      PyObject* buffer = PyPickleBuffer_FromObject(exporter.ptr());
      if (!buffer) throw py::error_already_set();
      bulk.append(py::reinterpret_steal<py::object>(buffer));
    }
  }
  const py::object made_again = py::module_::import("penstock._core").attr("made_rows");
  return py::make_tuple(made_again, py::make_tuple(py::bytes(parts.head), bulk));
}

// The memory of a buffer object, without a copy; small buffers are copied for alignment.
BufferRef BufferOf(const py::handle& object) {
  constexpr Py_ssize_t kFew = 4096;
  py::object view = py::reinterpret_steal<py::object>(PyMemoryView_FromObject(object.ptr()));
  if (!view) throw py::error_already_set();
  const Py_buffer* memory = PyMemoryView_GET_BUFFER(view.ptr());
  if (memory->len <= kFew) {
    BufferRef copy = Buffer::Allocate(static_cast<size_t>(memory->len));
    if (memory->len > 0) std::memcpy(copy->data(), memory->buf, static_cast<size_t>(memory->len));
    return copy;
  }
  auto release = [](void* context, void*, size_t) {
    DeferredDecref(static_cast<PyObject*>(context));
  };
  const auto size = static_cast<size_t>(memory->len);
  return Buffer::BorrowConstant(memory->buf, size, release, view.release().ptr());
}

std::shared_ptr<MadeRows> Again(const py::bytes& head, const py::list& bulk) {
  const Attachment attachment(Attachment::Role::kConsumer);
  std::vector<BufferRef> parts;
  for (const py::handle& part : bulk) parts.push_back(BufferOf(part));
  MessageReader reader(static_cast<std::string_view>(head), std::move(parts));
  auto made = std::make_shared<MadeRows>();
  uint64_t count = 0;
  reader.head().UInt(count);
  for (uint64_t i = 0; i < count; ++i) made->blocks.push_back(reader.TakeBlock());
  VisitMarks(reader.head(), *made);
  reader.head().Bool(made->astray);
  return made;
}

}  // namespace

int64_t MadeRows::steps() const {
  int64_t steps = 0;
  for (const Block& block : blocks) steps += block.steps();
  return steps;
}

size_t MadeRows::footprint() const {
  size_t bytes = 0;
  for (const Block& block : blocks) bytes += block.footprint();
  return bytes;
}

MadeRows MakeRows(Session& session, int64_t pass, bool sound, int64_t count) {
  MadeRows made;
  auto error = session.PassOver(pass, sound);
  if (error) {
    made.astray = !error->transient();
    made.blocks.push_back(Block::Of(*std::move(error)));
    return made;
  }
  if (pass > 0) {  // the input ended before them
    made.blocks.push_back(Block::AtEnd());
    return made;
  }
  MonoTime due = 0;
  for (int64_t steps = 0; steps < count;) {
    if (const MonoTime now = NowNs(); now >= due) {
      made.marks.emplace_back(steps, session.Position());
      due = now + kMarkShare * (NowNs() - now);
    }
    Block block = session.NextBlock(count - steps);
    steps += block.steps();
    const bool last = block.last();
    if (block.rows > 0 || last) made.blocks.push_back(std::move(block));
    if (last) break;
  }
  return made;
}

std::shared_ptr<MadeRows> MadeRowsOfPython(PyObject* object) {
  const py::handle handle(object);
  if (!py::isinstance<MadeRows>(handle)) return nullptr;
  return handle.cast<std::shared_ptr<MadeRows>>();
}

void BindMadeRows(py::module_& module) {
  py::class_<BytesOfRows> bytes(module, "BytesOfRows", py::buffer_protocol(),
                                py::custom_type_setup(MadeWhole));
  Noted(bytes).def_buffer(&BytesOfRows::Info);
  py::class_<MadeRows, std::shared_ptr<MadeRows>> made(module, "MadeRows",
                                                       py::custom_type_setup(MadeWhole));
  Noted(made)
      .def_property_readonly("steps", &MadeRows::steps)
      .def_property_readonly("failed", &MadeRows::failed)
      .def_property_readonly("ended", &MadeRows::ended)
      .def_property_readonly("nbytes", &MadeRows::footprint)
      .def_readonly("astray", &MadeRows::astray)
      .def("__reduce_ex__", &ReducedRows, py::arg("protocol"));
  module.def("made_rows", &Again, py::arg("head"), py::arg("bulk"));
}

}  // namespace penstock
