// Python as the runtime whose objects the engine carries.
#pragma once

namespace penstock {

// Called once at import.
void InitForeignRuntime();

}  // namespace penstock
