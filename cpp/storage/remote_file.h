// A file in an object store or on a web server, with readahead.
#pragma once

#include <memory>
#include <string>

#include "storage/file.h"

namespace penstock {

std::unique_ptr<InputFile> OpenRemote(const std::string& url, const Reading& reading);

}  // namespace penstock
