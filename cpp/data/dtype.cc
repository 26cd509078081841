// Names, sizes and the interned parameters of element types.
#include "data/dtype.h"

#include <deque>
#include <limits>
#include <mutex>

#include "data/error.h"
#include "runtime/fork.h"

namespace penstock {
namespace {

struct TypeRow {
  const char* name;
  uint32_t itemsize;
};

constexpr TypeRow kTypes[] = {
    {"bool", 1},
    {"int8", 1},
    {"int16", 2},
    {"int32", 4},
    {"int64", 8},
    {"uint8", 1},
    {"uint16", 2},
    {"uint32", 4},
    {"uint64", 8},
    {"float16", 2},
    {"float32", 4},
    {"float64", 8},
    {"longdouble", sizeof(long double)},
    {"complex64", 8},
    {"complex128", 16},
    {"clongdouble", 2 * sizeof(long double)},
    {"datetime64", 8},
    {"timedelta64", 8},
    {"bytes", sizeof(void*)},
    {"str", sizeof(void*)},
    {"object", sizeof(void*)},
    {"", 0},
};

struct Parameters {
  std::mutex mutex;
  std::deque<std::string> texts{""};  // a deque: string_views stay valid as it grows
};

Parameters& AllParameters() {
  // Leaked: outlives every thread.
  static Parameters& parameters = *[] {
    auto* made = new Parameters;
    HoldAcrossFork(made->mutex);
    return made;
  }();
  return parameters;
}

uint16_t Interned(std::string_view text) {
  Parameters& all = AllParameters();
  std::lock_guard lock(all.mutex);
  for (size_t i = 0; i < all.texts.size(); ++i) {
    if (all.texts[i] == text) return static_cast<uint16_t>(i);
  }
  if (all.texts.size() > std::numeric_limits<uint16_t>::max()) {
    throw Error(ErrorKind::kInvalidArgument,
                "dtype: too many units of times and names of types, the last one is '{}'", text);
  }
  all.texts.emplace_back(text);
  return static_cast<uint16_t>(all.texts.size() - 1);
}

}  // namespace

std::string DType::name() const {
  if (code == TypeCode::kAdded) return std::string(parameter());
  std::string text = kTypes[static_cast<int>(code)].name;
  if (param != 0) text.append("[").append(parameter()).append("]");
  return text;
}

DType DType::Of(TypeCode code) { return {code, 0, kTypes[static_cast<int>(code)].itemsize}; }

DType DType::OfTime(TypeCode code, std::string_view unit) {
  DType type = Of(code);
  type.param = Interned(unit);
  return type;
}

DType DType::Added(std::string_view name, uint32_t itemsize) {
  return {TypeCode::kAdded, Interned(name), itemsize};
}

std::string_view DType::parameter() const {
  Parameters& all = AllParameters();
  std::lock_guard lock(all.mutex);
  return all.texts[param];
}

template <>
DType DTypeOf<bool>() {
  return DType::Of(TypeCode::kBool);
}
template <>
DType DTypeOf<int32_t>() {
  return DType::Of(TypeCode::kInt32);
}
template <>
DType DTypeOf<int64_t>() {
  return DType::Of(TypeCode::kInt64);
}
template <>
DType DTypeOf<uint8_t>() {
  return DType::Of(TypeCode::kUInt8);
}
template <>
DType DTypeOf<float>() {
  return DType::Of(TypeCode::kFloat32);
}
template <>
DType DTypeOf<double>() {
  return DType::Of(TypeCode::kFloat64);
}

}  // namespace penstock
