// Finds sources that decode groups of rows, and maps positions to their rows.
#include "engine/lookahead.h"

#include <algorithm>
#include <utility>

#include "engine/session.h"

namespace penstock {

Lookahead::Lookahead(const Dataset& data, const RunContext& context)
    : data_(data), context_(context) {
  data.ForEachNode([this](const Dataset& node) {
    if (auto* source = dynamic_cast<const DecodedGroups*>(&node)) {
      sources_.push_back({&node, source->NewRows()});
    }
  });
}

void Lookahead::Begin() {
  constexpr int64_t kSamples = 64;
  const Budget& budget = context_.session->budget();
  const int64_t share = std::max((budget.limit() - budget.used()) / 2, budget.limit() / 8);
  const auto count = static_cast<int64_t>(sources_.size());
  for (Source& source : sources_) source.rows->SetLimit(share / count);
  Positions samples;
  const int64_t size = data_.cardinality();
  const int64_t step = std::max<int64_t>(size / kSamples, 1);
  for (int64_t at = 0; at < size && std::ssize(samples) < kSamples; at += step) {
    samples.push_back(at);
  }
  Collect(data_, samples);
  for (Source& source : sources_) {
    const Positions rows = std::exchange(source.wanted, {});
    source.per_position = static_cast<double>(rows.size()) / static_cast<double>(samples.size());
  }
}

int64_t Lookahead::window() {
  if (sources_.empty()) return 0;
  if (!std::exchange(begun_, true)) Begin();
  Charge();
  int64_t least = 0;
  for (const Source& source : sources_) {
    const int64_t rows = source.per_position > 0 ? source.rows->window() : 0;
    if (rows == 0) continue;
    const auto own =
        std::max<int64_t>(static_cast<int64_t>(static_cast<double>(rows) / source.per_position), 1);
    least = least == 0 ? own : std::min(least, own);
  }
  return least;
}

void Lookahead::Decode(const Positions& next) {
  Collect(data_, next);
  for (Source& source : sources_) {
    Positions wanted = std::exchange(source.wanted, {});
    if (source.rows->window() > 0) source.rows->LookAhead(std::move(wanted), context_);
  }
  Charge();
}

void Lookahead::Collect(const Dataset& stage, const Positions& positions) {
  if (positions.empty()) return;
  if (Source* source = Find(stage)) {
    source->wanted.insert(source->wanted.end(), positions.begin(), positions.end());
    return;
  }
  auto* access = dynamic_cast<const RandomAccess*>(&stage);
  if (!access) return;
  for (size_t i = 0; i < stage.inputs().size(); ++i) {
    Collect(stage.input(i), access->InputPositions(positions, i, context_));
  }
}

DecodedRows* Lookahead::RowsOf(const Dataset& source) {
  Source* found = Find(source);
  return found ? found->rows.get() : nullptr;
}

Lookahead::Source* Lookahead::Find(const Dataset& stage) {
  auto found = std::ranges::find(sources_, &stage, &Source::stage);
  return found == sources_.end() ? nullptr : &*found;
}

void Lookahead::Charge() {
  int64_t bytes = 0;
  for (const Source& source : sources_) bytes += source.rows->bytes();
  if (bytes == charge_.bytes()) return;
  charge_ = BudgetCharge(context_.session->budget(), bytes);
}

}  // namespace penstock
