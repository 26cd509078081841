// What the engine asks of the runtime whose objects it carries (Python's), without seeing it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/structure.h"

namespace penstock {

class Dataset;
class Error;
class Shape;
class Tensor;

// The content of an image file in a format that the core does not decode, and the image wanted.
struct ImageFile {
  const char* op;  // named in errors
  std::string_view contents;
  int64_t channels;  // 0: those of the file
  bool wide;         // uint16 instead of uint8
  int64_t max_pixels;
  bool frames;  // all of an animation, along one more axis in front
};

// The base class serves a process without such objects. It has no destructor, because threads that
// outlive the statics of the process still call it.
class ForeignRuntime {
 public:
  // The bytes (UTF-8 for text) of a string object that a kObjects tensor holds. On any thread.
  virtual std::string_view String(const void* object);
  // Lets go of the object of a ForeignForm. On any thread.
  virtual void Release(const void* object);
  // The form of this name that no structure of the process has yet; null where there is none, or on
  // a thread that may not ask. `fields` are Structure::names(); both may come from a file that
  // nothing has checked.
  virtual ForeignRef FindForm(Structure::Kind kind, const std::string& name,
                              const std::vector<std::string>& fields);
  // A scalar leaf: the exception that the user would see, with its notes. Only on a thread that may
  // call the runtime.
  virtual Tensor ErrorObject(const Error& error);
  // Whether no stage may leave this error out: a KeyboardInterrupt, a SystemExit, what a worker
  // process has raised when it loaded a function (kWorker, with an exception). On any thread.
  virtual bool EndsProgram(const Error& error);
  // A leaf that holds the dataset as an object which users go through like any other dataset. It
  // calls the runtime, so a stage that uses it is registered as foreign. May throw a transient
  // error: call it again.
  virtual Tensor WrapDataset(std::shared_ptr<const Dataset> dataset);
  // Waits for the lock that calls of the runtime need, on a thread that may call it. Whether it was
  // held, or wanted by other threads of the engine, which may be about to have it.
  virtual bool TakeLock();
  // Objects and exceptions on their way to another process. Each calls the runtime, and throws an
  // Error for what has no such form.
  virtual std::string Pickle(const Tensor& objects);
  virtual Tensor Unpickle(std::string_view bytes, const Shape& shape);
  // The classes of a structure, which another process is to know before it reads the structure;
  // "" for none.
  virtual std::string PickleForms(const Structure& structure);
  virtual void UnpickleForms(std::string_view bytes);
  virtual std::string PickleError(const Error& error);
  virtual std::shared_ptr<void> UnpickleError(std::string_view bytes);
  // Decodes an image, or only reads its shape from the headers. Both may be called on any thread,
  // and wait for the runtime's lock.
  virtual Tensor DecodeImage(const ImageFile& file);
  virtual Shape ImageShape(const ImageFile& file);
};

// The runtime of this process.
ForeignRuntime& TheForeignRuntime();
// Called once, before the first dataset is made, because the runtime is read without
// synchronisation.
void SetForeignRuntime(ForeignRuntime& runtime);

}  // namespace penstock
