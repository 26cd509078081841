// Implements ForeignRuntime for Python objects.
#pragma once

namespace penstock {

// Called once at import.
void InitForeignRuntime();

}  // namespace penstock
