// The options of pack, and checks of which elements it accepts.
#pragma once

#include <memory>
#include <vector>

#include "compute/args.h"
#include "data/padding_rules.h"

namespace penstock {

enum class TooLong { kError, kDrop, kSplit };

struct PackOptions {
  std::shared_ptr<const PaddingRules> rules;
  int64_t length = 0;  // of all leaves; 0: from the rules
  int64_t open_packs = 1;
  bool concat = false;  // concatenate sequences, and split them where a pack is full
  bool drop_remainder = false;
  TooLong too_long = TooLong::kError;

  // Throws if arguments are invalid.
  static PackOptions Of(const Args& args);
  // The length and padding of each leaf.
  std::vector<LeafPadding> Match(const Structure* structure,
                                 const std::vector<DType>& dtypes) const;
  // Throws if such elements cannot be packed.
  void CheckSpec(const ElementSpec& spec) const;
  void CheckElement(int64_t at, const Element& element) const;
};

}  // namespace penstock
