// The runtime of a process without foreign objects, and the pointer to the current one.
#include "data/foreign.h"

#include "data/error.h"
#include "data/tensor.h"

namespace penstock {
namespace {

// Initialised before any static in any file that needs them.
constinit ForeignRuntime none;
constinit ForeignRuntime* the_runtime = &none;

}  // namespace

std::string_view ForeignRuntime::String(const void*) { return {}; }
void ForeignRuntime::Release(const void*) {}
ForeignRef ForeignRuntime::FindForm(Structure::Kind, const std::string&,
                                    const std::vector<std::string>&) {
  return nullptr;
}
Tensor ForeignRuntime::ErrorObject(const Error&) { return {}; }
bool ForeignRuntime::EndsProgram(const Error&) { return false; }
bool ForeignRuntime::TakeLock() { return false; }
Tensor ForeignRuntime::WrapDataset(std::shared_ptr<const Dataset>) { return {}; }
std::string ForeignRuntime::Pickle(const Tensor&) { return {}; }
Tensor ForeignRuntime::Unpickle(std::string_view, const Shape&) { return {}; }
std::string ForeignRuntime::PickleForms(const Structure&) { return {}; }
void ForeignRuntime::UnpickleForms(std::string_view) {}
std::string ForeignRuntime::PickleError(const Error&) { return {}; }
std::shared_ptr<void> ForeignRuntime::UnpickleError(std::string_view) { return nullptr; }
Tensor ForeignRuntime::DecodeImage(const ImageFile& file) {
  throw Error(ErrorKind::kRuntime, "{}: only JPEG and PNG are decoded without Python",
              std::string_view(file.op));
}
Shape ForeignRuntime::ImageShape(const ImageFile& file) {
  DecodeImage(file);
  return {};
}

ForeignRuntime& TheForeignRuntime() { return *the_runtime; }
void SetForeignRuntime(ForeignRuntime& runtime) { the_runtime = &runtime; }

}  // namespace penstock
