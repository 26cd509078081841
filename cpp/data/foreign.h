// The interface to the runtime whose objects the engine carries (Python's).
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

// The contents of an image file in a format that the core does not decode, and decoding options.
struct ImageFile {
  const char* op;  // named in errors
  std::string_view contents;
  int64_t channels;  // 0: as in the file
  bool wide;         // uint16 instead of uint8
  int64_t max_pixels;
  bool frames;  // all frames of an animation, along an additional first axis
};

// The base class is for processes without foreign objects. It has no destructor, because threads
// that outlive the process's statics still call it.
class ForeignRuntime {
 public:
  // The bytes (UTF-8 for text) of a string object in a kObjects tensor. Thread-safe.
  virtual std::string_view String(const void* object);
  // Releases the object of a ForeignForm. Thread-safe.
  virtual void Release(const void* object);
  // Finds a form by its name that no structure of the process has yet. Returns null if there is
  // none, or on a thread that must not call the runtime. `fields` are Structure::names(). Both may
  // come from an unchecked file.
  virtual ForeignRef FindForm(Structure::Kind kind, const std::string& name,
                              const std::vector<std::string>& fields);
  // Returns a scalar leaf with the exception that the user would see, including notes. Only on a
  // thread that may call the runtime.
  virtual Tensor ErrorObject(const Error& error);
  // Whether no stage may skip this error: KeyboardInterrupt, SystemExit, or an exception raised
  // while a worker process loaded a function (kWorker, with an exception). Thread-safe.
  virtual bool EndsProgram(const Error& error);
  // Returns a leaf that holds the dataset as an object, which users can iterate over like any other
  // dataset. It calls the runtime, so a stage that uses it must be registered as foreign. May throw
  // a transient error: then call it again.
  virtual Tensor WrapDataset(std::shared_ptr<const Dataset> dataset);
  // Acquires the foreign lock, on a thread that may call the runtime. Returns whether it was held,
  // or other threads of the engine were waiting for it and may be about to acquire it.
  virtual bool TakeLock();
  // Serialise objects and exceptions for another process. They call the runtime, and throw an Error
  // if an object cannot be serialised.
  virtual std::string Pickle(const Tensor& objects);
  virtual Tensor Unpickle(std::string_view bytes, const Shape& shape);
  // The classes of a structure, which another process needs before it reads the structure; "" if
  // none.
  virtual std::string PickleForms(const Structure& structure);
  virtual void UnpickleForms(std::string_view bytes);
  virtual std::string PickleError(const Error& error);
  virtual std::shared_ptr<void> UnpickleError(std::string_view bytes);
  // Decodes an image, or only reads its shape from the headers. Both can be called on any thread,
  // and wait for the foreign lock.
  virtual Tensor DecodeImage(const ImageFile& file);
  virtual Shape ImageShape(const ImageFile& file);
};

// The runtime of this process.
ForeignRuntime& TheForeignRuntime();
// Call once, before the first dataset is created: the runtime is read without synchronisation.
void SetForeignRuntime(ForeignRuntime& runtime);

}  // namespace penstock
