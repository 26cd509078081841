// NumPy draws through a table of four functions, held by a capsule named "BitGenerator"
// (numpy/random/bitgen.h). Ours count through the numbers of a key.
#include "python/element_rng.h"

#include <numpy/random/bitgen.h>

#include <memory>

#include "python/errors.h"

namespace penstock {

struct ElementRngs::Rng {
  bitgen_t functions;
  RandomKey key;
  uint64_t drawn = 0;
  uint32_t half = 0;  // the unused half of the last number
  bool has_half = false;

  uint64_t Next() { return key.Draw(drawn++); }

  static uint64_t Next64(void* self) { return static_cast<Rng*>(self)->Next(); }
  static uint32_t Next32(void* self) {
    auto* rng = static_cast<Rng*>(self);
    rng->has_half = !rng->has_half;
    if (!rng->has_half) return rng->half;
    uint64_t both = rng->Next();
    rng->half = static_cast<uint32_t>(both >> 32);
    return static_cast<uint32_t>(both);
  }
  static double NextDouble(void* self) {
    return static_cast<double>(static_cast<Rng*>(self)->Next() >> 11) * 0x1.0p-53;
  }
};

namespace {

void FreeRng(PyObject* capsule) {
  auto* functions = static_cast<bitgen_t*>(PyCapsule_GetPointer(capsule, "BitGenerator"));
  delete static_cast<ElementRngs::Rng*>(functions->state);
}

// The object that numpy.random.Generator accepts: one with a capsule and a lock.
PyRef MakeGenerator(PyRef capsule) {
  PyRef threading = PyRef::Steal(PyImport_ImportModule("threading"));
  PyRef types = PyRef::Steal(PyImport_ImportModule("types"));
  PyRef random = PyRef::Steal(PyImport_ImportModule("numpy.random"));
  if (!capsule || !threading || !types || !random) return {};
  PyRef lock = PyRef::Steal(PyObject_CallMethod(threading.get(), "Lock", nullptr));
  PyRef bits = PyRef::Steal(PyObject_CallMethod(types.get(), "SimpleNamespace", nullptr));
  if (!lock || !bits || PyObject_SetAttrString(bits.get(), "capsule", capsule.get()) < 0 ||
      PyObject_SetAttrString(bits.get(), "lock", lock.get()) < 0) {
    return {};
  }
  return PyRef::Steal(PyObject_CallMethod(random.get(), "Generator", "O", bits.get()));
}

}  // namespace

ElementRngs::Entry ElementRngs::Take() {
  {
    std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      Entry entry = std::move(free_.back());
      free_.pop_back();
      return entry;
    }
  }
  auto rng = std::make_unique<Rng>();
  rng->functions = {rng.get(), &Rng::Next64, &Rng::Next32, &Rng::NextDouble, &Rng::Next64};
  PyRef capsule = PyRef::Steal(PyCapsule_New(&rng->functions, "BitGenerator", &FreeRng));
  Entry entry{rng.get(), {}};
  if (capsule) rng.release();  // owned by the capsule now
  entry.generator = MakeGenerator(std::move(capsule));
  if (!entry.generator) throw CurrentUserError();
  return entry;
}

void ElementRngs::Lease::Key(RandomKey key) {
  entry_.rng->key = key;
  entry_.rng->drawn = 0;
  entry_.rng->has_half = false;
}

}  // namespace penstock
