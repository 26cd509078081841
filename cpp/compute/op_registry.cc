// The table of makers.
#include "compute/op_registry.h"

#include <map>

namespace penstock {
namespace {

std::map<std::string, OpMaker>& Ops() {
  static auto& table = *new std::map<std::string, OpMaker>;
  return table;
}

}  // namespace

std::unique_ptr<const Op> MakeOp(const std::string& name, const Args& args) {
  auto found = Ops().find(name);
  if (found == Ops().end()) {
    throw Error(ErrorKind::kInvalidArgument, "{}: there is no such operation", name);
  }
  return found->second(args);
}

std::vector<std::string> OpNames() {
  std::vector<std::string> names;
  for (auto& [name, maker] : Ops()) names.push_back(name);
  return names;
}

RegisterOp::RegisterOp(const char* name, OpMaker maker) { Ops()[name] = maker; }

}  // namespace penstock
