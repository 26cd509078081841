// io.parse_example and parse_single_example, and their variants for sequence examples.
#include "compute/io/feature_order.h"
#include "compute/new_op.h"
#include "compute/operand.h"
#include "data/element_text.h"
#include "data/error.h"

namespace penstock {
namespace {

// Lists the features of an example, or of the context of a sequence example.
std::string KeysOf(std::string_view record) {
  constexpr size_t kMost = 8;
  std::string text;
  size_t count = 0;
  try {
    for (WireReader example(record); !example.done();) {
      const uint32_t tag = example.Tag();
      if (tag != BytesTag(1)) {
        example.Skip(tag);
        continue;
      }
      for (WireReader entries(example.Bytes()); !entries.done();) {
        const uint32_t field = entries.Tag();
        if (field != BytesTag(1)) {
          entries.Skip(field);
          continue;
        }
        WireReader entry(entries.Bytes());
        if (entry.done() || entry.Tag() != BytesTag(1)) continue;
        const std::string key = Quoted(entry.Bytes(), false);
        if (count++ < kMost) text += (count > 1 ? ", " : "") + key;
      }
    }
  } catch (const WireError&) {
    // List the features that can be read.
  }
  if (count == 0) return "the example has no features";
  if (count > kMost) text += Format(" and {} more", count - kMost);
  return "the example has " + text;
}

// The checked inputs of a call, and the data for error messages.
struct Records {
  Records(const std::string& op, const std::vector<Tensor>& inputs, bool alone)
      : op(op), serialized(inputs.at(0)), names(inputs.size() > 1 ? &inputs[1] : nullptr) {
    CheckInputs(op.c_str(), inputs, 1, 2);
    bool empty = serialized.dtype().code == TypeCode::kObject && serialized.elements() == 0;
    if (serialized.dtype().code != TypeCode::kBytes && !empty) {
      throw Error(ErrorKind::kType, "{}: serialized must be bytes, got {}", op,
                  serialized.dtype().name());
    }
    int wanted = alone ? 0 : 1;
    if (serialized.shape().rank() != wanted) {
      throw Error(ErrorKind::kInvalidArgument, "{}: serialized must be {}, got shape {}; use {}",
                  op, std::string_view(alone ? "one string" : "a vector of strings"),
                  serialized.shape().ToString(), Other(alone));
    }
    if (names && (!names->dtype().is_reference() || names->elements() != serialized.elements())) {
      throw Error(ErrorKind::kInvalidArgument,
                  "{}: example_names: a name was expected for each of {} examples", op,
                  serialized.elements());
    }
  }

  // The name of the other variant of the operation, for a batch or for a single example:
  // "parse_single_example".
  std::string Other(bool alone) const {
    constexpr std::string_view kParse = "parse_", kSingle = "parse_single_";
    const size_t begin = alone ? kSingle.size() : kParse.size();
    return std::string(alone ? kParse : kSingle) + op.substr(begin);
  }

  // Throws `error` for a feature, or for an example if `key` is null.
  [[noreturn]] void Throw(const WireError& error, int64_t number, const std::string* key) const {
    std::string place = serialized.shape().rank() ? Format(" example {}:", number) : "";
    if (names) place = Format(" example '{}':", names->string(number));
    if (key) place += Format(" feature '{}':", *key);
    std::string where;
    std::string_view record = serialized.string(number);
    auto* at = static_cast<const char*>(error.at);
    if (at >= record.data() && at <= record.data() + record.size() && at) {
      where = Format(", at byte {} of {}", at - record.data(), record.size());
    }
    if (error.missing) where += "; " + KeysOf(record);
    throw Error(ErrorKind::kData, "{}:{} {}{}", op, place, error.what, where);
  }

  const std::string& op;
  const Tensor& serialized;
  const Tensor* names;
};

// The features of a sequence of examples.
class FeatureTable {
 public:
  FeatureTable(const FeatureRequests& requests, int64_t examples) : requests_(requests) {
    values_.reserve(requests.all().size());
    for (const FeatureRequest& request : requests.all()) values_.emplace_back(request, examples);
    Clear();
  }

  void Clear() { requests_.Forget(found_); }
  void Find(std::string_view map) { requests_.Find(map, found_); }
  // Calls `add` for each feature found; `*key` is the key of the current feature.
  template <typename Add>
  void AddAll(const Add& add, const std::string** key) {
    const std::vector<FeatureRequest>& all = requests_.all();
    for (size_t i = 0; i < all.size(); ++i) {
      *key = &requests_.key(all[i]);
      add(values_[i], found_[all[i].key]);
    }
    *key = nullptr;
  }
  std::vector<FeatureValues>& values() { return values_; }

 private:
  const FeatureRequests& requests_;
  std::vector<FeatureValues> values_;
  std::vector<FoundValue> found_;
};

void Append(std::vector<Tensor> more, std::vector<Tensor>& to) {
  std::move(more.begin(), more.end(), std::back_inserter(to));
}

void AddFeature(FeatureValues& values, const FoundValue& found) { values.Add(found); }
void AddList(FeatureValues& values, const FoundValue& found) { values.AddList(found); }

class ParseExample final : public Op {
 public:
  explicit ParseExample(const Args& args)
      : op_(args.Text("op")), alone_(args.Bool("single")), requests_(args, "features") {}

  size_t outputs() const override {
    size_t count = 0;
    for (const FeatureRequest& request : requests_.all()) {
      count += request.form == FeatureForm::kRagged && !alone_ ? 2 : 1;
    }
    return count;
  }

  // Whether all features have a fixed number of values.
  bool by_rows(const std::vector<Tensor>& inputs) const override {
    for (const FeatureRequest& request : requests_.all()) {
      if (request.form != FeatureForm::kFixed) return false;
    }
    return alone_ && inputs.size() == 1;
  }

  std::vector<Tensor> Call(const std::vector<Tensor>& inputs, RandomKey) const override {
    bool stacked = inputs.at(0).shape().rank() > 0 && by_rows(inputs);
    Records records(op_, inputs, alone_ && !stacked);
    int64_t count = records.serialized.elements();
    FeatureTable table(requests_, count);
    if (count < kFewest) {
      for (int64_t number = 0; number < count; ++number) AddExample(records, number, table);
    } else {
      FeatureOrder order(requests_, table.values());
      for (int64_t number = 0; number < count; ++number) {
        if (!order.hopeless() && order.Add(records.serialized.string(number), number)) continue;
        AddExample(records, number, table);
      }
    }
    std::vector<Tensor> results;
    for (FeatureValues& values : table.values()) {
      Append(values.Take(records.serialized, records.serialized.shape(), alone_), results);
    }
    return results;
  }

 private:
  static constexpr int64_t kFewest = 4;  // from this number of examples on, FeatureOrder pays off

  // Adds an example in any valid encoding.
  static void AddExample(const Records& records, int64_t number, FeatureTable& table) {
    const std::string* key = nullptr;
    try {
      table.Clear();
      for (WireReader example(records.serialized.string(number)); !example.done();) {
        uint32_t tag = example.Tag();
        if (tag == BytesTag(1))
          table.Find(example.Bytes());
        else
          example.Skip(tag);
      }
      table.AddAll(AddFeature, &key);
    } catch (const WireError& error) {
      records.Throw(error, number, key);
    }
  }

  const std::string op_;
  const bool alone_;
  const FeatureRequests requests_;
};

class ParseSequenceExample final : public Op {
 public:
  explicit ParseSequenceExample(const Args& args)
      : op_(args.Text("op")),
        alone_(args.Bool("single")),
        context_(args, "context"),
        lists_(args, "sequence") {}

  size_t outputs() const override {
    size_t count = 0;
    for (const FeatureRequest& request : context_.all()) {
      count += request.form == FeatureForm::kRagged && !alone_ ? 2 : 1;
    }
    for (const FeatureRequest& request : lists_.all()) {
      count += (request.form == FeatureForm::kRagged ? 2 : 1) + (alone_ ? 0 : 1);
    }
    return count;
  }

  std::vector<Tensor> Call(const std::vector<Tensor>& inputs, RandomKey) const override {
    Records records(op_, inputs, alone_);
    const Shape& outer = records.serialized.shape();
    int64_t count = records.serialized.elements();
    FeatureTable context(context_, count), lists(lists_, count);
    const std::string* key = nullptr;
    int64_t number = 0;
    try {
      for (; number < count; ++number) {
        context.Clear();
        lists.Clear();
        for (WireReader example(records.serialized.string(number)); !example.done();) {
          uint32_t tag = example.Tag();
          if (tag == BytesTag(1))
            context.Find(example.Bytes());
          else if (tag == BytesTag(2))
            lists.Find(example.Bytes());
          else
            example.Skip(tag);
        }
        context.AddAll(AddFeature, &key);
        lists.AddAll(AddList, &key);
      }
    } catch (const WireError& error) {
      records.Throw(error, number, key);
    }
    std::vector<Tensor> results;
    for (FeatureValues& values : context.values()) {
      Append(values.Take(records.serialized, outer, alone_), results);
    }
    for (FeatureValues& values : lists.values()) {
      Append(values.TakeLists(records.serialized, outer, alone_), results);
    }
    return results;
  }

 private:
  const std::string op_;
  const bool alone_;
  const FeatureRequests context_;
  const FeatureRequests lists_;
};

const RegisterOp io_parse_example_op("io.parse_example", NewOp<ParseExample>);
const RegisterOp io_parse_sequence_example_op("io.parse_sequence_example",
                                              NewOp<ParseSequenceExample>);

}  // namespace
}  // namespace penstock
