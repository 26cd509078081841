// Zstandard compression for Python, whose standard library has none before 3.14.
#include "python/bind.h"
#include "python/errors.h"
#include "python/whole.h"
#include "storage/compression.h"
#include "storage/zstd_stream.h"

namespace py = pybind11;
using namespace py::literals;

namespace penstock {
namespace {

using Until = ZstdCompressor::Until;

std::unique_ptr<ZstdCompressor> NewCompressor(const std::string& owner, int level) {
  CompressionOf("ZSTD", owner);  // throws if zstd is not built in
  return std::make_unique<ZstdCompressor>(level);
}

py::bytes CompressData(ZstdCompressor& self, const py::buffer& data) {
  py::buffer_info info = data.request();
  if (!PyBuffer_IsContiguous(info.view(), 'C')) {
    throw Error(ErrorKind::kInvalidArgument, "ZstdCompressor: contiguous bytes were expected");
  }
  std::string packed;
  {
    py::gil_scoped_release release;
    std::string_view bytes(static_cast<const char*>(info.ptr),
                           static_cast<size_t>(info.size * info.itemsize));
    packed = self.Run(bytes, Until::kMore);
  }
  return packed;
}

py::bytes Flush(ZstdCompressor& self, int mode) { return self.Run({}, static_cast<Until>(mode)); }

}  // namespace

// Same names and calls as the objects of zlib.compressobj.
void BindZstd(py::module_& module) {
  py::class_<ZstdCompressor> type(module, "ZstdCompressor", py::custom_type_setup(MadeWhole));
  DefInit(Noted(type), &NewCompressor, "owner"_a, "level"_a)
      .def("compress", &CompressData, "data"_a)
      .def("flush", &Flush, "mode"_a = static_cast<int>(Until::kEnd));
  type.attr("FLUSH") = static_cast<int>(Until::kFlush);
}

}  // namespace penstock
