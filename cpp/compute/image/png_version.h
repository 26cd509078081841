// The linked PNG library.
#pragma once

namespace penstock {

// "libpng 1.6.39"; "" if penstock was built without one.
const char* PngVersion();

}  // namespace penstock
