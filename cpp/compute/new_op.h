// The maker of an operation from its class: `const RegisterOp cast_op("cast", NewOp<Cast>);`.
#pragma once

#include <memory>
#include <type_traits>

#include "compute/op.h"
#include "compute/op_registry.h"

namespace penstock {

// Passes the arguments if the class takes any.
template <typename T>
std::unique_ptr<const Op> NewOp(const Args& args) {
  if constexpr (std::is_constructible_v<T, const Args&>) {
    return std::make_unique<T>(args);
  } else {
    return std::make_unique<T>();
  }
}

}  // namespace penstock
