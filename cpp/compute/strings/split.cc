// split and unicode_decode: one string becomes the array of its substrings; several strings become
// all their substrings, and the offsets of each string's.
#include <cstring>

#include "compute/new_op.h"
#include "compute/operand.h"
#include "compute/strings/string_items.h"
#include "compute/strings/string_parts.h"
#include "data/error.h"

namespace penstock {
namespace {

// Requires exactly one string or, with `many`, a vector of strings.
void CheckRank(const char* op, const Tensor& input, bool many) {
  if (input.shape().rank() == (many ? 1 : 0)) return;
  throw Error(ErrorKind::kInvalidArgument,
              "{}: input must be one string{}, got an array of shape {}{}", std::string_view(op),
              std::string_view(many ? " per row: shape (n,)" : ""), input.shape().ToString(),
              std::string_view(many ? "" : "; say ragged=True for a vector of strings"));
}

// The same condition for a call on many rows.
bool OneStringPerRow(const Column& input) {
  const TypeCode code = input.dtype().code;
  return input.stacked() && input.rank() == 0 &&
         (code == TypeCode::kBytes || code == TypeCode::kText);
}

Tensor Integers(const std::vector<int64_t>& values) {
  Tensor out = Tensor::Make(DType::Of(TypeCode::kInt64), {static_cast<int64_t>(values.size())});
  if (!values.empty()) std::memcpy(out.mutable_data(), values.data(), out.nbytes());
  return out;
}

class Split final : public Op {
 public:
  // Inputs: strings, and the separator; an empty one means any white space. As Python's str.split.
  explicit Split(const Args& args) : most_(args.Int("maxsplit")), many_(args.Bool("ragged")) {}

  size_t outputs() const override { return many_ ? 2 : 1; }

  std::vector<Tensor> Call(const std::vector<Tensor>& inputs, RandomKey) const override {
    CheckInputs("strings.split", inputs, 2);
    StringKind("strings.split", "input", inputs[0]);
    CheckRank("strings.split", inputs[0], many_);
    std::vector<int64_t> ends;
    std::vector<Tensor> outputs{PartsOf(inputs[0], inputs[1], ends).TakeAlone()};
    if (many_) outputs.push_back(Integers(ends));
    return outputs;
  }

  std::optional<Column> CallRagged(const std::vector<Column>& inputs,
                                   int64_t /*rows*/) const override {
    if (many_ || !OneStringPerRow(inputs[0]) || !inputs[1].constant) return std::nullopt;
    std::vector<int64_t> ends;
    Tensor parts = PartsOf(inputs[0], inputs[1], ends).Take();
    return Column(std::move(parts), std::move(ends));
  }

 private:
  // The substrings of all strings, and the begin and end of each string's.
  StringParts PartsOf(const Tensor& strings, const Tensor& sep, std::vector<int64_t>& ends) const {
    TypeCode kind = StringKind("strings.split", "input", strings);
    std::string_view separator = OneString("strings.split", "sep", sep);
    StringParts parts(kind, strings);
    ends.reserve(static_cast<size_t>(strings.elements()) + 1);
    ends.push_back(0);
    for (int64_t i = 0; i < strings.elements(); ++i) {
      std::string_view text = parts.string(i);
      if (separator.empty() && most_ < 0) {
        parts.AddWords(text);
      } else if (separator.empty()) {
        AtSpaces(text, parts);
      } else if (separator.size() == 1 && most_ < 0) {
        parts.AddBetween(separator[0], text);
      } else {
        At(separator, text, parts);
      }
      ends.push_back(parts.count());
    }
    return parts;
  }

  void At(std::string_view separator, std::string_view text, StringParts& parts) const {
    for (int64_t splits = 0; most_ < 0 || splits < most_; ++splits) {
      size_t end = text.find(separator);
      if (end == std::string_view::npos) break;
      parts.Add(text.substr(0, end));
      text.remove_prefix(end + separator.size());
    }
    parts.Add(text);
  }

  // Adds the words; the last one includes the rest of the text.
  void AtSpaces(std::string_view text, StringParts& parts) const {
    for (int64_t splits = 0;; ++splits) {
      while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
      if (text.empty()) return;
      if (splits == most_) {
        parts.Add(text);
        return;
      }
      size_t end = 0;
      while (end < text.size() && !IsSpace(text[end])) ++end;
      parts.Add(text.substr(0, end));
      text.remove_prefix(end);
    }
  }

  const int64_t most_;  // maximum number of splits; negative: unlimited
  const bool many_;
};

class UnicodeDecode final : public Op {
 public:
  explicit UnicodeDecode(const Args& args)
      : errors_(args.Text("errors")),
        replacement_(static_cast<int32_t>(args.Int("replacement_char"))),
        many_(args.Bool("ragged")) {
    if (errors_ != "strict" && errors_ != "replace" && errors_ != "ignore") {
      throw Error(ErrorKind::kInvalidArgument,
                  "strings.unicode_decode: errors must be strict, replace or ignore, got {}",
                  errors_);
    }
  }

  size_t outputs() const override { return many_ ? 2 : 1; }

  std::vector<Tensor> Call(const std::vector<Tensor>& inputs, RandomKey) const override {
    CheckInputs("strings.unicode_decode", inputs, 1);
    StringKind("strings.unicode_decode", "input", inputs[0]);
    CheckRank("strings.unicode_decode", inputs[0], many_);
    std::vector<int64_t> ends;
    std::vector<Tensor> outputs{PointsOf(inputs[0], ends)};
    if (many_) outputs.push_back(Integers(ends));
    return outputs;
  }

  std::optional<Column> CallRagged(const std::vector<Column>& inputs,
                                   int64_t /*rows*/) const override {
    if (many_ || !OneStringPerRow(inputs[0])) return std::nullopt;
    std::vector<int64_t> ends;
    Tensor points = PointsOf(inputs[0], ends);
    return Column(std::move(points), std::move(ends));
  }

 private:
  // The code points of all strings, and the begin and end of each string's.
  Tensor PointsOf(const Tensor& strings, std::vector<int64_t>& ends) const {
    std::vector<int32_t> points;
    ends.push_back(0);
    for (int64_t i = 0; i < strings.elements(); ++i) {
      std::string_view text = strings.string(i);
      const size_t size = text.size();
      while (!text.empty()) {
        const size_t at = size - text.size();
        int32_t point = NextCodePoint(text);
        if (point < 0 && errors_ == "strict") {
          throw Error(ErrorKind::kInvalidArgument,
                      "strings.unicode_decode: input must be UTF-8, got other bytes at byte {} of "
                      "string {}",
                      at, i);
        }
        if (point >= 0 || errors_ == "replace") points.push_back(point < 0 ? replacement_ : point);
      }
      ends.push_back(static_cast<int64_t>(points.size()));
    }
    Tensor out = Tensor::Make(DType::Of(TypeCode::kInt32), {ends.back()});
    if (!points.empty()) std::memcpy(out.mutable_data(), points.data(), out.nbytes());
    return out;
  }

  const std::string errors_;
  const int32_t replacement_;
  const bool many_;
};

const RegisterOp strings_split_op("strings.split", NewOp<Split>);
const RegisterOp strings_unicode_decode_op("strings.unicode_decode", NewOp<UnicodeDecode>);

}  // namespace
}  // namespace penstock
