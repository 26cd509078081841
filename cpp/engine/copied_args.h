// Copying arguments, safely even if memory runs out.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "compute/args.h"

namespace penstock {

// Returns the same arguments for another owner. If copying a string or vector inside a variant
// throws, libstdc++ 12 destroys a variant that was never constructed. So each value is copied
// outside the variant, then moved into it.
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
