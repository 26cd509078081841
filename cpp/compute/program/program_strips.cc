// Several steps go over an image strip by strip, while it is in the CPU's cache.
#include <algorithm>

#include "compute/program/program_rewrite.h"

namespace penstock {
namespace {

constexpr int64_t kStripBytes = 24 << 10;  // two of them fit into the smallest caches

// One operation of the chain: of its inputs, the one at `place` is the output of the one before.
struct Link {
  std::shared_ptr<const Op> op;
  size_t place;
  size_t others;  // inputs besides that one
};

// The inputs are those of the first operation, then the other ones of each link.
class StripChain final : public FillOp {
 public:
  StripChain(std::shared_ptr<const Op> first, size_t first_inputs, std::vector<Link> links)
      : first_(std::move(first)), first_inputs_(first_inputs), links_(std::move(links)) {}

  bool random() const override {
    return std::ranges::any_of(links_, [](const Link& link) { return link.op->random(); });
  }

  LeafSpec Output(const std::vector<Tensor>& inputs) const override { return Specs(inputs).back(); }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey key) const override {
    std::vector<LeafSpec> specs = Specs(inputs);
    std::vector<Tensor> source = OfFirst(inputs);
    std::unique_ptr<Strips> strips;
    if (Local(inputs, specs)) strips = first_->strips()->Begin(source);
    if (!strips) {
      RunWhole(inputs, source, specs, out, key);
      return;
    }
    const int64_t rows = out.shape()[0];
    int64_t row = 1;  // bytes
    for (const LeafSpec& spec : specs) row = std::max(row, SizeOfRow(spec));
    const int64_t height = std::clamp<int64_t>(kStripBytes / row, 1, std::max<int64_t>(rows, 1));
    std::vector<Tensor> made;  // a strip of each but the last
    for (size_t i = 0; i + 1 < specs.size(); ++i) made.push_back(Strip(specs[i], height));
    std::vector<std::vector<Tensor>> arguments;
    for (size_t i = 0; i < links_.size(); ++i) arguments.push_back(OfLink(inputs, i, made[i]));
    for (int64_t begin = 0; begin < rows; begin += height) {
      const int64_t count = std::min(height, rows - begin);
      strips->Next(count, made[0].mutable_data());
      for (size_t i = 0; i < links_.size(); ++i) {
        arguments[i][links_[i].place] = made[i].Rows(0, count);
        Tensor to = i + 1 < made.size() ? made[i + 1].Rows(0, count) : out.Rows(begin, count);
        links_[i].op->fill()->Run(arguments[i], to, key);
      }
    }
  }

 private:
  static Tensor Unmade(const LeafSpec& spec) { return Tensor::View(spec.dtype, spec.shape, {}, 0); }
  static int64_t SizeOfRow(const LeafSpec& spec) {
    int64_t size = spec.dtype.itemsize;
    for (int i = 1; i < spec.shape.rank(); ++i) size *= spec.shape[i];
    return size;
  }
  static Tensor Strip(const LeafSpec& spec, int64_t rows) {
    Shape shape = spec.shape;
    shape[0] = rows;
    return Tensor::Make(spec.dtype, shape);
  }

  std::vector<Tensor> OfFirst(const std::vector<Tensor>& inputs) const {
    return {inputs.begin(), inputs.begin() + static_cast<int64_t>(first_inputs_)};
  }
  // The inputs of a link, with `before` in its place.
  std::vector<Tensor> OfLink(const std::vector<Tensor>& inputs, size_t number,
                             Tensor before) const {
    size_t begin = first_inputs_;
    for (size_t i = 0; i < number; ++i) begin += links_[i].others;
    auto from = inputs.begin() + static_cast<int64_t>(begin);
    std::vector<Tensor> own(from, from + static_cast<int64_t>(links_[number].others));
    own.insert(own.begin() + static_cast<int64_t>(links_[number].place), std::move(before));
    return own;
  }

  // What each operation makes.
  std::vector<LeafSpec> Specs(const std::vector<Tensor>& inputs) const {
    std::vector<LeafSpec> specs{first_->fill()->Output(OfFirst(inputs))};
    for (size_t i = 0; i < links_.size(); ++i) {
      specs.push_back(links_[i].op->fill()->Output(OfLink(inputs, i, Unmade(specs.back()))));
    }
    return specs;
  }

  // Whether all inputs but those that are made strip by strip are the same for all rows.
  bool Local(const std::vector<Tensor>& inputs, const std::vector<LeafSpec>& specs) const {
    for (size_t i = 0; i < links_.size(); ++i) {
      const Link& link = links_[i];
      std::vector<Tensor> own = OfLink(inputs, i, Unmade(specs[i]));
      const Shape& shape = specs[i].shape;
      for (size_t j = 0; j < own.size(); ++j) {
        const Shape& other = own[j].shape();
        bool same = other.rank() < shape.rank() || (other.rank() == shape.rank() && other[0] == 1);
        if (j != link.place && !same) return false;
      }
    }
    return true;
  }

  void RunWhole(const std::vector<Tensor>& inputs, const std::vector<Tensor>& source,
                const std::vector<LeafSpec>& specs, Tensor& out, RandomKey key) const {
    Tensor made = Tensor::Make(specs[0].dtype, specs[0].shape);
    first_->fill()->Run(source, made, key);
    for (size_t i = 0; i < links_.size(); ++i) {
      Tensor next =
          i + 1 < links_.size() ? Tensor::Make(specs[i + 1].dtype, specs[i + 1].shape) : out;
      links_[i].op->fill()->Run(OfLink(inputs, i, std::move(made)), next, key);
      made = std::move(next);
    }
  }

  const std::shared_ptr<const Op> first_;
  const size_t first_inputs_;
  const std::vector<Link> links_;
};

// The only step that uses a value, and once; -1 when there is none such, or it is a result.
int OnlyUser(const std::vector<ProgramStep>& steps, int value, const std::vector<int>& results) {
  if (std::ranges::count(results, value)) return -1;
  int user = -1;
  for (size_t i = 0; i < steps.size(); ++i) {
    auto uses = std::ranges::count(steps[i].inputs, value);
    if (uses > 1 || (uses == 1 && user >= 0)) return -1;
    if (uses == 1) user = static_cast<int>(i);
  }
  return user;
}

}  // namespace

std::vector<ProgramStep> WithStrips(std::vector<ProgramStep> steps,
                                    const std::vector<int>& results) {
  for (size_t first = 0; first < steps.size();) {
    const size_t begin = first++;
    if (!steps[begin].op->strips()) continue;
    std::vector<Link> links;
    std::vector<size_t> members{begin};
    std::vector<int> inputs = steps[begin].inputs;
    bool drawn = false;
    for (;;) {
      const int value = steps[members.back()].output;
      const int user = OnlyUser(steps, value, results);
      if (user < 0) break;
      const ProgramStep& next = steps[static_cast<size_t>(user)];
      const auto place =
          static_cast<size_t>(std::ranges::find(next.inputs, value) - next.inputs.begin());
      if (!next.op->fill() || !next.op->row_local() || (drawn && next.op->random())) break;
      drawn = drawn || next.op->random();
      links.push_back({next.op, place, next.inputs.size() - 1});
      std::ranges::copy_if(next.inputs, std::back_inserter(inputs),
                           [&](int input) { return input != value; });
      members.push_back(static_cast<size_t>(user));
    }
    if (links.empty()) continue;
    ProgramStep& last = steps[members.back()];
    for (size_t member : members) {
      if (!steps[member].op->random()) continue;
      last.seed = steps[member].seed;
      last.draw = steps[member].draw;
    }
    size_t own = steps[begin].inputs.size();
    last.op = std::make_shared<StripChain>(steps[begin].op, own, std::move(links));
    last.inputs = std::move(inputs);
    members.pop_back();
    std::ranges::sort(members, std::greater<>());
    for (size_t member : members) steps.erase(steps.begin() + static_cast<int64_t>(member));
  }
  return steps;
}

}  // namespace penstock
