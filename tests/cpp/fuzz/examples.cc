// Example messages: tf.train.Example and tf.train.SequenceExample.
#include <array>
#include <cstring>
#include <initializer_list>

#include "compute/op_registry.h"
#include "fuzz.h"

namespace penstock::fuzz {
namespace {

// The numbers used by ops/features.py.
enum Form : int64_t { kFixed, kRagged, kPadded };
enum Kind : int64_t { kBytes = 1, kFloat, kInt64 };

struct Feature {
  const char* key;
  Form form;
  Kind kind;
  bool text;
  bool may_miss;
  int64_t items;  // per row; 0: a scalar
};

const std::vector<Feature> kFeatures = {
    {"image", kFixed, kBytes, false, false, 0}, {"label", kFixed, kInt64, false, true, 0},
    {"box", kFixed, kFloat, false, true, 4},    {"words", kRagged, kBytes, true, true, 0},
    {"ids", kRagged, kInt64, false, true, 0},   {"pairs", kPadded, kFloat, false, true, 2},
};
const std::vector<Feature> kLists = {
    {"frames", kPadded, kBytes, false, true, 0},
    {"speeds", kPadded, kFloat, false, true, 2},
    {"tags", kRagged, kInt64, false, true, 0},
};

Tensor Numbers(const std::vector<int64_t>& values) {
  Tensor made = Tensor::Make(DType::Of(TypeCode::kInt64), {static_cast<int64_t>(values.size())});
  if (!values.empty()) std::memcpy(made.mutable_data(), values.data(), made.nbytes());
  return made;
}

Tensor Floats(const std::vector<float>& values) {
  Tensor made = Tensor::Make(DType::Of(TypeCode::kFloat32), {static_cast<int64_t>(values.size())});
  std::memcpy(made.mutable_data(), values.data(), made.nbytes());
  return made;
}

Tensor Strings(const std::vector<std::string_view>& values) {
  return Tensor::Strings(TypeCode::kBytes, {static_cast<int64_t>(values.size())}, values);
}

std::shared_ptr<const Element> Tuple(std::vector<Tensor> leaves) {
  auto element = std::make_shared<Element>();
  element->structure =
      Structure::Tuple(std::vector<StructureRef>(leaves.size(), Structure::Leaf()));
  element->leaves = std::move(leaves);
  return element;
}

Tensor Default(const Feature& feature) {
  if (feature.kind == kBytes) return Tensor::String(TypeCode::kBytes, "none");
  Tensor value = Tensor::Make(
      feature.kind == kFloat ? DType::Of(TypeCode::kFloat32) : DType::Of(TypeCode::kInt64),
      feature.form == kFixed && feature.items ? Shape{feature.items} : Shape{});
  std::memset(value.mutable_data(), 1, value.nbytes());
  return value;
}

std::shared_ptr<const Element> Requests(const std::vector<Feature>& features) {
  std::vector<std::string_view> keys;
  std::vector<int64_t> rows;
  std::vector<Tensor> leaves(2);
  for (const Feature& feature : features) {
    std::array<int64_t, 15> row = {static_cast<int64_t>(keys.size()),
                                   feature.form,
                                   feature.kind,
                                   feature.text,
                                   feature.key[0] == 'w',
                                   feature.may_miss,
                                   feature.items ? 1 : 0,
                                   feature.items};
    rows.insert(rows.end(), row.begin(), row.end());
    keys.emplace_back(feature.key);
    leaves.push_back(Default(feature));
  }
  leaves[0] = Strings(keys);
  leaves[1] = Numbers(rows);
  return Tuple(std::move(leaves));
}

std::string Only(const std::vector<Tensor>& outputs) { return std::string(outputs[0].string()); }

std::string MakeExample(const std::vector<std::string_view>& keys, std::vector<Tensor> values) {
  Args args("io.make_example");
  args.Set("keys", Tuple({Strings(keys)}));
  return Only(MakeOp("io.make_example", args)->Call(values, {}));
}

std::vector<std::string> Examples(const std::string&) {
  return {MakeExample({"image", "label", "box", "words", "ids", "pairs"},
                      {Strings({"a picture"}), Numbers({7}), Floats({0.5f, 1, 2, -3}),
                       Strings({"one", "", "three"}), Numbers({1, -1, int64_t{1} << 60}),
                       Floats({1, 2, 3, 4})}),
          MakeExample({"image", "unknown", "words"},
                      {Strings({""}), Numbers({1, 2, 3}), Strings({"x"})}),
          MakeExample(
              {"ids", "a name that is longer than words are", "pairs", "image", "box"},
              {Numbers({1, 300, 70'000, -1, int64_t{1} << 40, int64_t{1} << 55, 5}), Floats({1}),
               Floats({7, 8}), Strings({std::string(200, 'x')}), Floats({4, 3, 2, 1})})};
}

Args ParseArgs(bool single) {
  Args args("io.parse_example");
  args.Set("op", std::string("parse_example"));
  args.Set("single", single);
  args.Set("features", Requests(kFeatures));
  return args;
}

// Whether the `count` items of one array from `at` equal those of the other from `other_at`.
bool SameItems(const Tensor& one, int64_t at, const Tensor& other, int64_t other_at,
               int64_t count) {
  if (!one.dtype().is_reference()) {
    const size_t size = one.dtype().itemsize;
    return count == 0 || std::memcmp(one.data() + static_cast<size_t>(at) * size,
                                     other.data() + static_cast<size_t>(other_at) * size,
                                     static_cast<size_t>(count) * size) == 0;
  }
  for (int64_t i = 0; i < count; ++i) {
    if (one.string(at + i) != other.string(other_at + i)) return false;
  }
  return true;
}

int64_t Split(const Tensor& splits, int64_t i) {
  if (splits.dtype().itemsize == sizeof(int64_t)) {
    return reinterpret_cast<const int64_t*>(splits.data())[i];
  }
  return reinterpret_cast<const int32_t*>(splits.data())[i];
}

// Whether an example parsed alone gives the same as row `row` of a batch of `rows`.
bool IsRow(const std::vector<Tensor>& alone, const std::vector<Tensor>& batch, int64_t row,
           int64_t rows) {
  size_t at = 0;  // index of the batch's outputs
  for (size_t i = 0; i < kFeatures.size(); ++i, ++at) {
    const Tensor &one = alone[i], &all = batch[at];
    const int64_t items = one.elements();
    int64_t begin = row * items;
    if (kFeatures[i].form == kRagged) {
      const Tensor& splits = batch[++at];
      begin = Split(splits, row);
      if (Split(splits, row + 1) - begin != items) return false;
    } else if (kFeatures[i].form == kPadded) {
      const int64_t each = all.elements() / rows;
      if (items > each) return false;
      begin = row * each;
      const Tensor fill = Default(kFeatures[i]);
      for (int64_t j = items; j < each; ++j) {
        if (!SameItems(all, begin + j, fill, 0, 1)) return false;
      }
    }
    if (!SameItems(all, begin, one, 0, items)) return false;
  }
  return true;
}

// Parsed one by one and as a batch: both must refuse the same inputs and give the same result. A
// single example is read by looking up each of its keys. In a batch, keys are first looked for at
// their place in the example before, which is sometimes the same example here and sometimes another
// one.
void RunExample(const std::string& input, Random&) {
  static const auto single = MakeOp("io.parse_example", ParseArgs(true));
  static const auto batch = MakeOp("io.parse_example", ParseArgs(false));
  static const std::vector<std::string> others = Examples("");
  const std::vector<std::string_view> rows = {others[0], input,     input,    others[1],
                                              input,     others[2], others[0]};
  std::string refused;
  std::vector<Tensor> together;
  try {
    together = batch->Call({Strings(rows)}, {});
  } catch (const Error& error) {
    Require(error.message().find("example 1:") != std::string::npos, "an error names the example");
    refused = error.message();
  }
  try {
    single->Call({Tensor::String(TypeCode::kBytes, input)}, {});
  } catch (const Error& error) {
    const std::string why = error.message().substr(error.message().find(':') + 1);
    Require(refused.ends_with(why), "a batch refuses what one example alone does, as it does");
    throw;
  }
  Require(refused.empty(), "one example alone is taken where a batch with it is");
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto alone = single->Call({Tensor::String(TypeCode::kBytes, rows[i])}, {});
    Require(IsRow(alone, together, static_cast<int64_t>(i), static_cast<int64_t>(rows.size())),
            "an example has the same values in a batch as alone");
  }
}

std::vector<std::string> SequenceExamples(const std::string&) {
  Args args("io.make_sequence_example");
  std::vector<std::string_view> context = {"image", "label"}, lists = {"frames", "speeds", "tags"};
  args.Set("context", Tuple({Strings(context)}));
  args.Set("lists", Tuple({Strings(lists)}));
  args.Set("steps", std::vector<int64_t>{2, 1, 2});
  std::vector<Tensor> values = {
      Strings({"a picture"}), Numbers({3}),       Strings({"f1"}), Strings({"f2"}),
      Floats({1, 2}),         Numbers({1, 2, 3}), Numbers({})};
  return {Only(MakeOp("io.make_sequence_example", args)->Call(values, {}))};
}

void RunSequenceExample(const std::string& input, Random& random) {
  const bool single = random.OneIn(2);
  Args args("io.parse_sequence_example");
  args.Set("op", std::string("parse_sequence_example"));
  args.Set("single", single);
  args.Set("context", Requests(kFeatures));
  args.Set("sequence", Requests(kLists));
  auto op = MakeOp("io.parse_sequence_example", args);
  std::vector<Tensor> found =
      op->Call({single ? Tensor::String(TypeCode::kBytes, input) : Strings({input, input})}, {});
  Require(found.size() == op->outputs(), "as many results as there should be");
}

const RegisterTarget example({"example", Examples, RunExample});
const RegisterTarget sequence({"sequence_example", SequenceExamples, RunSequenceExample});

}  // namespace
}  // namespace penstock::fuzz
