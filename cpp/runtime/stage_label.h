// The label of a stage for users: its kind, the name they gave it, and its functions.
#pragma once

#include <string>

namespace penstock {

struct StageLabel {
  std::string kind;      // "map"
  std::string name;      // given by the user; "": none
  std::string function;  // the names of its functions; "": none

  // Whether there is only the kind.
  bool plain() const { return name.empty() && function.empty(); }
  // As a user would write it: "map", "map(load)", "map(load, name='decode')".
  std::string text() const;
};

}  // namespace penstock
