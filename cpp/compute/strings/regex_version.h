// Which library of regular expressions is linked.
#pragma once

namespace penstock {

// "RE2", whose headers have no version; "" when penstock was built without it.
const char* RegexVersion();

}  // namespace penstock
