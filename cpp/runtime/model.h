// A model of a running pipeline: how many elements per second come out, and what limits them.
#pragma once

#include <span>
#include <vector>

namespace penstock {

// Stages that the same threads run one after another, from one hand-over to the next. The consumer
// is one, too, with its own step in `cpu` and `blocked`.
struct Section {
  int servers = 1;     // threads, or calls, at the same time
  double cpu = 0;      // seconds of processor for one element of the pipeline's output
  double gil = 0;      // of these, with the GIL held
  double blocked = 0;  // seconds asleep or waiting for files
  // Of cpu + blocked: seconds in which only one of the servers can be at a time (the shared input,
  // a lock).
  double serial = 0;
};

enum class Bound {
  kProcessors,  // all of them are busy
  kGil,         // it is held all the time
  kSection,     // all servers of a section are busy
  kSerial,      // what only one server of a section can do at a time
};

struct Prediction {
  double rate = 0;  // elements per second; infinite when nothing takes time
  Bound bound = Bound::kProcessors;
  int section = -1;  // of kSection and kSerial
  // Of each section, the share of its servers' time that the elements take, with their waits for a
  // processor, the GIL and each other. What is left of 1 is waiting for input or for room.
  std::vector<double> utilisation;
};

// What a pipeline of these sections delivers in the long run, with enough room between them, on
// `processors` (above 0; a share of one counts as such). A pure function.
Prediction Predict(std::span<const Section> sections, double processors);

}  // namespace penstock
