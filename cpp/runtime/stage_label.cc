// The text of a label.
#include "runtime/stage_label.h"

namespace penstock {

std::string StageLabel::text() const {
  // An anonymous function adds no information.
  std::string inside = function.starts_with('<') ? "" : function;
  if (!name.empty()) inside += (inside.empty() ? "name='" : ", name='") + name + "'";
  return inside.empty() ? kind : kind + "(" + inside + ")";
}

}  // namespace penstock
