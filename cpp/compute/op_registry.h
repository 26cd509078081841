// Makers of operations by name. An operation registers itself with one line in its file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compute/op.h"

namespace penstock {

// Throws for an unknown name or wrong arguments.
std::unique_ptr<const Op> MakeOp(const std::string& name, const Args& args);
std::vector<std::string> OpNames();

struct RegisterOp {
  RegisterOp(const char* name, OpMaker maker);
};

}  // namespace penstock
