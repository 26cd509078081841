// Which JPEG library is linked.
#pragma once

namespace penstock {

// "libjpeg-turbo 2.1.5"; "" when penstock was built without one.
const char* JpegVersion();

}  // namespace penstock
