// image.extract_jpeg_shape and image.is_jpeg read the header of a JPEG, without a JPEG library.
#include "compute/image/jpeg_header.h"
#include "compute/new_op.h"
#include "compute/operand.h"
#include "compute/real_types.h"

namespace penstock {
namespace {

constexpr Operand kShapeContents{"extract_jpeg_shape", "contents"};
constexpr Operand kIsJpegContents{"is_jpeg", "contents"};

class ExtractJpegShape final : public FillOp {
 public:
  explicit ExtractJpegShape(const Args& args)
      : dtype_(TypeNamed("extract_jpeg_shape", "output_type", args.Text("output_type"))) {
    if (dtype_.code != TypeCode::kInt32 && dtype_.code != TypeCode::kInt64) {
      throw Error(ErrorKind::kType,
                  "extract_jpeg_shape: output_type must be int32 or int64, got {}", dtype_.name());
    }
  }

  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    CheckInputs("extract_jpeg_shape", inputs, 1);
    kShapeContents.String(inputs[0]);
    return {dtype_, {3}};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey) const override {
    JpegHeader header = ReadJpegHeader("extract_jpeg_shape", inputs[0].string());
    const int64_t shape[] = {header.height, header.width, header.components};
    for (int i = 0; i < 3; ++i) {
      if (dtype_.code == TypeCode::kInt64) {
        reinterpret_cast<int64_t*>(out.mutable_data())[i] = shape[i];
      } else {
        reinterpret_cast<int32_t*>(out.mutable_data())[i] = static_cast<int32_t>(shape[i]);
      }
    }
  }

 private:
  DType dtype_;
};

class IsJpeg final : public FillOp {
 public:
  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    CheckInputs("is_jpeg", inputs, 1);
    kIsJpegContents.String(inputs[0]);
    return {DType::Of(TypeCode::kBool), {}};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey) const override {
    *out.mutable_data() = StartsAsJpeg(inputs[0].string());
  }
};

const RegisterOp image_extract_jpeg_shape_op("image.extract_jpeg_shape", NewOp<ExtractJpegShape>);
const RegisterOp image_is_jpeg_op("image.is_jpeg", NewOp<IsJpeg>);

}  // namespace
}  // namespace penstock
