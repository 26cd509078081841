// Bytes of which those that are JPEGs are written in another form.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compute/op.h"

namespace penstock {

// `rewrite` returns what it makes of a JPEG, or nothing: then it stays, as all else does. Throws a
// TypeError of `op` for what is no bytes.
std::vector<Tensor> RewriteJpegs(const char* op, const std::vector<Tensor>& inputs,
                                 std::string (*rewrite)(std::string_view jpeg));

}  // namespace penstock
