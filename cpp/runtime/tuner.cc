// The decisions of Tuner, one window at a time.
#include "runtime/tuner.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <utility>

namespace penstock {
namespace {

// Rates of windows vary by a few percent without any change; smaller differences mean nothing.
constexpr double kNeededGain = 0.03;
constexpr double kExpectedGain = 0.05;
constexpr double kWaitsLittle = 0.02;  // of the time: the consumer has nothing to gain
// Where times vary, servers that are always busy make the consumer wait now and then.
constexpr double kBusyEnough = 0.85;
constexpr double kWaitsMuch = 0.25;   // of the time: a gain would be worth a trial
constexpr double kUsefulShare = 0.1;  // per additional call: below it, the call would only wait
constexpr double kMuchLess = 0.6;     // of the widths: worth a trial with fewer
constexpr double kOtherWork = 1.5;    // factor of change in duration, in either direction
constexpr double kMostOtherWork = 4;  // where times vary without any change
constexpr int kChangedWindows = 3;    // consecutive
// Of the time that threads want to compute: this fraction waits for a CPU only if there are too few
// CPUs.
constexpr double kShort = 0.3;
constexpr double kFewestElements = 32;  // fewer have no meaningful rate
constexpr double kLongestWindow = 4;    // seconds
constexpr int kMostWindows = 6;         // per decision, if the rate varies much
constexpr double kMostVaried = 0.15;    // more is a change of the work
constexpr double kLearned = 0.2;        // weight of a new observation
constexpr int kIdleWindows = 6;
constexpr double kMemoryShort = 0.8;  // of it: stages that run ahead leave too little to others
constexpr int kMostGrowth = 4;        // factor per move: not all limits are in the model
constexpr double kFirstPause = 1.5;   // seconds: little was known at the trial
constexpr double kUsualPause = 300;   // a failed trial costs about one second
constexpr double kLongestPause = 2400;

std::string Text(const char* format, double a, double b = 0) {
  char text[160];
  std::snprintf(text, sizeof text, format, a, b);
  return text;
}

int Sum(const std::vector<int>& widths) { return std::accumulate(widths.begin(), widths.end(), 0); }

// The pause after another failure.
double Longer(double pause) {
  return pause < kFirstPause ? kFirstPause : std::clamp(pause * 2, kUsualPause, kLongestPause);
}

bool Differ(double a, double b, double floor, double times) {
  return std::max(a, floor) > times * std::max(b, floor) ||
         std::max(b, floor) > times * std::max(a, floor);
}

}  // namespace

Tuner::Tuner() : other_work_(kOtherWork) {}

std::vector<int> Tuner::Decide(const PipelineWindow& window) {
  Widths widths;
  for (const StageWindow& stage : window.stages) widths.push_back(stage.width);
  if (!(window.seconds > 0) || widths.empty()) return widths;
  time_ += window.seconds;
  if (settling_ > 0) {
    --settling_;
    return widths;
  }
  if (!Accumulate(window)) return widths;
  const Measured measured = Measure();
  Widths next = widths;
  if (measured.rate > 0) {
    if (gathered_windows_ == 1) LearnNoise(measured.rate);
    if (trial_ != Trial::kNone) {
      next = Judge(measured, widths);
    } else {
      if (WorkChanged(measured)) {
        limit_ = 0;
        too_few_.clear();
        improve_after_ = reduce_after_ = reduce_pause_ = 0;
        changed_ = true;
        reduced_ = false;
      }
      next = measured.waiting > kWaitsLittle ? Improve(measured, widths) : Reduce(measured, widths);
    }
  }
  if (std::exchange(gather_more_, false)) return next;
  gathered_ = {};
  gathered_windows_ = 0;
  if (next != widths) rate_seen_ = 0;
  return next;
}

// Whether there is enough data for a decision.
bool Tuner::Accumulate(const PipelineWindow& window) {
  if (++gathered_windows_ == 1) {
    gathered_ = window;
  } else {
    gathered_.seconds += window.seconds;
    gathered_.elsewhere += window.elsewhere;
    gathered_.ready += window.ready;
    gathered_.processors = window.processors;
    gathered_.budget = window.budget;
    gathered_.memory = window.memory;
    gathered_.memory_used = std::min(gathered_.memory_used, window.memory_used);
    for (size_t s = 0; s < window.stages.size(); ++s) {
      StageWindow& sum = gathered_.stages[s];
      const StageWindow& more = window.stages[s];
      sum.delivered += more.delivered;
      sum.called += more.called;
      sum.cpu += more.cpu;
      sum.pulled += more.pulled;
      sum.waited += more.waited;
      sum.bytes += more.bytes;
    }
  }
  if (gathered_.seconds >= kLongestWindow) return true;
  return gathered_.stages.back().delivered >= kFewestElements;
}

// The relative uncertainty of the rate: the deviation of the mean of the windows.
double Tuner::Deviation() const { return std::sqrt(variance_ / gathered_windows_); }

// Whether it is below the gain to detect. Obvious changes need no more data.
bool Tuner::Enough() const {
  return Deviation() <= kNeededGain || gathered_windows_ >= kMostWindows;
}

// Two windows with the same widths differ by twice the variance of one.
void Tuner::LearnNoise(double rate) {
  if (const double before = std::exchange(rate_seen_, rate); before > 0) {
    const double change = std::min(std::abs(rate / before - 1), kMostVaried);
    variance_ += kLearned * (change * change / 2 * gathered_windows_ - variance_);
  }
}

Tuner::Measured Tuner::Measure() const {
  const std::vector<StageWindow>& stages = gathered_.stages;
  const double seconds = gathered_.seconds;
  const double elements = stages.back().delivered;
  Measured measured;
  measured.rate = elements / seconds;
  measured.waiting = std::min(WaitFor(-1) / seconds, 1.0);
  if (elements <= 0) return measured;
  double cpu = 0;
  for (const StageWindow& stage : stages) cpu += stage.cpu;
  const double computing = cpu + gathered_.elsewhere;
  for (size_t s = 0; s < stages.size(); ++s) {
    Section section;
    section.servers = stages[s].width;
    const double own = std::min(stages[s].cpu, stages[s].called);
    // Threads wait for a CPU in proportion to the time they compute.
    const double ready = computing > 0 ? gathered_.ready * own / computing : 0;
    section.cpu = own / elements;
    measured.ready.push_back(std::min(ready, stages[s].called - own) / elements);
    section.serial = std::max(stages[s].pulled - WaitFor(static_cast<int>(s)), 0.0) / elements;
    section.blocked =
        stages[s].called / elements - section.cpu - measured.ready[s] + section.serial;
    measured.sections.push_back(section);
  }
  // Other computation of the process is attributed to the consumer, up to the time it had.
  const double step = seconds * (1 - measured.waiting);
  const double computed = std::min(gathered_.elsewhere, step);
  measured.sections.push_back({1, computed / elements, 0, (step - computed) / elements, 0});
  double processors = gathered_.processors;
  // Other programs have the remaining CPUs, as long as these threads wait so much. (Threads that
  // hardly compute also wait, at each wake-up.)
  const double runnable = computing + gathered_.ready;
  if (gathered_.ready > kShort * runnable && runnable > kBusyEnough * processors * seconds) {
    processors = std::min(processors, computing / seconds);
  }
  measured.processors =
      std::max(processors - (gathered_.elsewhere - computed) / seconds, cpu / seconds);
  return measured;
}

// Seconds that the stage `consumer` waited for its inputs.
double Tuner::WaitFor(int consumer) const {
  double waited = 0;
  for (const StageWindow& stage : gathered_.stages) {
    if (stage.consumer == consumer) waited += stage.waited;
  }
  return waited;
}

double Tuner::Rate(const Measured& measured, const Widths& widths) const {
  std::vector<Section> sections = measured.sections;
  for (size_t s = 0; s < widths.size(); ++s) sections[s].servers = widths[s];
  const double rate = Predict(sections, measured.processors).rate;
  return limit_ > 0 ? std::min(rate, std::max(limit_, measured.rate)) : rate;
}

// The smallest widths with nearly the maximum rate: the busiest stage gets more calls until it is
// sometimes idle, or more calls would only wait for CPUs or each other.
Tuner::Widths Tuner::Plan(const Measured& measured) const {
  std::vector<Section> sections = measured.sections;
  const std::vector<StageWindow>& stages = gathered_.stages;
  Widths widths;
  for (size_t s = 0; s < stages.size(); ++s) {
    sections[s].servers = stages[s].least;
    widths.push_back(stages[s].least);
  }
  std::vector<bool> done(stages.size());
  Prediction predicted = Predict(sections, measured.processors);
  for (;;) {
    size_t busiest = stages.size();
    for (size_t s = 0; s < stages.size(); ++s) {
      if (done[s] || widths[s] >= stages[s].most) continue;
      if (busiest == stages.size() || predicted.utilisation[s] > predicted.utilisation[busiest]) {
        busiest = s;
      }
    }
    if (busiest == stages.size() || predicted.utilisation[busiest] <= kBusyEnough) return widths;
    int more = std::min(std::max(widths[busiest] / 8, 1), stages[busiest].most - widths[busiest]);
    if (gathered_.budget > 0) more = std::min(more, gathered_.budget - Sum(widths));
    if (MemoryIsShort()) more = std::min(more, Affordable(widths, busiest));
    if (more <= 0) return widths;
    sections[busiest].servers += more;
    Prediction next = Predict(sections, measured.processors);
    const double could_before = predicted.rate / predicted.utilisation[busiest];
    const double could = next.rate / next.utilisation[busiest];
    if (could < could_before * (1 + kUsefulShare * more / widths[busiest])) {
      sections[busiest].servers -= more;
      done[busiest] = true;
    } else {
      widths[busiest] += more;
      predicted = std::move(next);
    }
  }
}

bool Tuner::MemoryIsShort() const {
  return gathered_.memory > 0 && gathered_.memory_used > kMemoryShort * gathered_.memory;
}

// How many more calls of the stage `busiest` the memory allows. A stage holds the elements in its
// calls. The other stages may also hold as many finished elements, which their consumers have not
// requested.
int Tuner::Affordable(const Widths& widths, size_t busiest) const {
  double left = gathered_.memory;
  double each = 0;
  for (size_t s = 0; s < widths.size(); ++s) {
    const StageWindow& stage = gathered_.stages[s];
    const double bytes = stage.delivered > 0 ? stage.bytes / stage.delivered : 0;
    left -= bytes * (s == busiest ? widths[s] : std::max(2 * widths[s], 4));
    if (s == busiest) each = bytes;
  }
  constexpr double kMost = 1 << 20;
  return each > 0 ? static_cast<int>(std::clamp(left / each, 0.0, kMost)) : 1 << 20;
}

Tuner::Widths Tuner::Judge(const Measured& measured, const Widths& widths) {
  const double gain = measured.rate / rate_before_ - 1;
  if (!Enough() && std::abs(gain) < kNeededGain + 2 * Deviation()) {
    gather_more_ = true;
    return widths;
  }
  const Trial trial = std::exchange(trial_, Trial::kNone);
  if (trial == Trial::kMore) {
    const double expected = expected_ / rate_before_ - 1;
    const bool useful = measured.waiting <= kWaitsLittle || gain >= kNeededGain;
    if (useful && (measured.waiting <= kWaitsLittle || gain >= expected / 4)) {
      improve_pause_ = 0;
      other_work_ = kOtherWork;
      changed_ = false;
      too_few_ = before_;
      explore_after_ = 0;
      if (std::exchange(reduced_, false)) {  // the earlier reduction went too far
        reduce_pause_ = std::max(Longer(reduce_pause_), kUsualPause);
        reduce_after_ = time_ + reduce_pause_;
      }
      return measured.waiting > kWaitsLittle ? Improve(measured, widths) : widths;
    }
    limit_ = std::max(measured.rate, rate_before_) * (1 + kNeededGain);
    improve_pause_ = Longer(improve_pause_);
    improve_after_ = time_ + improve_pause_;
    ChangedForNothing();
    if (useful) return Trim(measured, widths, gain);
    return Move(widths, before_,
                Text("reverted: it gave %.1f %% more output where the model expected %.1f %%",
                     gain * 100, (expected_ / rate_before_ - 1) * 100));
  }
  if (measured.waiting <= kWaitsLittle || gain > -kNeededGain / 2) {
    reduced_ = true;
    return widths;
  }
  reduce_pause_ = Longer(reduce_pause_);
  reduce_after_ = time_ + reduce_pause_;
  return Move(widths, before_, Text("reverted: the output was %.1f %% less", -gain * 100));
}

// A limit that the model cannot see allowed only part of the gain: use as many calls as that needs.
Tuner::Widths Tuner::Trim(const Measured& measured, const Widths& widths, double gain) {
  Widths wanted = widths;
  for (size_t s = 0; s < widths.size(); ++s) {
    if (before_[s] >= widths[s]) continue;
    const double needed = before_[s] * (1 + gain) / kBusyEnough;
    wanted[s] = std::min(widths[s], static_cast<int>(std::ceil(needed)));
  }
  if (wanted == widths) return widths;
  trial_ = Trial::kLess;
  before_ = widths;
  rate_before_ = measured.rate;
  return Move(widths, wanted, Text("more brought only %.1f %%, which fewer reach", gain * 100));
}

Tuner::Widths Tuner::Improve(const Measured& measured, const Widths& widths) {
  idle_windows_ = 0;
  if (limit_ > 0 && time_ < improve_after_) return widths;
  limit_ = 0;
  Measured fitted = measured;
  // Attribute waiting that the model does not explain to the slowest stage: its elements wait for
  // each other's order.
  const double explained = Rate(measured, widths);
  if (!MemoryIsShort() && explained > measured.rate * (1 + kExpectedGain)) {
    const size_t slow = Slowest(-1);
    Section& section = fitted.sections[slow];
    const double rest = widths[slow] / measured.rate - section.cpu - measured.ready[slow];
    section.blocked = std::max(rest, section.blocked);
  }
  Widths wanted = Plan(fitted);
  for (size_t s = 0; s < widths.size(); ++s) {
    wanted[s] = std::min(wanted[s], kMostGrowth * widths[s]);
    if (gathered_.budget == 0 && !MemoryIsShort()) wanted[s] = std::max(wanted[s], widths[s]);
  }
  const double expected = Rate(fitted, wanted);
  if (wanted == widths || expected < measured.rate * (1 + kExpectedGain + 2 * Deviation())) {
    gather_more_ = !Enough();
    return gather_more_ ? widths : Explore(measured, widths);
  }
  trial_ = Trial::kMore;
  before_ = widths;
  rate_before_ = measured.rate;
  expected_ = expected;
  known_ = measured;
  return Move(widths, wanted,
              Text("the consumer waits %.1f %%, and the model expects %.1f %% more output",
                   measured.waiting * 100, (expected / measured.rate - 1) * 100));
}

// Doubles the calls of the slowest stage. If it is at its maximum, increases those of the busiest
// other stage several times: its gain comes from waiting for each other less often, which shows
// only with many calls.
Tuner::Widths Tuner::Explore(const Measured& measured, const Widths& widths) {
  if (time_ < explore_after_ || measured.waiting < kWaitsMuch || MemoryIsShort()) return widths;
  explore_after_ = time_ + kLongestPause;
  size_t stage = Slowest(-1);
  const bool full = widths[stage] >= gathered_.stages[stage].most;
  if (full) stage = BusiestWithRoom(widths).value_or(stage);
  int most = std::min((full ? kMostGrowth : 2) * widths[stage], gathered_.stages[stage].most);
  if (gathered_.budget > 0) most = std::min(most, widths[stage] + gathered_.budget - Sum(widths));
  if (most <= widths[stage]) return widths;
  Widths wanted = widths;
  wanted[stage] = most;
  trial_ = Trial::kMore;
  before_ = widths;
  rate_before_ = expected_ = measured.rate;
  known_ = measured;
  return Move(widths, wanted,
              Text("the consumer waits %.1f %%: tried, though the model expects no more output",
                   measured.waiting * 100));
}

Tuner::Widths Tuner::Reduce(const Measured& measured, const Widths& widths) {
  Widths wanted = Plan(measured);
  for (size_t s = 0; s < widths.size(); ++s) {
    if (!too_few_.empty() && too_few_[s] < widths[s])
      wanted[s] = std::max(wanted[s], too_few_[s] + 1);
    wanted[s] = std::min(wanted[s], widths[s]);
  }
  if (Sum(wanted) > kMuchLess * Sum(widths) || time_ < reduce_after_) {
    idle_windows_ = 0;
    return widths;
  }
  if (++idle_windows_ < kIdleWindows) return widths;
  idle_windows_ = 0;
  trial_ = Trial::kLess;
  before_ = widths;
  rate_before_ = measured.rate;
  known_ = measured;
  return Move(widths, wanted,
              "the consumer does not wait, and the model expects that fewer suffice");
}

// The stage that `consumer` waits for; follows the waits upstream.
size_t Tuner::Slowest(int consumer) const {
  const std::vector<StageWindow>& stages = gathered_.stages;
  size_t slowest = stages.size();
  for (size_t s = 0; s < stages.size(); ++s) {
    if (stages[s].consumer != consumer) continue;
    if (slowest == stages.size() || stages[s].waited > stages[slowest].waited) slowest = s;
  }
  const auto mostly = [&](size_t s) { return WaitFor(static_cast<int>(s)) > stages[s].waited / 2; };
  return mostly(slowest) ? Slowest(static_cast<int>(slowest)) : slowest;
}

// The stage with the busiest calls among those that may have more.
std::optional<size_t> Tuner::BusiestWithRoom(const Widths& widths) const {
  std::optional<size_t> busiest;
  double most = 0;
  for (size_t s = 0; s < widths.size(); ++s) {
    const double busy = gathered_.stages[s].called / widths[s];
    if (widths[s] >= gathered_.stages[s].most || (busiest && busy <= most)) continue;
    busiest = s;
    most = busy;
  }
  return busiest;
}

// The work seemed to have changed, but a trial brought nothing: require a larger change next time.
void Tuner::ChangedForNothing() {
  if (std::exchange(changed_, false))
    other_work_ = std::min(other_work_ * kOtherWork, kMostOtherWork);
}

// Whether measurements differ from the start of the last trial by a factor of `other_work_`, in
// either direction.
bool Tuner::WorkChanged(const Measured& measured) {
  if (known_.sections.size() != measured.sections.size()) return false;
  bool other = false;
  for (size_t s = 0; s < measured.sections.size(); ++s) {
    const Section& now = measured.sections[s];
    const Section& then = known_.sections[s];
    // Ignore shorter times.
    const double floor = std::max(0.05 / measured.rate, 0.1 * (then.cpu + then.blocked));
    other = other || Differ(now.cpu, then.cpu, floor, other_work_) ||
            (now.servers == then.servers &&
             Differ(now.blocked - now.serial, then.blocked - then.serial, floor, other_work_));
  }
  changed_windows_ = other ? changed_windows_ + 1 : 0;
  if (changed_windows_ < kChangedWindows) return false;
  changed_windows_ = 0;
  known_ = measured;
  return true;
}

Tuner::Widths Tuner::Move(const Widths& from, const Widths& to, const std::string& reason) {
  double longest = 0;
  const double elements = std::max(gathered_.stages.back().delivered, 1.0);
  for (size_t s = 0; s < from.size(); ++s) {
    longest = std::max(longest, gathered_.stages[s].called / elements);
    if (from[s] == to[s]) continue;
    log_.push_back({time_, s, from[s], to[s], reason});
  }
  // Calls that started before the move are not judged.
  settling_ = static_cast<int>(std::clamp(std::ceil(longest * 4), 0.0, 8.0));
  if (longest < 0.05) settling_ = 0;
  return to;
}

}  // namespace penstock
