// Pipelines that are only calculated: threads, processors, the GIL, disks and locks in virtual
// time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/tuner.h"

namespace penstock::testing {

// Seconds that an element takes of each resource, on average.
struct Work {
  double cpu = 0;        // of a processor
  double gil = 0;        // of a processor with the GIL held, besides
  double sleep = 0;      // of none
  double disk = 0;       // of the disk, which serves some at a time: no tuner sees it
  double lock = 0;       // of a processor with a lock of the user's held, likewise
  double pull = 0;       // of a processor under the lock of the stage's input: its own input
  double jitter = 0;     // how far an element's times are from these, up to this share
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
  int disk = 4;                      // elements at a time
  int64_t memory_limit = INT64_MAX;  // bytes that are made and not consumed
  int cpu_budget = 0;                // of all widths together; 0: none
  std::vector<Work> later = {};      // of the stages and the consumer, after the change
};

// Of one stage, since the beginning.
struct Counted {
  int width = 0;
  double delivered = 0;  // elements
  double called = 0;     // seconds that its threads were in calls
  double cpu = 0;        // of these, on a processor
  double pulled = 0;     // seconds in pulls, with the wait for the stage before it
  double waited = 0;     // seconds that its consumer waited for it
  double bytes = 0;      // of the elements that it made; of the consumer: that all hold
  double ready = 0;      // of the consumer: seconds in which threads had no processor
};

struct Ran {
  std::vector<double> outputs;  // in each tenth of a second
  int64_t most_bytes = 0;
  double Rate(double from, double to) const;
};

// Says the widths to use from now on. Called twice in a second; the consumer's counts are the last.
using Controller = std::function<std::vector<int>(double now, const std::vector<Counted>& stages)>;

// The work changes at `change_at`. Everything is determined by the seed.
Ran Simulate(const SimulatedPipeline& pipeline, std::vector<int> widths, double seconds,
             double change_at, uint64_t seed, const Controller& controller);

// The same with the widths that the tuner chooses, as the engine runs it.
struct Tuned {
  Ran ran;
  std::vector<TunerMove> log;
  std::vector<int> widths;  // at the end
  // How often it decided to move something between two times.
  int Moves(double from, double to) const;
};
Tuned SimulateTuned(const SimulatedPipeline& pipeline, double seconds, double change_at,
                    uint64_t seed);

// How wide a stage may be.
int MostWidth(const SimulatedPipeline& pipeline, const SimulatedStage& stage);
// The most that fixed widths give; `changed`: of the later work.
double BestRate(const SimulatedPipeline& pipeline, bool changed, uint64_t seed,
                std::vector<int>* widths);

// How the tuner does beside the best fixed widths.
struct Comparison {
  double share = 0;           // of their rate, at the end
  int moves = 0;              // decisions in the last 30 seconds
  bool within_memory = true;  // at any time
  double adapted = 0;         // seconds after the change until 95 % of the rate; 0: no change
  std::string text;
};
Comparison Compare(const SimulatedPipeline& pipeline, uint64_t seed);

// Forty, of 2 to 256 processors. The tuner's constants were chosen by these.
std::vector<SimulatedPipeline> SimulatedPipelines();
// Drawn from wide ranges of everything: pipelines that no constant was chosen by.
std::vector<SimulatedPipeline> DrawnPipelines(int count, uint64_t seed);

}  // namespace penstock::testing
