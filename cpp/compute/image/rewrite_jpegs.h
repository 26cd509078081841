// Rewrites those byte strings that are JPEGs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compute/op.h"

namespace penstock {

// `rewrite` returns the new form of a JPEG, or an empty string to keep it. Other contents are kept.
// Throws a TypeError of `op` for inputs that are not bytes.
std::vector<Tensor> RewriteJpegs(const char* op, const std::vector<Tensor>& inputs,
                                 std::string (*rewrite)(std::string_view jpeg));

}  // namespace penstock
