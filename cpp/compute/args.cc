// Checked access to named arguments.
#include "compute/args.h"

namespace penstock {

bool Args::Has(const std::string& name) const {
  auto found = values_.find(name);
  return found != values_.end() && !std::holds_alternative<std::monostate>(found->second);
}

double Args::Float(const std::string& name) const {
  auto found = values_.find(name);
  if (found != values_.end()) {
    if (auto* whole = std::get_if<int64_t>(&found->second)) return static_cast<double>(*whole);
  }
  return Get<double>(name, "a float");
}

int64_t Args::IntAtLeast(const std::string& name, int64_t low) const {
  int64_t value = Int(name);
  if (value < low) {
    throw Error(ErrorKind::kInvalidArgument, "{}: {} must be >= {}, got {}", owner_, name, low,
                value);
  }
  return value;
}

void Args::ThrowWrongType(const std::string& name, const char* expected) const {
  auto found = values_.find(name);
  std::string_view came = "nothing";
  if (found != values_.end()) {
    constexpr std::string_view kNames[] = {
        "None",       "a bool",  "an int",          "a float",  "a str", "a sequence of ints",
        "a function", "a value", "a specification", "an object"};
    came = kNames[found->second.index()];
  }
  throw Error(ErrorKind::kType, "{}: {} must be {}, got {}", owner_, name,
              std::string_view(expected), came);
}

}  // namespace penstock
