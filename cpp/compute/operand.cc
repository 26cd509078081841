// Checks shared by operations.
#include "compute/operand.h"

#include "compute/cast_items.h"
#include "compute/real_types.h"
#include "data/error.h"

namespace penstock {

std::string_view Operand::String(const Tensor& tensor, bool text) const {
  TypeCode code = tensor.dtype().code;
  bool fits = code == TypeCode::kBytes || (text && code == TypeCode::kText);
  if (!fits) {
    std::string got = tensor.dtype().name();
    if (code == TypeCode::kObject) {
      got = text ? "a Python object; give str(path) for a path" : "a Python object (None, say)";
    } else if (code == TypeCode::kText && std::string_view(argument) == "contents") {
      got += "; give ps.io.read_file(path) for the name of a file";
    }
    throw Error(ErrorKind::kType, "{}: {} must be {}, got {}", std::string_view(op),
                std::string_view(argument), std::string_view(text ? "a str or bytes" : "bytes"),
                got);
  }
  if (tensor.shape().rank() != 0) {
    throw Error(ErrorKind::kInvalidArgument, "{}: {} must be one string, got an array of shape {}",
                std::string_view(op), std::string_view(argument), tensor.shape().ToString());
  }
  return tensor.string();
}

void Operand::CheckDense(const Tensor& tensor) const {
  if (tensor.storage() != Storage::kDense) {
    throw Error(ErrorKind::kType, "{}: {} must be an array of numbers, got {}",
                std::string_view(op), std::string_view(argument), tensor.dtype().name());
  }
}

void Operand::CheckReal(const Tensor& tensor) const {
  TypeCode code = tensor.dtype().code;
  if (IsInteger(code) || IsFloating(code)) return;
  throw Error(ErrorKind::kType, "{}: {} must be of an integer or float type, got {}",
              std::string_view(op), std::string_view(argument), tensor.dtype().name());
}

void Operand::CheckChannels(const Tensor& tensor, int64_t channels) const {
  const Shape& shape = tensor.shape();
  if (shape.rank() > 0 && shape[shape.rank() - 1] == channels) return;
  throw Error(ErrorKind::kInvalidArgument, "{}: {} must have shape (..., {}), got {}",
              std::string_view(op), std::string_view(argument), channels, shape.ToString());
}

double Operand::Number(const Tensor& tensor) const {
  CheckReal(tensor);
  if (tensor.shape().rank() != 0) {
    throw Error(ErrorKind::kInvalidArgument, "{}: {} must be one number, got shape {}",
                std::string_view(op), std::string_view(argument), tensor.shape().ToString());
  }
  double value = 0;
  CastItems(tensor.dtype().code, tensor.data(), TypeCode::kFloat64, &value, 1);
  return value;
}

ImageBatch Operand::Images(const Tensor& tensor) const {
  CheckDense(tensor);
  const Shape& shape = tensor.shape();
  if (shape.rank() != 3 && shape.rank() != 4) {
    throw Error(ErrorKind::kInvalidArgument,
                "{}: {} must have shape (height, width, channels) or (batch, height, width, "
                "channels), got {}",
                std::string_view(op), std::string_view(argument), shape.ToString());
  }
  int first = shape.rank() - 3;
  return {first ? shape[0] : 1, shape[first], shape[first + 1], shape[first + 2]};
}

std::vector<int64_t> Operand::Integers(const Tensor& tensor, int64_t count) const {
  // The type of an empty list is arbitrary.
  if (!IsInteger(tensor.dtype().code) && tensor.elements() > 0) {
    throw Error(ErrorKind::kType, "{}: {} must hold integers, got {}", std::string_view(op),
                std::string_view(argument), tensor.dtype().name());
  }
  if (tensor.shape().rank() != 1 || tensor.shape()[0] != count) {
    throw Error(ErrorKind::kInvalidArgument, "{}: {} must have shape ({},), got {}",
                std::string_view(op), std::string_view(argument), count, tensor.shape().ToString());
  }
  std::vector<int64_t> values(static_cast<size_t>(count));
  CastItems(tensor.dtype().code, tensor.data(), TypeCode::kInt64, values.data(), values.size());
  return values;
}

std::vector<double> Operand::Numbers(const Tensor& tensor, int64_t count) const {
  if (!IsReal(tensor.dtype().code)) {
    throw Error(ErrorKind::kType, "{}: {} must be numbers, got {}", std::string_view(op),
                std::string_view(argument), tensor.dtype().name());
  }
  if (tensor.elements() != count) {
    throw Error(ErrorKind::kInvalidArgument,
                "{}: {} must hold {} numbers, got an array of shape {}", std::string_view(op),
                std::string_view(argument), count, tensor.shape().ToString());
  }
  std::vector<double> values(static_cast<size_t>(count));
  CastItems(tensor.dtype().code, tensor.data(), TypeCode::kFloat64, values.data(), values.size());
  return values;
}

void CheckInputs(const char* op, const std::vector<Tensor>& inputs, size_t least, size_t most) {
  if (inputs.size() < least || inputs.size() > most) {
    throw Error(ErrorKind::kInvalidArgument, "{}: {} inputs expected, got {}", std::string_view(op),
                most, inputs.size());
  }
}

}  // namespace penstock
