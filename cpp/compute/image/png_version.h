// Which PNG library is linked.
#pragma once

namespace penstock {

// "libpng 1.6.39"; "" when penstock was built without one.
const char* PngVersion();

}  // namespace penstock
