// Operational analysis: the bounds of a pipeline, and approximate mean value analysis near them.
//
// Every element takes its seconds of each resource, whatever their order and distribution, so the
// rate X obeys (Denning and Buzen, The Operational Analysis of Queueing Network Models, 1978):
//
//   X * sum(cpu) <= processors      X * (cpu + blocked) <= servers    for each section
//   X * sum(gil) <= 1               X * serial <= 1                   likewise
//
// The smallest bound is met only by servers that never get into each other's way. How much they do
// follows from mean value analysis: the servers of a section go round, so they are a closed network
// of `servers` customers. One that arrives at a resource finds what the others leave there on
// average (Reiser and Lavenberg 1980, with the approximation of Bard and Schweitzer 1979: the
// others are a network with one customer less and the same shares). The other sections let elements
// through at the same rate X, and what they take of the processors and of the GIL is gone
// (Lazowska, Zahorjan, Graham and Sevcik, Quantitative System Performance, 1984, chapter 7: open
// classes in a mixed network lengthen the demands of closed ones). X is the largest rate that every
// section can reach beside the others.
#include "runtime/model.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace penstock {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kAccuracy = 1e-6;  // of a rate, far below what can be measured
constexpr int kMostRounds = 200;    // halving a step, or an interval: more than the accuracy needs

double Work(const Section& section) { return section.cpu + section.blocked; }

// The mean of max(0, Z - level), where Z is normal (Clark 1961).
double MeanAbove(double level, double mean, double deviation) {
  if (deviation <= 0) return std::max(mean - level, 0.0);
  const double z = (mean - level) / deviation;
  const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::acos(-1.0));
  const double below = std::erfc(-z / std::sqrt(2.0)) / 2;
  return (mean - level) * below + deviation * density;
}

// How much longer a thread computes than alone, when `servers` threads share the processors and
// each is running or ready for the share `ready` of its time: the mean of max(1, N / processors)
// over the number N that are, which is at least the thread itself and at most all.
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

// How long an element occupies a server when the pipeline runs at `rate`, or as near to it as the
// section comes, beside the others of `total`.
double Residence(double rate, const Section& section, const Total& total, double processors) {
  // Rates are below their bounds, so that something is always left.
  const double processors_left =
      std::max(processors - rate * (total.cpu - section.cpu), processors * kAccuracy);
  const double gil_left = std::max(1 - rate * (total.gil - section.gil), kAccuracy);
  const double others = static_cast<double>(section.servers - 1) / section.servers;
  const double serial_share = section.serial / Work(section);
  double residence = Work(section);
  double stretch = 1;
  double at_gil = section.gil;        // with the wait for it
  double at_serial = section.serial;  // likewise
  for (int round = 0; round < kMostRounds; ++round) {
    const double reached = std::min(rate, section.servers / residence);
    const double ready = std::min(reached * section.cpu * stretch / section.servers, 1.0);
    stretch = Stretch(section.servers, ready, processors_left);
    // The GIL goes round among those that want it, every 5 ms: a customer's wait depends on how
    // many there are, and not on how their times are distributed (processor sharing).
    const double gil = section.gil * stretch;
    at_gil = gil / gil_left * (1 + others * reached * at_gil);
    const double gil_wait = at_gil - gil;
    // A lock is kept until its holder is done, of whose time, equal for all, half is over on
    // average.
    const double serial = serial_share * (section.cpu * stretch + section.blocked + gil_wait);
    at_serial = serial * (1 + others * reached * (at_serial - serial / 2));
    const double next = section.cpu * stretch + section.blocked + gil_wait + at_serial - serial;
    const double change = next - residence;
    residence += change / 2;  // without overshooting
    if (std::abs(change) <= kAccuracy * residence) break;
  }
  return residence;
}

// The smallest bound; the section's is compared last, so that what all share is named first.
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

}  // namespace penstock
