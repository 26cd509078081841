// Defaults of functions.
#include "compute/function.h"

#include "data/element_text.h"

namespace penstock {

bool Function::Test(const Element&, const CallInfo& info) {
  throw Error(ErrorKind::kType, "{}: this function cannot be used as a predicate",
              info.stage->kind);
}

DatasetPtr Function::Open(const Element&, const CallInfo& info) {
  throw Error(ErrorKind::kType, "{}: this function cannot return a dataset", info.stage->kind);
}

std::unique_ptr<OngoingCalls> Function::Ongoing(OngoingCalls::Take, int64_t) {
  throw Error(ErrorKind::kRuntime, "the calls of this function need a thread each");
}

FailedStep FailedStepOf(const CallInfo& info, int64_t row, const Element& element) {
  return {*info.stage, info.index + row, ElementText(element)};
}

}  // namespace penstock
