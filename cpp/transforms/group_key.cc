// Calling a function for one element.
#include "transforms/group_key.h"

#include "pipeline/whole_number.h"

namespace penstock {
namespace {

std::optional<int64_t> IntIn(const Tensor& value) {
  bool one_bool = value.dtype().code == TypeCode::kBool && value.elements() == 1;
  return one_bool ? std::optional<int64_t>(value.value<bool>()) : WholeNumber(value);
}

}  // namespace

Element CallForOne(Function& function, Element element, const CallInfo& info) {
  std::vector<Block> made;
  function.Map(Block::Of(std::move(element)), info, made);
  Step step = made.empty() ? Step(End{}) : std::move(made.front()).ToStep();
  if (auto* error = std::get_if<Error>(&step)) throw *std::move(error);
  if (auto* result = std::get_if<Element>(&step)) return std::move(*result);
  throw Error(ErrorKind::kRuntime, "{}: a function gave no result", std::string_view(info.stage));
}

int64_t CallForInt(Function& function, const char* what, const Element& element,
                   const CallInfo& info) {
  Element result = CallForOne(function, element, info);
  std::optional<int64_t> number;
  if (result.structure == Structure::Leaf()) number = IntIn(result.leaves[0]);
  if (number) return *number;
  Error error(ErrorKind::kType, "{}: {} must return one int, got {}", std::string_view(info.stage),
              std::string_view(what), ElementSpec::Of(result).ToString());
  error.Note(PlaceNote(info, info.index, element.origin, nullptr));
  throw error.At(element.origin);
}

}  // namespace penstock
