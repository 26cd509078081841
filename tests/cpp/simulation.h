// Simulated pipelines: threads, processors, the GIL, disks and locks in virtual time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/tuner.h"

namespace penstock::testing {

// Mean seconds of each resource that one element needs.
struct Work {
  double cpu = 0;        // processor time without the GIL
  double gil = 0;        // processor time with the GIL held, in addition
  double sleep = 0;      // waiting that uses no resource
  double disk = 0;       // of the disk, which serves a few elements at a time; no tuner sees it
  double lock = 0;       // processor time under a lock of the user, which no tuner sees either
  double pull = 0;       // processor time of the stage's input, under that input's lock
  double jitter = 0;     // the largest relative deviation of one element's times from these
  double straggler = 0;  // the share of elements that take ten times as long
};

struct SimulatedStage {
  Work work;
  int64_t bytes = 1;  // of an element that it makes
  // A prefetch: one thread, whose width is how many elements it may be ahead.
  bool buffer = false;
};

struct SimulatedPipeline {
  std::string name;
  int processors = 2;
  std::vector<SimulatedStage> stages;  // parallel maps, from the source on
  Work consumer;
  int disk = 4;                      // elements that it serves at a time
  int64_t memory_limit = INT64_MAX;  // bytes that are made and not yet consumed
  int cpu_budget = 0;                // sum of all widths; 0: no limit
  std::vector<Work> later = {};      // of the stages and the consumer, after the change
};

// The counters of one stage since the beginning.
struct Counted {
  int width = 0;
  double delivered = 0;  // elements
  double called = 0;     // seconds that its threads spent in calls
  double cpu = 0;        // seconds of `called` on a processor
  double pulled = 0;     // seconds in pulls, including the wait for the stage before it
  double waited = 0;     // seconds that its consumer waited for it
  double bytes = 0;      // of the elements that it made; for the consumer: that all stages hold
  double ready = 0;      // for the consumer: seconds in which threads had no processor
};

struct Ran {
  std::vector<double> outputs;  // elements in each tenth of a second
  int64_t most_bytes = 0;
  double Rate(double from, double to) const;
};

// Returns the widths to use from now on. Called twice per simulated second; the last entry of
// `stages` is the consumer.
using Controller = std::function<std::vector<int>(double now, const std::vector<Counted>& stages)>;

// The work changes at `change_at`. The seed determines everything.
Ran Simulate(const SimulatedPipeline& pipeline, std::vector<int> widths, double seconds,
             double change_at, uint64_t seed, const Controller& controller);

// The same with the widths that the tuner chooses, driven as the engine drives it.
struct Tuned {
  Ran ran;
  std::vector<TunerMove> log;
  std::vector<int> widths;  // at the end
  // How often it decided to move something between the two times.
  int Moves(double from, double to) const;
};
Tuned SimulateTuned(const SimulatedPipeline& pipeline, double seconds, double change_at,
                    uint64_t seed);

// How wide a stage may be.
int MostWidth(const SimulatedPipeline& pipeline, const SimulatedStage& stage);
// The highest rate that fixed widths reach; `changed`: with the later work.
double BestRate(const SimulatedPipeline& pipeline, bool changed, uint64_t seed,
                std::vector<int>* widths);

// The tuner compared with the best fixed widths.
struct Comparison {
  double share = 0;           // of their rate, at the end
  int moves = 0;              // decisions in the last 30 seconds
  bool within_memory = true;  // at any time
  double adapted = 0;         // seconds after the change until 95 % of the rate; 0: no change
  std::string text;
};
Comparison Compare(const SimulatedPipeline& pipeline, uint64_t seed);

// Forty pipelines, on 2 to 256 processors. The tuner's constants were chosen with these.
std::vector<SimulatedPipeline> SimulatedPipelines();
// Pipelines drawn from wide ranges of all parameters; no constant was chosen with them.
std::vector<SimulatedPipeline> DrawnPipelines(int count, uint64_t seed);

}  // namespace penstock::testing
