// Copies of arguments, also when memory runs out.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "compute/args.h"

namespace penstock {

// The same arguments for another owner. When copying a string or vector in a variant throws, GCC
// 12's library destroys a variant that was never made. So each value is copied by itself, and then
// moved.
inline Args CopiedArgs(const Args& args, const std::string& owner) {
  Args copied(owner);
  for (const auto& [name, value] : args.values()) {
    copied.Set(name, std::visit(
                         [](const auto& held) {
                           auto copy = held;
                           return Args::Value(std::move(copy));
                         },
                         value));
  }
  return copied;
}

}  // namespace penstock
