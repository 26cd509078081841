// Operational analysis: the bounds of a pipeline, and approximate mean value analysis near them.
//
// Every element needs its seconds of each resource, whatever their order and distribution, so the
// rate X obeys (Denning and Buzen, The Operational Analysis of Queueing Network Models, 1978):
//
//   X * sum(cpu) <= processors      X * (cpu + blocked) <= servers    for each section
//   X * sum(gil) <= 1               X * serial <= 1                   likewise
//
// Only servers that never interfere with each other reach the smallest bound. Mean value analysis
// estimates the interference: the servers of a section circulate, so they are a closed network of
// `servers` customers. A customer that arrives at a resource finds the average queue of the others
// (Reiser and Lavenberg 1980, with the approximation of Bard and Schweitzer 1979: the others are a
// network with one customer less and the same shares). The other sections process elements at the
// same rate X, and the CPUs and GIL time that they use are unavailable (Lazowska, Zahorjan, Graham
// and Sevcik, Quantitative System Performance, 1984, chapter 7: open classes in a mixed network
// lengthen the demands of closed ones). X is the largest rate that every section can reach next to
// the others.
//
// A buffer between two threads is a Brownian motion between two barriers: its level drifts by the
// difference of their speeds, and has the variance of both (Harrison, Brownian Motion and
// Stochastic Flow Systems, 1985, chapter 5). The rate at which it is held back at the lower barrier
// is the rate at which the consumer finds it empty.
#include "runtime/model.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace penstock {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kAccuracy = 1e-6;  // of a rate; far below what can be measured
constexpr int kMostRounds = 200;  // of bisection or damped iteration: more than the accuracy needs

double Work(const Section& section) { return section.cpu + section.blocked; }

// The mean of max(0, Z - level), where Z is normal (Clark 1961).
double MeanAbove(double level, double mean, double deviation) {
  if (deviation <= 0) return std::max(mean - level, 0.0);
  const double z = (mean - level) / deviation;
  const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::acos(-1.0));
  const double below = std::erfc(-z / std::sqrt(2.0)) / 2;
  return (mean - level) * below + deviation * density;
}

// The factor by which a computation takes longer than on an idle machine, if `servers` threads
// share the CPUs and each is running or runnable for the fraction `ready` of its time: the mean of
// max(1, N / processors) over the number N of such threads, which is at least one (the thread
// itself) and at most all.
double Stretch(int servers, double ready, double processors) {
  const double others = servers - 1;
  const double mean = 1 + others * ready;
  const double deviation = std::sqrt(others * ready * (1 - ready));
  const double most = std::max<double>(servers, processors);
  const double above = MeanAbove(processors, mean, deviation) - MeanAbove(most, mean, deviation);
  return 1 + above / processors;
}

struct Total {
  double cpu = 0;
  double gil = 0;
};

// How long an element occupies a server if the pipeline runs at `rate`, or as close to it as the
// section gets, next to the others of `total`.
double Residence(double rate, const Section& section, const Total& total, double processors) {
  // Rates are below their bounds, so something is always left.
  const double processors_left =
      std::max(processors - rate * (total.cpu - section.cpu), processors * kAccuracy);
  const double gil_left = std::max(1 - rate * (total.gil - section.gil), kAccuracy);
  const double others = static_cast<double>(section.servers - 1) / section.servers;
  const double serial_share = section.serial / Work(section);
  double residence = Work(section);
  double stretch = 1;
  double at_gil = section.gil;        // including the wait for it
  double at_serial = section.serial;  // likewise
  for (int round = 0; round < kMostRounds; ++round) {
    const double reached = std::min(rate, section.servers / residence);
    const double ready = std::min(reached * section.cpu * stretch / section.servers, 1.0);
    stretch = Stretch(section.servers, ready, processors_left);
    // The GIL circulates among its waiters every 5 ms: a waiter's delay depends on how many there
    // are, but not on the distribution of their times (processor sharing).
    const double gil = section.gil * stretch;
    at_gil = gil / gil_left * (1 + others * reached * at_gil);
    const double gil_wait = at_gil - gil;
    // A lock is held until its holder is done. All hold it for the same time, of which half has
    // passed on average.
    const double serial = serial_share * (section.cpu * stretch + section.blocked + gil_wait);
    at_serial = serial * (1 + others * reached * (at_serial - serial / 2));
    const double next = section.cpu * stretch + section.blocked + gil_wait + at_serial - serial;
    const double change = next - residence;
    residence += change / 2;  // damped, to avoid overshooting
    if (std::abs(change) <= kAccuracy * residence) break;
  }
  return residence;
}

// The minimum bound. Sections are compared last, so that a shared limit is named first.
Prediction Bounds(std::span<const Section> sections, const Total& total, double processors) {
  Prediction least{kInfinite, Bound::kProcessors, -1, {}};
  const auto bound = [&least](double amount, double demand, Bound kind, int section) {
    if (demand > 0 && amount / demand < least.rate) {
      least.rate = amount / demand;
      least.bound = kind;
      least.section = section;
    }
  };
  bound(processors, total.cpu, Bound::kProcessors, -1);
  bound(1, total.gil, Bound::kGil, -1);
  for (size_t i = 0; i < sections.size(); ++i) {
    bound(1, sections[i].serial, Bound::kSerial, static_cast<int>(i));
  }
  for (size_t i = 0; i < sections.size(); ++i) {
    bound(sections[i].servers, Work(sections[i]), Bound::kSection, static_cast<int>(i));
  }
  return least;
}

constexpr double kStarvedLittle = 0.01;  // of the consumer's time
constexpr double kRemembered = 4096;     // elements; above that, older ones count half

}  // namespace

Prediction Predict(std::span<const Section> sections, double processors) {
  Total total;
  for (const Section& section : sections) {
    total.cpu += section.cpu;
    total.gil += section.gil;
  }
  Prediction prediction = Bounds(sections, total, processors);
  prediction.utilisation.assign(sections.size(), 0);
  if (prediction.rate == kInfinite) return prediction;

  const auto reached = [&](double rate) {
    return std::all_of(sections.begin(), sections.end(), [&](const Section& section) {
      return Work(section) <= 0 ||
             rate * Residence(rate, section, total, processors) <= section.servers;
    });
  };
  double low = 0;
  double high = prediction.rate;
  for (int round = 0; round < kMostRounds && high - low > kAccuracy * high; ++round) {
    const double middle = (low + high) / 2;
    (reached(middle) ? low : high) = middle;
  }
  prediction.rate = high;
  for (size_t i = 0; i < sections.size(); ++i) {
    if (Work(sections[i]) <= 0) continue;
    const double busy = high * Residence(high, sections[i], total, processors);
    prediction.utilisation[i] = std::min(busy / sections[i].servers, 1.0);
  }
  return prediction;
}

double StarvedSeconds(const Varied& made, const Varied& used, double elements) {
  const double pace = std::max(made.mean, used.mean);
  if (!(pace > 0) || !(elements > 0)) return 0;
  // Per element, in units of the slower side's time.
  const double drift = std::abs(made.mean - used.mean) / pace;
  const double spread = (made.variance + used.variance) / (pace * pace);
  if (spread <= 0) return 0;
  const double height = 2 * drift * elements / spread;
  // drift / (exp(height) - 1), which is spread / (2 * elements) without drift.
  const double held = height < 1e-6 ? spread / (2 * elements) : drift / std::expm1(height);
  return held * pace;
}

int64_t BufferFor(const Varied& made, const Varied& used, int64_t most) {
  const double allowed = kStarvedLittle * std::max(made.mean, used.mean);
  int64_t size = 2;
  while (size < most && StarvedSeconds(made, used, static_cast<double>(size)) > allowed) size *= 2;
  return std::min(size, most);
}

void ElementTimes::Add(int64_t ns, int64_t elements) {
  const double t = static_cast<double>(ns) * 1e-9;
  const auto k = static_cast<double>(elements);
  const auto add = [](std::atomic<double>& sum, double more, double kept) {
    sum.store(sum.load(std::memory_order_relaxed) * kept + more, std::memory_order_relaxed);
  };
  const double kept = elements_.load(std::memory_order_relaxed) > kRemembered ? 0.5 : 1;
  add(elements_, k, kept);
  add(seconds_, t, kept);
  add(seconds_squared_, t * t, kept);
  add(seconds_by_size_, t * k, kept);
  add(sizes_squared_, k * k, kept);
}

// The elements of a group vary independently, so a group of k has k times the variance of one.
Varied ElementTimes::Get() const {
  const auto read = [](const auto& sum) { return sum.load(std::memory_order_relaxed); };
  const double count = read(elements_);
  if (!(count > 0)) return {};
  const double mean = read(seconds_) / count;
  const double squares = read(seconds_squared_) - 2 * mean * read(seconds_by_size_) +
                         mean * mean * read(sizes_squared_);
  return {mean, std::max(squares / count, 0.0)};
}

}  // namespace penstock
