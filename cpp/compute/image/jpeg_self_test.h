// Whether our parts of the JPEG decoder work with the libjpeg in use.
#pragma once

namespace penstock {

// Our entropy decoder and colour conversion replace functions in internal structs of libjpeg-turbo.
// They run only with the versions that were tested, and only after a self-test, once per process:
// they must decode a small image to the same pixels as libjpeg, because the loaded library may be
// another version than the headers. False also without libjpeg.
bool OwnJpegPartsWork();

}  // namespace penstock
