// Constructors of bound classes that survive running out of memory.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <utility>

namespace penstock {

// pybind11 registers each new object in a table. If the entry cannot be allocated, it throws after
// __init__, outside its own exception handler, which terminates the process; it would also free a
// value that has another owner. The code below avoids both.

namespace internal {

template <class T>
std::unique_ptr<T> Owned(std::unique_ptr<T> value) {
  return value;
}
template <class T>
std::unique_ptr<T> Owned(T value) {
  return std::make_unique<T>(std::move(value));
}

template <class T>
struct NotedObject {
  using Note = void (*)(pybind11::detail::instance*, const void*);
  static inline Note note = nullptr;  // pybind11's own; set at import

  static void Make(pybind11::detail::instance* object, const void* holder) {
    try {
      note(object, holder);
    } catch (...) {
      auto place = object->get_value_and_holder();
      auto* value = static_cast<T*>(std::exchange(place.value_ptr(), nullptr));
      if (!holder && object->owned) delete value;
      throw;
    }
  }
};

}  // namespace internal

// A class whose objects are never left half-constructed.
template <class T, class... Options>
pybind11::class_<T, Options...>& Noted(pybind11::class_<T, Options...>& bound) {
  auto* info = pybind11::detail::get_type_info(typeid(T));
  internal::NotedObject<T>::note =
      std::exchange(info->init_instance, &internal::NotedObject<T>::Make);
  return bound;
}

// As def(py::init(make), ...) for a class that is `Noted` and uses pybind11's default holder.
template <class T, class Made, class... Args, class... Extra>
pybind11::class_<T>& DefInit(pybind11::class_<T>& bound, Made (*make)(Args...),
                             const Extra&... extra) {
  namespace detail = pybind11::detail;
  return bound.def(
      "__init__",
      [make](detail::value_and_holder& place, Args... args) {
        std::unique_ptr<T> made = internal::Owned(make(std::forward<Args>(args)...));
        place.value_ptr() = made.get();
        place.type->init_instance(place.inst, &made);
      },
      detail::is_new_style_constructor(), extra...);
}

}  // namespace penstock
