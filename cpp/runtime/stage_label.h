// How users know a stage: by its kind, by the name that they gave it, by its functions.
#pragma once

#include <string>

namespace penstock {

struct StageLabel {
  std::string kind;      // "map"
  std::string name;      // as given by the user; "": none
  std::string function;  // the names of its functions; "": none

  // Whether there is nothing but the kind.
  bool plain() const { return name.empty() && function.empty(); }
  // As a user would write it: "map", "map(load)", "map(load, name='decode')".
  std::string text() const;
};

}  // namespace penstock
