// Errors as exceptions for functions of the user that are given errors.
#pragma once

namespace penstock {

// Called once at import: sets the hooks of data/error_object.h.
void InitErrorObject();

}  // namespace penstock
