// tar_sample: the samples of a tar archive, each as the bytes of its members including headers.
#include "stages/files/file_dataset.h"
#include "storage/tar.h"

namespace penstock {
namespace {

const FileFormat kTarSamples{"TarDataset", Beginning::kChecked,
                             [](const Args&) -> std::unique_ptr<RecordReader> {
                               return std::make_unique<TarSampleReader>();
                             },
                             /*named_compression=*/true};

const RegisterDataset tar_sample_stage("tar_sample", TraitsOf(kTarSamples),
                                       [](const std::vector<DatasetPtr>&,
                                          const Args& args) -> std::shared_ptr<Dataset> {
                                         return MakeFileDataset(kTarSamples, args);
                                       });

}  // namespace
}  // namespace penstock
