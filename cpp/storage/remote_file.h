// A file of an object store or a web server, read ahead of the reader.
#pragma once

#include <memory>
#include <string>

#include "storage/file.h"

namespace penstock {

std::unique_ptr<InputFile> OpenRemote(const std::string& url, const Reading& reading);

}  // namespace penstock
