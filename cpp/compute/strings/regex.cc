// regex_replace and regex_full_match: RE2 regular expressions, as in TensorFlow.
#if defined(PENSTOCK_HAS_RE2)
#include <re2/re2.h>
#endif

#include <string>
#include <vector>

#include "compute/missing_library.h"
#include "compute/new_op.h"
#include "compute/operand.h"
#include "compute/strings/regex_version.h"
#include "compute/strings/string_items.h"

namespace penstock {

const char* RegexVersion() {
#if defined(PENSTOCK_HAS_RE2)
  return "RE2";
#else
  return "";
#endif
}

namespace {

constexpr const char* kFullMatch = "strings.regex_full_match";
constexpr const char* kReplace = "strings.regex_replace";

#if defined(PENSTOCK_HAS_RE2)

// A compiled pattern. Thread-safe; matching takes time linear in the text.
class Pattern {
 public:
  Pattern(const char* op, const std::string& pattern) : compiled_(pattern, Quiet()) {
    if (!compiled_.ok()) {
      throw Error(ErrorKind::kInvalidArgument,
                  "{}: pattern must be a regular expression of RE2, got '{}': {}",
                  std::string_view(op), Shown(pattern), Shown(compiled_.error()));
    }
  }

  const RE2& compiled() const { return compiled_; }

 private:
  static RE2::Options Quiet() {
    RE2::Options options;
    options.set_log_errors(false);
    return options;
  }

  static std::string Shown(const std::string& text) {
    constexpr size_t kMostShown = 200;
    return text.size() <= kMostShown ? text : text.substr(0, kMostShown) + "...";
  }

  const RE2 compiled_;
};

class RegexFullMatch final : public FillOp {
 public:
  explicit RegexFullMatch(const Args& args) : pattern_(kFullMatch, args.Text("pattern")) {}

  bool by_rows(const std::vector<Tensor>&) const override { return true; }

  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    CheckInputs(kFullMatch, inputs, 1);
    StringKind(kFullMatch, "input", inputs[0]);
    return {DType::Of(TypeCode::kBool), inputs[0].shape()};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey) const override {
    uint8_t* matches = out.mutable_data();
    for (int64_t i = 0; i < out.elements(); ++i) {
      matches[i] = RE2::FullMatch(inputs[0].string(i), pattern_.compiled());
    }
  }

 private:
  const Pattern pattern_;
};

class RegexReplace final : public Op {
 public:
  // Inputs: strings, and the replacement for a match: bytes, with \0 to \9 for its groups.
  explicit RegexReplace(const Args& args)
      : pattern_(kReplace, args.Text("pattern")), global_(args.Bool("replace_global")) {}

  bool by_rows(const std::vector<Tensor>& inputs) const override {
    return inputs.size() == 2 && inputs[1].shape().rank() == 0;
  }

  std::vector<Tensor> Call(const std::vector<Tensor>& inputs, RandomKey) const override {
    CheckInputs(kReplace, inputs, 2);
    TypeCode kind = StringKind(kReplace, "input", inputs[0]);
    std::string_view rewrite = OneString(kReplace, "rewrite", inputs[1]);
    std::string problem;
    if (!pattern_.compiled().CheckRewriteString(rewrite, &problem)) {
      throw Error(ErrorKind::kInvalidArgument,
                  "{}: rewrite must hold groups of the pattern as \\0 to \\9, and \\\\ for a "
                  "backslash, got '{}': {}",
                  std::string_view(kReplace), rewrite, problem);
    }
    std::vector<std::string> replaced;
    for (int64_t i = 0; i < inputs[0].elements(); ++i) {
      replaced.emplace_back(inputs[0].string(i));
      if (global_) {
        RE2::GlobalReplace(&replaced.back(), pattern_.compiled(), rewrite);
      } else {
        RE2::Replace(&replaced.back(), pattern_.compiled(), rewrite);
      }
    }
    std::vector<std::string_view> views(replaced.begin(), replaced.end());
    return {Tensor::Strings(kind, inputs[0].shape(), views)};
  }

 private:
  const Pattern pattern_;
  const bool global_;
};

const RegisterOp regex_full_match_op(kFullMatch, NewOp<RegexFullMatch>);
const RegisterOp regex_replace_op(kReplace, NewOp<RegexReplace>);

#else

std::unique_ptr<const Op> MissingRe2(const Args& args) {
  throw MissingLibrary(args.owner().c_str(), "RE2", "libre2-dev",
                       "or drop @ps.native to use Python's re");
}

const RegisterOp regex_full_match_op(kFullMatch, MissingRe2);
const RegisterOp regex_replace_op(kReplace, MissingRe2);

#endif

}  // namespace
}  // namespace penstock
