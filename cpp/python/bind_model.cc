// Python access to the model of a pipeline.
#include <pybind11/stl.h>

#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "data/error.h"
#include "python/bind.h"
#include "runtime/model.h"

namespace py = pybind11;

namespace penstock {
namespace {

const char* NameOf(Bound bound) {
  switch (bound) {
    case Bound::kProcessors:
      return "cpu";
    case Bound::kGil:
      return "gil";
    case Bound::kSection:
      return "section";
    case Bound::kSerial:
      return "serial";
  }
  return "";
}

bool Valid(const Section& section) {
  const double work = section.cpu + section.blocked;
  return section.servers >= 1 && std::isfinite(work) && section.cpu >= 0 && section.blocked >= 0 &&
         section.gil >= 0 && section.gil <= section.cpu && section.serial >= 0 &&
         section.serial <= work;
}

using SectionOfPython = std::tuple<int, double, double, double, double>;

std::tuple<double, std::string, int, std::vector<double>> PredictFor(
    const std::vector<SectionOfPython>& described, double processors) {
  if (!(processors > 0)) {
    throw Error(ErrorKind::kInvalidArgument, "predict: processors must be above 0, got {}",
                processors);
  }
  std::vector<Section> sections;
  for (const auto& [servers, cpu, gil, blocked, serial] : described) {
    const Section section{servers, cpu, gil, blocked, serial};
    if (!Valid(section)) {
      throw Error(ErrorKind::kInvalidArgument,
                  "predict: expected servers >= 1, 0 <= gil <= cpu, 0 <= blocked and 0 <= serial "
                  "<= cpu + blocked, got section {}: ({}, {}, {}, {}, {})",
                  sections.size(), servers, cpu, gil, blocked, serial);
    }
    sections.push_back(section);
  }
  const Prediction found = Predict(sections, processors);
  return {found.rate, NameOf(found.bound), found.section, found.utilisation};
}

}  // namespace

void BindModel(py::module_& module) {
  module.def("predict", &PredictFor, py::arg("sections"), py::arg("processors"));
}

}  // namespace penstock
