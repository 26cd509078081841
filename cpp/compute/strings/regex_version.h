// The linked regular expression library.
#pragma once

namespace penstock {

// "RE2", whose headers have no version; "" if penstock was built without it.
const char* RegexVersion();

}  // namespace penstock
