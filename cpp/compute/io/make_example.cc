// io.make_example and make_sequence_example: serialise arrays to messages.
#include "compute/cast_items.h"
#include "compute/io/wire.h"
#include "compute/new_op.h"
#include "compute/operand.h"
#include "compute/real_types.h"
#include "data/error.h"

namespace penstock {
namespace {

constexpr uint32_t kBytesList = 1, kFloatList = 2, kInt64List = 3;  // fields of a Feature

void PutVarint(uint64_t value, std::string& to) {
  for (; value >= 0x80; value >>= 7) to.push_back(static_cast<char>(value | 0x80));
  to.push_back(static_cast<char>(value));
}

void PutBytes(uint32_t field, std::string_view bytes, std::string& to) {
  PutVarint(BytesTag(field), to);
  PutVarint(bytes.size(), to);
  to.append(bytes);
}

std::string ListOfStrings(const Tensor& values) {
  std::string list;
  for (int64_t i = 0; i < values.elements(); ++i) PutBytes(1, values.string(i), list);
  return list;
}

std::string ListOfFloats(const Tensor& values) {
  auto count = static_cast<size_t>(values.elements());
  std::vector<float> floats(count);
  CastItems(values.dtype().code, values.data(), TypeCode::kFloat32, floats.data(), count);
  std::string list;
  std::string_view packed(reinterpret_cast<const char*>(floats.data()), count * sizeof(float));
  if (count) PutBytes(1, packed, list);
  return list;
}

std::string ListOfInts(const Tensor& values) {
  auto count = static_cast<size_t>(values.elements());
  std::vector<int64_t> ints(count);
  CastItems(values.dtype().code, values.data(), TypeCode::kInt64, ints.data(), count);
  std::string list, packed;
  for (int64_t value : ints) {
    if (value < 0 && values.dtype().code == TypeCode::kUInt64) {
      throw WireError{Format("{} does not fit into int64", static_cast<uint64_t>(value))};
    }
    PutVarint(static_cast<uint64_t>(value), packed);
  }
  if (count) PutBytes(1, packed, list);
  return list;
}

// A Feature message. An empty array without a type becomes a Feature without a list.
std::string FeatureOf(const Tensor& values) {
  TypeCode code = values.dtype().code;
  std::string feature;
  if (code == TypeCode::kBytes || code == TypeCode::kText)
    PutBytes(kBytesList, ListOfStrings(values), feature);
  else if (IsFloating(code))
    PutBytes(kFloatList, ListOfFloats(values), feature);
  else if (IsReal(code))
    PutBytes(kInt64List, ListOfInts(values), feature);
  else if (code != TypeCode::kObject || values.elements() > 0)
    throw WireError{
        Format("bytes, str, or real numbers were expected, got {}",
               code == TypeCode::kObject ? "Python objects (None, say)" : values.dtype().name())};
  return feature;
}

// Appends a map entry, as field 1 of `to`.
void PutEntry(std::string_view key, std::string_view value, std::string& to) {
  std::string entry;
  PutBytes(1, key, entry);
  PutBytes(2, value, entry);
  PutBytes(1, entry, to);
}

std::vector<std::string> KeysOf(const Args& args, const std::string& name) {
  const Tensor& keys = args.Nested(name).leaves.at(0);
  std::vector<std::string> found;
  for (int64_t i = 0; i < keys.elements(); ++i) found.emplace_back(keys.string(i));
  return found;
}

std::string NamedFeature(const std::string& op, const std::string& key, const Tensor& values) {
  try {
    return FeatureOf(values);
  } catch (const WireError& error) {
    throw Error(
        values.dtype().code == TypeCode::kUInt64 ? ErrorKind::kInvalidArgument : ErrorKind::kType,
        "{}: feature '{}': {}", op, key, error.what);
  }
}

// Inputs: the values of each feature.
class MakeExample final : public Op {
 public:
  explicit MakeExample(const Args& args) : keys_(KeysOf(args, "keys")) {}

  std::vector<Tensor> Call(const std::vector<Tensor>& inputs, RandomKey) const override {
    CheckInputs("make_example", inputs, keys_.size());
    std::string features, example;
    for (size_t i = 0; i < keys_.size(); ++i) {
      PutEntry(keys_[i], NamedFeature("make_example", keys_[i], inputs[i]), features);
    }
    PutBytes(1, features, example);
    return {Tensor::String(TypeCode::kBytes, example)};
  }

 private:
  const std::vector<std::string> keys_;
};

// Inputs: the values of each feature of the context, then those of each step of each list.
class MakeSequenceExample final : public Op {
 public:
  explicit MakeSequenceExample(const Args& args)
      : context_(KeysOf(args, "context")),
        lists_(KeysOf(args, "lists")),
        steps_(args.Ints("steps")) {}

  std::vector<Tensor> Call(const std::vector<Tensor>& inputs, RandomKey) const override {
    const std::string op = "make_sequence_example";
    size_t next = 0;
    std::string features, lists, example;
    for (const std::string& key : context_) {
      PutEntry(key, NamedFeature(op, key, inputs.at(next++)), features);
    }
    for (size_t i = 0; i < lists_.size(); ++i) {
      std::string list;
      for (int64_t step = 0; step < steps_[i]; ++step) {
        PutBytes(1, NamedFeature(op, lists_[i], inputs.at(next++)), list);
      }
      PutEntry(lists_[i], list, lists);
    }
    if (!context_.empty()) PutBytes(1, features, example);
    if (!lists_.empty()) PutBytes(2, lists, example);
    return {Tensor::String(TypeCode::kBytes, example)};
  }

 private:
  const std::vector<std::string> context_, lists_;
  const std::vector<int64_t> steps_;
};

const RegisterOp io_make_example_op("io.make_example", NewOp<MakeExample>);
const RegisterOp io_make_sequence_example_op("io.make_sequence_example",
                                             NewOp<MakeSequenceExample>);

}  // namespace
}  // namespace penstock
