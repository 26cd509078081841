// The text of a label.
#include "runtime/stage_label.h"

namespace penstock {

std::string StageLabel::text() const {
  // A function without a name of its own says nothing.
  std::string inside = function.starts_with('<') ? "" : function;
  if (!name.empty()) inside += (inside.empty() ? "name='" : ", name='") + name + "'";
  return inside.empty() ? kind : kind + "(" + inside + ")";
}

}  // namespace penstock
