// Operations that read text: CSV, base64, numbers, UTF-8, regular expressions.
#include <cstring>

#include "compute/io/json_fields.h"
#include "compute/op_registry.h"
#include "fuzz.h"

namespace penstock::fuzz {
namespace {

Tensor Text(std::string_view text) { return Tensor::String(TypeCode::kBytes, text); }

std::vector<std::string> CsvLines(const std::string&) {
  return {"1,2.5,text,7", "-1,1e10,\"a \"\"quoted\"\", one\",0\n", ",,,", "5,nan,\"\",NA\r\n"};
}

std::shared_ptr<const Element> Columns() {
  auto element = std::make_shared<Element>();
  Tensor table = Tensor::Make(DType::Of(TypeCode::kInt64), {4, 2});
  const int64_t rows[] = {0, 0, 1, 0, 2, 0, 3, 0};
  std::memcpy(table.mutable_data(), rows, sizeof rows);
  element->leaves = {table, Tensor::Scalar<int32_t>(1), Tensor::Scalar<float>(2), Text("none"),
                     Tensor::Scalar<int64_t>(3)};
  element->structure = Structure::Tuple(std::vector<StructureRef>(5, Structure::Leaf()));
  return element;
}

void RunCsv(const std::string& input, Random& random) {
  Args args("io.decode_csv");
  args.Set("columns", Columns());
  args.Set("field_delim", std::string(","));
  args.Set("use_quote_delim", true);
  args.Set("na_value", std::string("NA"));
  args.Set("all", random.OneIn(2));
  std::vector<Tensor> found = MakeOp("io.decode_csv", args)->Call({Text(input)}, {});
  Require(found.size() == 4, "a value for each column");
}

std::vector<std::string> JsonLines(const std::string&) {
  return {R"({"x": 12, "s": "a \"\u00e9\ud83d\ude00 ä", "l": [1.5, -2e3, 0], "o": {"b": true}})",
          R"({"o": {"c": [{"d": null}, [[]]], "b": false}, "l": [], "s": "", "x": -128})",
          R"( { "x" : 0 , "s" : null , "w" : [ "a" , "\/" ] , "o" : { "b" : true } } )"};
}

ElementSpec JsonSpec() {
  auto leaf = Structure::Leaf();
  auto inside = Structure::Make(Structure::Kind::kDict, {leaf}, {"b"}, nullptr);
  ElementSpec spec;
  spec.structure = Structure::Make(Structure::Kind::kDict, {leaf, leaf, leaf, leaf, inside},
                                   {"x", "s", "l", "w", "o"}, nullptr);
  spec.leaves = {{DType::Of(TypeCode::kInt8), {}},
                 {DType::Of(TypeCode::kText), {}},
                 {DType::Of(TypeCode::kFloat32), {-1}},
                 {DType::Of(TypeCode::kBytes), {-1}},
                 {DType::Of(TypeCode::kBool), {}}};
  return spec;
}

// The blocks must have one row or one error for each line.
void RunJson(const std::string& input, Random& random) {
  static const FunctionPtr fields = MakeJsonFields(
      JsonSpec(), {std::nullopt, Text("none"), Tensor::Make(DType::Of(TypeCode::kFloat32), {0}),
                   Tensor::Strings(TypeCode::kBytes, {0}, {}), std::nullopt});
  const std::vector<std::string_view> lines(1 + random.Below(3), input);
  Block block;
  block.rows = static_cast<int64_t>(lines.size());
  block.columns.push_back(Tensor::Strings(TypeCode::kBytes, {block.rows}, lines));
  const StageLabel label{"fuzz", "", ""};
  CallInfo info{&label, {}};
  info.ragged = random.OneIn(2);
  std::vector<Block> out;
  fields->Map(std::move(block), info, out);
  int64_t steps = 0;
  for (const Block& each : out) steps += each.steps();
  Require(steps == static_cast<int64_t>(lines.size()), "a row or an error for each line");
}

std::vector<std::string> Base64Texts(const std::string&) {
  return {"", "YQ", "YWI=", "YWJj", "_-8_", "AAAAAAAA"};
}

void RunBase64(const std::string& input, Random& random) {
  Args encode("io.encode_base64");
  encode.Set("pad", random.OneIn(2));
  Args decode("io.decode_base64");
  auto decoder = MakeOp("io.decode_base64", decode);
  Tensor encoded = MakeOp("io.encode_base64", encode)->Call({Text(input)}, {})[0];
  Require(decoder->Call({encoded}, {})[0].string() == input, "base64 comes back");
  decoder->Call({Text(input)}, {});
}

std::vector<std::string> RawBytes(const std::string&) {
  return {std::string(64, '\x7f'), std::string(16, '\0')};
}

void RunRaw(const std::string& input, Random& random) {
  constexpr const char* kTypes[] = {"uint8", "int16", "float32", "float64", "complex128", "bool"};
  Args args("io.decode_raw");
  args.Set("out_type", std::string(kTypes[random.Below(6)]));
  args.Set("little_endian", random.OneIn(2));
  if (random.OneIn(2)) args.Set("fixed_length", int64_t{16} << random.Below(3));
  MakeOp("io.decode_raw", args)->Call({Text(input)}, {});
}

std::vector<std::string> Strings(const std::string&) {
  return {"one two  three", "12", "-1.5e3", " 0x1p4 ", "naïve 日本 😀", "9223372036854775807"};
}

// Ignores a refusal, because the next operation may accept the same input.
template <typename Call>
void Try(Call call) {
  try {
    call();
  } catch (const Error&) {
  }
}

void RunStrings(const std::string& input, Random& random) {
  const Tensor text = Text(input);
  for (const char* name : {"strings.lower", "strings.upper", "strings.strip"}) {
    Tensor changed = MakeOp(name, Args(name))->Call({text}, {})[0];
    Require(changed.string().size() <= input.size(), "no letter more");
  }
  for (const char* type : {"float32", "float64", "int32", "int64"}) {
    Args args("strings.to_number");
    args.Set("out_type", std::string(type));
    Try([&] { MakeOp("strings.to_number", args)->Call({text}, {}); });
  }
  Args split("strings.split");
  split.Set("maxsplit", static_cast<int64_t>(random.Below(4)) - 1);
  split.Set("ragged", false);
  const char* separators[] = {"", ",", " ", "aa"};
  MakeOp("strings.split", split)->Call({text, Text(separators[random.Below(4)])}, {});
  for (const char* errors : {"replace", "ignore", "strict"}) {
    Args decode("strings.unicode_decode");
    decode.Set("errors", std::string(errors));
    decode.Set("replacement_char", int64_t{0xFFFD});
    decode.Set("ragged", false);
    Try([&] { MakeOp("strings.unicode_decode", decode)->Call({text}, {}); });
  }
  for (const char* unit : {"BYTE", "UTF8_CHAR"}) {
    Args substr("strings.substr");
    substr.Set("unit", std::string(unit));
    auto number = [&] { return Tensor::Scalar(static_cast<int64_t>(random.Below(40)) - 20); };
    Try([&] { MakeOp("strings.substr", substr)->Call({text, number(), number()}, {}); });
  }
}

std::vector<std::string> Patterns(const std::string&) {
  return {R"(part-(\d+))", "(a*)*b", "[^a-z]+|x{2,5}?", R"((?i)naïve\b|\pL\C)", "(?P<name>.)$"};
}

void RunRegex(const std::string& input, Random&) {
  constexpr size_t kLongest = 1000;  // the time to compile grows with the length
  Args match("strings.regex_full_match"), replace("strings.regex_replace");
  match.Set("pattern", input.substr(0, kLongest));
  replace.Set("pattern", input.substr(0, kLongest));
  replace.Set("replace_global", true);
  const std::string text = "part-12 naïve " + input.substr(0, 100);
  MakeOp("strings.regex_full_match", match)->Call({Text(text)}, {});
  MakeOp("strings.regex_replace", replace)->Call({Text(text), Text("<\\0>")}, {});
}

const RegisterTarget csv({"decode_csv", CsvLines, RunCsv});
const RegisterTarget json({"json_lines", JsonLines, RunJson});
const RegisterTarget base64({"base64", Base64Texts, RunBase64});
const RegisterTarget raw({"decode_raw", RawBytes, RunRaw});
const RegisterTarget strings({"strings", Strings, RunStrings});
#if defined(PENSTOCK_HAS_RE2)
const RegisterTarget regex({"regex", Patterns, RunRegex});
#endif

}  // namespace
}  // namespace penstock::fuzz
