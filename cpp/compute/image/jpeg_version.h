// The linked JPEG library.
#pragma once

namespace penstock {

// "libjpeg-turbo 2.1.5"; "" if penstock was built without one.
const char* JpegVersion();

}  // namespace penstock
