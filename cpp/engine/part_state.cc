// The parts of a run's state that belong to one part of its pipeline.
#include "engine/part_state.h"

#include "engine/cache_fills.h"
#include "engine/session.h"
#include "engine/state_frame.h"

namespace penstock {

std::string PartState(const Dataset& part, const RunContext& context,
                      const SavedPosition& position) {
  SharedPosition shared;  // only records whether this is the beginning
  shared.delivered = position.state || position.steps > 0;
  StateFrame frame{ElasticPlan(part).text(), "", shared.Text(), "", ""};
  StateVisitor visitor(&frame.body);
  RunIdentity identity = *context.identity;
  identity.VisitState(visitor, part);
  std::shared_ptr<const CacheFills> fills = context.fills;
  context.session->fills().VisitState(visitor, part, fills);
  SavedPosition at = position;
  visitor.Int(at.steps);
  visitor.Blob(at.state);
  return frame.Sealed();
}

}  // namespace penstock
