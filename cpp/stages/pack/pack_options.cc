// Arguments of pack, and checks of its elements.
#include "stages/pack/pack_options.h"

namespace penstock {
namespace {

TooLong TooLongOf(const std::string& text) {
  if (text == "error") return TooLong::kError;
  if (text == "drop") return TooLong::kDrop;
  if (text == "split") return TooLong::kSplit;
  throw Error(ErrorKind::kInvalidArgument,
              "pack: too_long must be \"error\", \"drop\" or \"split\", got \"{}\"", text);
}

}  // namespace

PackOptions PackOptions::Of(const Args& args) {
  auto nested = [&](const char* name) {
    return args.Has(name) ? std::make_shared<const Element>(args.Nested(name)) : nullptr;
  };
  PackOptions options;
  std::shared_ptr<const ElementSpec> lengths;
  if (args.Has("lengths")) lengths = std::make_shared<const ElementSpec>(args.Spec("lengths"));
  options.rules = std::make_shared<const PaddingRules>("pack", lengths, nested("padding_value"),
                                                       nested("padding_values"), "length");
  if (!lengths) options.length = args.IntAtLeast("length", 1);
  const std::string& strategy = args.Text("strategy");
  options.concat = strategy == "concat_then_split";
  if (!options.concat && strategy != "first_fit") {
    throw Error(ErrorKind::kInvalidArgument,
                "pack: strategy must be \"first_fit\" or \"concat_then_split\", got \"{}\"",
                strategy);
  }
  options.open_packs = args.IntAtLeast("open_packs", 1);
  options.too_long = TooLongOf(args.Text("too_long"));
  options.drop_remainder = args.Bool("drop_remainder");
  for (size_t i = 1; options.concat && lengths && i < lengths->leaves.size(); ++i) {
    if (lengths->leaves[i] == lengths->leaves[0]) continue;
    throw Error(ErrorKind::kInvalidArgument,
                "pack: length must be the same for all components with concat_then_split, got "
                "{} and {}",
                lengths->leaves[0].shape.ToString(), lengths->leaves[i].shape.ToString());
  }
  if (options.drop_remainder && !options.concat) {
    throw Error(ErrorKind::kInvalidArgument,
                "pack: drop_remainder is for strategy \"concat_then_split\"; all packs of "
                "first_fit may have room left");
  }
  return options;
}

std::vector<LeafPadding> PackOptions::Match(const Structure* structure,
                                            const std::vector<DType>& dtypes) const {
  std::vector<LeafPadding> leaves = rules->Match(structure, dtypes);
  for (LeafPadding& leaf : leaves) {
    if (length > 0) leaf.shape = {length};
  }
  return leaves;
}

void PackOptions::CheckSpec(const ElementSpec& spec) const {
  std::vector<DType> dtypes;
  for (auto& leaf : spec.leaves) dtypes.push_back(leaf.dtype);
  for (const LeafPadding& leaf : Match(spec.structure, dtypes)) {
    if (leaf.shape.rank() != 1 || leaf.shape[0] < 1) {
      throw Error(ErrorKind::kInvalidArgument,
                  "pack: length must be an int >= 1 for each component, got {}",
                  leaf.shape.ToString());
    }
  }
  for (auto& leaf : spec.leaves) {
    if (!leaf.dtype.is_reference() && (leaf.any_rank || leaf.shape.rank() == 1)) continue;
    throw Error(ErrorKind::kInvalidArgument,
                "pack: sequences of numbers, arrays of one axis, were expected, got {}",
                spec.ToString());
  }
}

void PackOptions::CheckElement(int64_t at, const Element& element) const {
  if (element.leaves.empty()) {
    throw Error(ErrorKind::kInvalidArgument, "pack: element {} must have a sequence, got {}", at,
                element.structure->ToString());
  }
  for (size_t i = 0; i < element.leaves.size(); ++i) {
    const Tensor& leaf = element.leaves[i];
    std::string path = element.structure->LeafPath(static_cast<int>(i));
    if (!path.empty()) path = "'s leaf " + path;
    if (leaf.shape().rank() != 1 || leaf.dtype().is_reference()) {
      throw Error(ErrorKind::kInvalidArgument,
                  "pack: element {}{} must be a sequence of numbers, an array of one axis, got "
                  "{} of shape {}",
                  at, path, leaf.dtype().name(), leaf.shape().ToString());
    }
    if (concat && leaf.elements() != element.leaves[0].elements()) {
      throw Error(ErrorKind::kInvalidArgument,
                  "pack: element {}{} has {} items, its first leaf has {}; concat_then_split "
                  "needs equal lengths",
                  at, path, leaf.elements(), element.leaves[0].elements());
    }
  }
}

}  // namespace penstock
