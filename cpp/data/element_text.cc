// Formats leaves and their nesting.
#include "data/element_text.h"

#include <charconv>
#include <cmath>

#include "data/printable.h"

namespace penstock {
namespace {

constexpr size_t kLongestString = 120;  // bytes
constexpr size_t kLongestBinary = 24;   // bytes of a binary string
constexpr size_t kLongestText = 400;    // per element
constexpr int64_t kMostStrings = 3;     // per array

void AppendEscaped(std::string& out, std::string_view text, bool bytes) {
  while (!text.empty()) {
    const auto c = static_cast<uint8_t>(text[0]);
    size_t length = 1;
    if (c == '\'' || c == '\\') {
      out += {'\\', static_cast<char>(c)};
    } else {
      // A single byte of a longer sequence is not a character, so it is escaped.
      length = AppendPrintable(out, bytes ? text.substr(0, 1) : text);
    }
    text.remove_prefix(length);
  }
}

// Whether it is not UTF-8 text. File names are text, although their type is bytes.
bool IsBinary(std::string_view text) {
  while (!text.empty()) {
    const size_t length = SequenceLength(text);
    const auto byte = static_cast<uint8_t>(text[0]);
    const bool control = byte < 0x20 && (byte < '\t' || byte > '\r');
    if (length == 0 || control) return true;
    text.remove_prefix(length);
  }
  return false;
}

bool ContinuesSequence(char c) { return (static_cast<uint8_t>(c) & 0xC0) == 0x80; }

template <typename Number>
std::string NumberText(Number value) {
  char text[64];
  std::string written(text, std::to_chars(text, text + sizeof(text), value).ptr);
  if constexpr (std::is_floating_point_v<Number>) {
    if (std::isfinite(value) && written.find_first_of(".e") == std::string::npos) written += ".0";
  }
  return written;
}

float HalfValue(uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1F;
  const auto mantissa = static_cast<float>(bits & 0x3FF);
  float value =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 1024, exponent - 25);
  if (exponent == 0x1F) value = mantissa == 0 ? INFINITY : NAN;
  return bits & 0x8000 ? -value : value;
}

// A single item; "" if its type has no short form.
std::string ScalarText(const Tensor& leaf) {
  switch (leaf.dtype().code) {
    case TypeCode::kBool:
      return leaf.value<bool>() ? "True" : "False";
    case TypeCode::kInt8:
      return NumberText<int>(leaf.value<int8_t>());
    case TypeCode::kInt16:
      return NumberText(leaf.value<int16_t>());
    case TypeCode::kInt32:
      return NumberText(leaf.value<int32_t>());
    case TypeCode::kInt64:
      return NumberText(leaf.value<int64_t>());
    case TypeCode::kUInt8:
      return NumberText<unsigned>(leaf.value<uint8_t>());
    case TypeCode::kUInt16:
      return NumberText(leaf.value<uint16_t>());
    case TypeCode::kUInt32:
      return NumberText(leaf.value<uint32_t>());
    case TypeCode::kUInt64:
      return NumberText(leaf.value<uint64_t>());
    case TypeCode::kFloat16:
      return NumberText(HalfValue(leaf.value<uint16_t>()));
    case TypeCode::kFloat32:
      return NumberText(leaf.value<float>());
    case TypeCode::kFloat64:
      return NumberText(leaf.value<double>());
    default:
      return "";
  }
}

bool IsString(const Tensor& leaf) {
  return leaf.dtype().code == TypeCode::kBytes || leaf.dtype().code == TypeCode::kText;
}

class Writer {
 public:
  explicit Writer(const std::vector<Tensor>& leaves) : leaves_(leaves) {}

  void Write(const Structure* structure) {
    if (text.size() > kLongestText) {
      next_ += static_cast<size_t>(structure->leaves());
      return;
    }
    const Structure::Kind kind = structure->kind();
    if (kind == Structure::Kind::kLeaf) return WriteLeaf(leaves_[next_++]);
    if (kind == Structure::Kind::kNone) {
      text += "None";
      return;
    }
    const bool dict = kind == Structure::Kind::kDict;
    const auto& children = structure->children();
    text += dict ? '{' : '(';
    for (size_t i = 0; i < children.size(); ++i) {
      if (i > 0) text += ", ";
      if (text.size() > kLongestText) {
        text += "...";
        break;
      }
      if (dict)
        text += Quoted(structure->names()[i], false) + ": ";
      else if (kind != Structure::Kind::kTuple)
        text += structure->names()[i] + "=";
      Write(children[i]);
    }
    if (kind == Structure::Kind::kTuple && children.size() == 1) text += ',';
    text += dict ? '}' : ')';
  }

  std::string text;
  bool tells = false;  // whether the text distinguishes elements

 private:
  void WriteLeaf(const Tensor& leaf) {
    const bool lone = leaf.shape().rank() == 0;
    if (IsString(leaf) && leaf.buffer()) {
      tells = tells || leaf.elements() > 0;
      if (lone) {
        text += Quoted(leaf.string(), leaf.dtype().code == TypeCode::kBytes);
        return;
      }
      text += leaf.dtype().name() + leaf.shape().ToString() + '[';
      for (int64_t i = 0; i < std::min(leaf.elements(), kMostStrings); ++i) {
        if (i > 0) text += ", ";
        text += Quoted(leaf.string(i), leaf.dtype().code == TypeCode::kBytes);
      }
      text += leaf.elements() > kMostStrings ? ", ...]" : "]";
      return;
    }
    std::string number = lone ? ScalarText(leaf) : "";
    tells = tells || !number.empty();
    if (!number.empty())
      text += number;
    else
      text += leaf.dtype().name() + (lone ? "" : leaf.shape().ToString());
  }

  const std::vector<Tensor>& leaves_;
  size_t next_ = 0;
};

}  // namespace

std::string Quoted(std::string_view text, bool bytes) {
  if (bytes && text.size() > kLongestBinary && IsBinary(text)) {
    const std::string begin = Quoted(text.substr(0, kLongestBinary), bytes);
    return begin + "... of " + std::to_string(text.size()) + " bytes";
  }
  std::string shown;  // before shortening, because a shortened URL may not be recognized
  if (text.find("://") != std::string_view::npos) text = shown = WithoutSecrets(text);
  std::string out = bytes ? "b'" : "'";
  if (text.size() <= kLongestString) {
    AppendEscaped(out, text, bytes);
  } else {
    // Keep more of the end, where paths differ.
    size_t head = kLongestString / 3;
    size_t tail = text.size() - (kLongestString - head);
    while (!bytes && head > 0 && ContinuesSequence(text[head])) --head;
    while (!bytes && tail < text.size() && ContinuesSequence(text[tail])) ++tail;
    AppendEscaped(out, text.substr(0, head), bytes);
    out += "...";
    AppendEscaped(out, text.substr(tail), bytes);
  }
  return out + '\'';
}

std::string ElementText(const Element& element) {
  // Memory ran out before it was complete.
  if (element.leaves.size() < static_cast<size_t>(element.structure->leaves())) return "";
  Writer writer(element.leaves);
  writer.Write(element.structure);
  return writer.tells ? std::move(writer.text) : "";
}

std::string RowText(const Block& rows, int64_t row) { return ElementText(rows.Row(row)); }

}  // namespace penstock
