// A model of a running pipeline: its throughput, and what limits it.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

namespace penstock {

// Stages that the same threads run sequentially, from one hand-over to the next. The consumer is
// also a section, with its own step in `cpu` and `blocked`.
struct Section {
  int servers = 1;     // concurrent threads or calls
  double cpu = 0;      // CPU seconds per element of the pipeline's output
  double gil = 0;      // of these, holding the GIL
  double blocked = 0;  // seconds asleep or waiting for files
  // Of cpu + blocked: seconds in which only one server can be at the same time (the shared input, a
  // lock).
  double serial = 0;
};

enum class Bound {
  kProcessors,  // all CPUs are busy
  kGil,         // the GIL is always held
  kSection,     // all servers of a section are busy
  kSerial,      // the serial part of a section
};

struct Prediction {
  double rate = 0;  // elements per second; infinite if nothing takes time
  Bound bound = Bound::kProcessors;
  int section = -1;  // for kSection and kSerial
  // For each section, the fraction of its servers' time that elements take, including their waits
  // for a CPU, the GIL and each other. The remainder is waiting for input or for room.
  std::vector<double> utilisation;
};

// The long-term rate of a pipeline with these sections, with enough room between them, on
// `processors` CPUs (above 0; may be a fraction). A pure function.
Prediction Predict(std::span<const Section> sections, double processors);

// The time per element, and its variance.
struct Varied {
  double mean = 0;      // seconds
  double variance = 0;  // seconds squared; 0 also if unknown
};

// The time per element for which a consumer finds a buffer of `elements` elements empty, beyond its
// waits with an infinite buffer. It is positive if `made` and `used` vary, because they do not
// always coincide.
double StarvedSeconds(const Varied& made, const Varied& used, double elements);

// The smallest buffer, a power of two from 2 to `most`, with which the consumer waits at most 1 %
// of the time, as far as a buffer can achieve that.
int64_t BufferFor(const Varied& made, const Varied& used, int64_t most);

// Measures the time per element of groups of elements. Written by one thread at a time, read by
// any. relaxed everywhere: combining sums of slightly different moments gives nearly the same
// estimate.
class ElementTimes final {
 public:
  void Add(int64_t ns, int64_t elements);
  Varied Get() const;

 private:
  // For groups of k elements that took t seconds.
  std::atomic<double> elements_{0};
  std::atomic<double> seconds_{0};          // t
  std::atomic<double> seconds_squared_{0};  // t * t
  std::atomic<double> seconds_by_size_{0};  // t * k
  std::atomic<double> sizes_squared_{0};    // k * k
};

}  // namespace penstock
