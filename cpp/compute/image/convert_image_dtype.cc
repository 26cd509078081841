// image.convert_image_dtype: converts between integers over their whole range and floats in [0, 1].
#include "compute/image/image_conversion.h"
#include "compute/new_op.h"
#include "compute/operand.h"
#include "compute/real_types.h"

namespace penstock {
namespace {

constexpr Operand kConvertedImage{"convert_image_dtype", "image"};

class ConvertImageDtype final : public FillOp {
 public:
  explicit ConvertImageDtype(const Args& args)
      : dtype_(TypeNamed("convert_image_dtype", "dtype", args.Text("dtype"))),
        saturate_(args.Bool("saturate")) {
    Check(dtype_, "dtype");
  }

  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    CheckInputs("convert_image_dtype", inputs, 1);
    kConvertedImage.CheckDense(inputs[0]);
    Check(inputs[0].dtype(), "image");
    return {dtype_, inputs[0].shape()};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey) const override {
    ImageConversion::Scaled(inputs[0].dtype().code, dtype_.code, saturate_)
        .Run(inputs[0].data(), out.mutable_data(), static_cast<size_t>(out.elements()));
  }

  bool by_rows(const std::vector<Tensor>&) const override { return true; }
  bool row_local() const override { return true; }
  bool keeps_means() const override { return true; }

 private:
  static void Check(DType type, const char* argument) {
    if (IsInteger(type.code) || IsFloating(type.code)) return;
    throw Error(ErrorKind::kType,
                "convert_image_dtype: {} must be an integer or float type, got {}",
                std::string_view(argument), type.name());
  }

  DType dtype_;
  bool saturate_;
};

const RegisterOp image_convert_image_dtype_op("image.convert_image_dtype",
                                              NewOp<ConvertImageDtype>);

}  // namespace
}  // namespace penstock
