// Calling a function for one element.
#include "stages/group/group_key.h"

#include <cstring>
#include <optional>

#include "data/whole_number.h"

namespace penstock {
namespace {

std::optional<int64_t> IntIn(const Tensor& value) {
  bool one_bool = value.dtype().code == TypeCode::kBool && value.elements() == 1;
  return one_bool ? std::optional<int64_t>(value.value<bool>()) : WholeNumber(value);
}

// For row `row` of the call, which is `element`.
Error NotOneInt(const char* what, const Element& result, const CallInfo& info, int64_t row,
                const Element& element) {
  Error error(ErrorKind::kType, "{}: {} must return one int, got {}", info.stage->kind,
              std::string_view(what), ElementSpec::Of(result).ToString());
  return error.In(FailedStepOf(info, row, element), element.origin);
}

Error NoResult(const CallInfo& info) {
  return {ErrorKind::kRuntime, "{}: a function gave no result", info.stage->kind};
}

bool IsIntColumn(const Block& block) {
  return block.stacked() && block.structure == Structure::Leaf() && block.columns[0].rank() == 0 &&
         block.columns[0].dtype().code == TypeCode::kInt64;
}

// The rows from index `first` on, without error and end.
Block RowsFrom(const Block& rows, int64_t first) { return rows.Slice(first, rows.rows - first); }

}  // namespace

Element CallForOne(Function& function, Element element, const CallInfo& info) {
  std::vector<Block> made;
  function.Map(Block::Of(std::move(element)), info, made);
  Step step = made.empty() ? Step(End{}) : std::move(made.front()).ToStep();
  if (auto* error = std::get_if<Error>(&step)) throw *std::move(error);
  if (auto* result = std::get_if<Element>(&step)) return std::move(*result);
  throw NoResult(info);
}

void CallForInts(Function& function, const char* what, const Block& rows, int64_t done,
                 const CallInfo& info, std::vector<IntOrError>& out) {
  std::vector<Block> made;
  auto take = [&] {
    int64_t row = done;
    for (Block& block : made) {
      if (block.rows > 0 && IsIntColumn(block)) {
        for (int64_t i = 0; i < block.rows; ++i) {
          int64_t number;
          std::memcpy(&number,
                      block.columns[0].items.data() + sizeof(number) * static_cast<size_t>(i),
                      sizeof(number));
          out.emplace_back(number);
        }
      } else {
        for (int64_t i = 0; i < block.rows; ++i) {
          Element result = block.Row(i);
          std::optional<int64_t> number;
          if (result.structure == Structure::Leaf()) number = IntIn(result.leaves[0]);
          if (number)
            out.emplace_back(*number);
          else
            out.emplace_back(NotOneInt(what, result, info, row + i, rows.Row(row + i)));
        }
      }
      row += block.rows;
      if (block.error) {
        out.emplace_back(*std::move(block.error));
        ++row;
      }
    }
  };
  CallInfo asked = info;
  asked.index += done;
  try {
    function.Map(RowsFrom(rows, done), asked, made);
  } catch (const Error&) {
    take();
    throw;
  }
  size_t before = out.size();
  take();
  if (out.size() == before) out.emplace_back(NoResult(info));
}

int64_t CallForInt(Function& function, const char* what, const Element& element,
                   const CallInfo& info) {
  Element result = CallForOne(function, element, info);
  std::optional<int64_t> number;
  if (result.structure == Structure::Leaf()) number = IntIn(result.leaves[0]);
  if (number) return *number;
  throw NotOneInt(what, result, info, 0, element);
}

}  // namespace penstock
