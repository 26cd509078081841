// Calling a function for one element.
#include "transforms/group_key.h"

#include <optional>

namespace penstock {
namespace {

std::optional<int64_t> IntIn(const Tensor& value) {
  if (value.elements() != 1) return std::nullopt;
  switch (value.dtype().code) {
    case TypeCode::kBool:
      return value.value<bool>();
    case TypeCode::kInt8:
      return value.value<int8_t>();
    case TypeCode::kInt16:
      return value.value<int16_t>();
    case TypeCode::kInt32:
      return value.value<int32_t>();
    case TypeCode::kInt64:
      return value.value<int64_t>();
    case TypeCode::kUInt8:
      return value.value<uint8_t>();
    case TypeCode::kUInt16:
      return value.value<uint16_t>();
    case TypeCode::kUInt32:
      return value.value<uint32_t>();
    case TypeCode::kUInt64:
      return static_cast<int64_t>(value.value<uint64_t>());
    default:
      return std::nullopt;
  }
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
