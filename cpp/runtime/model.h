// A model of a running pipeline: how many elements per second come out, and what limits them.
#pragma once

#include <atomic>
#include <cstdint>
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

// How long an element takes, and how far that varies.
struct Varied {
  double mean = 0;      // seconds
  double variance = 0;  // seconds squared; 0 as well where it is not known
};

// The time in which a consumer finds a buffer of so many elements empty, for each element and
// beyond what it would wait with an endless buffer: where `made` and `used` vary, they do not
// always meet.
double StarvedSeconds(const Varied& made, const Varied& used, double elements);

// The smallest buffer, a power of two from 2 to `most`, with which the consumer waits for a
// hundredth of the time at most, as far as a buffer can help.
int64_t BufferFor(const Varied& made, const Varied& used, int64_t most);

// Measures the time of elements that come in groups. Written by one thread at a time, read by any.
// relaxed everywhere: sums of one moment and of the next give nearly the same estimate.
class ElementTimes final {
 public:
  void Add(int64_t ns, int64_t elements);
  Varied Get() const;

 private:
  // Of groups of k elements that took t seconds.
  std::atomic<double> elements_{0};
  std::atomic<double> seconds_{0};          // t
  std::atomic<double> seconds_squared_{0};  // t * t
  std::atomic<double> seconds_by_size_{0};  // t * k
  std::atomic<double> sizes_squared_{0};    // k * k
};

}  // namespace penstock
