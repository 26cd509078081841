// Reads states without the pipeline they belong to.
#include <string_view>

#include "data/random.h"
#include "data/state_visitor.h"
#include "engine/elastic.h"
#include "engine/state_frame.h"
#include "python/bind.h"

namespace py = pybind11;
using namespace py::literals;

namespace penstock {
namespace {

py::dict OpenState(std::string_view state) {
  const StateFrame frame = StateFrame::Open(state);
  const SharedPosition shared = SharedPosition::Of(frame.shared);
  uint64_t seed;
  int64_t run;
  StateVisitor body{std::string_view(frame.body)};  // the body begins with RunIdentity
  body.UInt(seed);
  body.Int(run);
  return py::dict("plan"_a = frame.plan, "account"_a = py::bytes(frame.account), "seed"_a = seed,
                  "run"_a = run, "delivered"_a = shared.delivered, "shards"_a = shared.shards,
                  "index"_a = shared.index, "position"_a = shared.position,
                  "epoch"_a = shared.epoch, "more"_a = shared.more,
                  "seeds"_a = py::bytes(frame.seeds));
}

// The process's position in its sequence of seeds, for a state.
py::bytes SeedsNow() {
  SeedSequence seeds = CurrentSeeds();
  std::string text;
  StateVisitor visitor(&text);
  seeds.Visit(visitor);
  return text;
}

// Continues from a result of SeedsNow; does nothing if it is empty.
void ContinueSeedsFrom(std::string_view text) {
  if (text.empty()) return;
  SeedSequence seeds;
  StateVisitor visitor(text);
  seeds.Visit(visitor);
  visitor.ExpectEnd();
  ContinueSeeds(seeds);
}

// The state of all shards, of which the first `more` delivered one element more than the others.
py::bytes WithMore(std::string_view state, int64_t more) {
  StateFrame frame = StateFrame::Open(state);
  SharedPosition shared = SharedPosition::Of(frame.shared);
  shared.more = more;
  frame.shared = shared.Text();
  return frame.Sealed();
}

}  // namespace

void BindState(py::module_& module) {
  module.def("open_state", &OpenState, "state"_a);
  module.def("seeds_now", &SeedsNow);
  module.def("continue_seeds", &ContinueSeedsFrom, "seeds"_a);
  module.def("state_with_more", &WithMore, "state"_a, "more"_a);
}

}  // namespace penstock
