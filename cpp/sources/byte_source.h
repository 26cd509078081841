// Opening files as windows of bytes.
#pragma once

#include <memory>
#include <string>

#include "pipeline/file.h"
#include "pipeline/record_reader.h"

namespace penstock {

// `chunk`: bytes of one read.
std::unique_ptr<ByteSource> OpenBytes(const std::string& path, const Opener& opener, size_t chunk);

}  // namespace penstock
