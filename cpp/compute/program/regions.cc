// Images made by regions, through several operations.
#include "compute/program/regions.h"

#include <algorithm>

#include "compute/real_types.h"

namespace penstock {

namespace {

// Represents an image that is not made: its dtype and shape.
Tensor ShapeAlone(const LeafSpec& spec) { return Tensor::View(spec.dtype, spec.shape, {}, 0); }

int64_t BytesOfRow(const LeafSpec& spec) {
  return std::max<int64_t>(spec.shape.WithoutFirst().elements() * spec.dtype.itemsize, 1);
}

// Two operations as one. The inputs are those of the first, which makes an image, then those of the
// second, except number `image_input`, which is the image.
struct Pair {
  std::shared_ptr<const Op> image, op;
  size_t opening;  // the number of inputs of the first
  size_t image_input;

  bool random() const { return image->random() || op->random(); }
  Unmade Open(const std::vector<Tensor>& inputs, RandomKey key) const {
    return image->regions()->Open({inputs.begin(), AfterOpening(inputs)}, key);
  }
  // The inputs of the second, with a placeholder for the image.
  std::vector<Tensor> Own(const std::vector<Tensor>& inputs, const LeafSpec& spec) const {
    std::vector<Tensor> own(AfterOpening(inputs), inputs.end());
    own.insert(own.begin() + static_cast<int64_t>(image_input), ShapeAlone(spec));
    return own;
  }
  // Runs the second on the whole image.
  std::function<void(Tensor&)> All(Unmade whole, std::vector<Tensor> own, RandomKey key) const {
    return [this, key, whole = std::move(whole), own = std::move(own)](Tensor& out) mutable {
      own[image_input] = Tensor::Make(whole.spec.dtype, whole.spec.shape);
      whole.Make(own[image_input]);
      op->fill()->Run(own, out, key);
    };
  }

 private:
  std::vector<Tensor>::const_iterator AfterOpening(const std::vector<Tensor>& inputs) const {
    return inputs.begin() + static_cast<int64_t>(opening);
  }
};

// An operation on the shape of an image, which is not made.
class OnShape final : public Op {
 public:
  explicit OnShape(Pair pair) : pair_(std::move(pair)) {}
  std::vector<Tensor> Call(const std::vector<Tensor>& inputs, RandomKey key) const override {
    return pair_.op->Call(pair_.Own(inputs, pair_.Open(inputs, {}).spec), key);
  }
  size_t outputs() const override { return pair_.op->outputs(); }
  bool random() const override { return pair_.op->random(); }

 private:
  const Pair pair_;
};

// A crop, which makes only the requested region of the image.
class Cropped final : public RegionOp {
 public:
  explicit Cropped(Pair pair) : pair_(std::move(pair)) {}
  bool random() const override { return pair_.random(); }
  bool reduces() const override { return pair_.image->regions()->reduces(); }

  Unmade Open(const std::vector<Tensor>& inputs, RandomKey key) const override {
    const CropOp& crop = *pair_.op->crop();
    Unmade image = pair_.Open(inputs, key);
    std::vector<Tensor> own = pair_.Own(inputs, image.spec);
    Unmade made{crop.Output(own)};
    const auto region = image.begin ? crop.RegionOf(own, key) : std::nullopt;
    if (!region) {
      made.all = pair_.All(std::move(image), std::move(own), key);
      return made;
    }
    made.widest = image.widest;
    made.begin = [begin = std::move(image.begin), at = *region](const Region& wanted) {
      return begin(Within(at, wanted));
    };
    if (image.reduce) {
      made.reduce = [reduce = std::move(image.reduce), at = *region](const Region& wanted,
                                                                     int64_t ratio) {
        return reduce(Within(at, wanted), ratio);
      };
    }
    return made;
  }

 private:
  const Pair pair_;
};

// Runs an operation that processes rows independently, strip by strip.
class MappedRows final : public Rows {
 public:
  MappedRows(std::unique_ptr<Rows> rows, LeafSpec spec, const FillOp& op, size_t image_input,
             const std::vector<Tensor>& own, RandomKey key)
      : rows_(std::move(rows)),
        spec_(spec),
        op_(op),
        image_input_(image_input),
        own_(own),
        key_(key) {}

  void Next(Tensor& out) override {
    const int64_t count = out.shape()[0];
    if (!strip_.buffer()) {  // later strips are not higher
      spec_.shape[0] = count;
      strip_ = Tensor::Make(spec_.dtype, spec_.shape);
    }
    own_[image_input_] = strip_.Rows(0, count);
    rows_->Next(own_[image_input_]);
    op_.Run(own_, out, key_);
  }

 private:
  const std::unique_ptr<Rows> rows_;
  LeafSpec spec_;
  const FillOp& op_;
  const size_t image_input_;
  std::vector<Tensor> own_;
  const RandomKey key_;
  Tensor strip_;
};

// An operation that processes rows independently. It needs whole rows, so crops are not pushed into
// it.
class Mapped final : public RegionOp {
 public:
  explicit Mapped(Pair pair) : pair_(std::move(pair)) {}
  bool random() const override { return pair_.random(); }
  bool reduces() const override {
    return pair_.image->regions()->reduces() && pair_.image_input == 0 && pair_.op->keeps_means();
  }

  Unmade Open(const std::vector<Tensor>& inputs, RandomKey key) const override {
    const FillOp& op = *pair_.op->fill();
    Unmade image = pair_.Open(inputs, key);
    std::vector<Tensor> own = pair_.Own(inputs, image.spec);
    Unmade made{op.Output(own)};
    if (!image.begin || !IsLocal(own)) {
      made.all = pair_.All(std::move(image), std::move(own), key);
      return made;
    }
    made.widest = std::max({image.widest, BytesOfRow(image.spec), BytesOfRow(made.spec)});
    if (image.reduce && reduces() && IsOfPixels(own, made.spec)) {
      made.reduce = [this, key, own, reduce = image.reduce](const Region& wanted, int64_t ratio) {
        return Mean(reduce(wanted, ratio), own, key);
      };
    }
    made.begin = [this, &op, key, image = std::move(image),
                  own = std::move(own)](const Region& wanted) {
      return std::make_unique<MappedRows>(image.begin(wanted), image.spec, op, pair_.image_input,
                                          own, key);
    };
    return made;
  }

 private:
  // Whether all inputs but the image are the same for all rows.
  bool IsLocal(const std::vector<Tensor>& own) const {
    const int rank = own[pair_.image_input].shape().rank();
    for (size_t i = 0; i < own.size(); ++i) {
      const Shape& shape = own[i].shape();
      const bool same = shape.rank() < rank || (shape.rank() == rank && shape[0] == 1);
      if (i != pair_.image_input && !same) return false;
    }
    return true;
  }

  // Whether the output is an image of floats of the same size, and the other inputs are the same
  // for all pixels.
  bool IsOfPixels(const std::vector<Tensor>& own, const LeafSpec& made) const {
    const Shape& image = own[pair_.image_input].shape();
    for (size_t i = 0; i < own.size(); ++i) {
      if (i != pair_.image_input && own[i].shape().rank() > 1) return false;
    }
    return IsFloating(made.dtype.code) && made.shape.rank() == 3 && image.rank() == 3 &&
           made.shape[0] == image[0] && made.shape[1] == image[1];
  }

  Reduced Mean(Reduced part, const std::vector<Tensor>& own, RandomKey key) const {
    const FillOp& op = *pair_.op->fill();
    std::vector<Tensor> inputs = own;
    inputs[pair_.image_input] = ShapeAlone(part.spec);
    LeafSpec spec = op.Output(inputs);
    auto rows = std::make_unique<MappedRows>(std::move(part.rows), part.spec, op, pair_.image_input,
                                             own, key);
    return {std::move(spec), std::move(rows), part.box};
  }

  const Pair pair_;
};

// The largest reduction of an image that leaves it at least as large as `to` on both sides.
int64_t RatioFor(const Shape& from, const Shape& to) {
  int64_t ratio = 8;
  while (ratio > 1 && (to[0] * ratio > from[0] || to[1] * ratio > from[1])) ratio /= 2;
  return ratio;
}

// A resize of an image, which is made at no higher resolution than the resize needs.
class Resized final : public RegionOp {
 public:
  explicit Resized(Pair pair) : pair_(std::move(pair)) {}
  bool random() const override { return pair_.random(); }

  Unmade Open(const std::vector<Tensor>& inputs, RandomKey key) const override {
    const ResizeOp& resize = *pair_.op->resize();
    Unmade image = pair_.Open(inputs, key);
    std::vector<Tensor> own = pair_.Own(inputs, image.spec);
    Unmade made{resize.Output(own)};
    if (image.spec.shape.rank() != 3) {
      made.all = pair_.All(std::move(image), std::move(own), key);
      return made;
    }
    // The closure owns `pixels`, which must outlive the rows made from them.
    made.begin = [&resize, image = std::move(image), shape = made.spec.shape,
                  pixels = Tensor()](const Region& wanted) mutable {
      const Box box = MakePixels(image, RatioFor(image.spec.shape, shape), pixels);
      return resize.FromBox(pixels, box, shape, wanted);
    };
    return made;
  }

 private:
  // Makes the image, or a version of lower resolution, and returns the image's position in it.
  static Box MakePixels(const Unmade& image, int64_t ratio, Tensor& pixels) {
    const Shape& shape = image.spec.shape;
    if (ratio == 1 || !image.reduce) {
      pixels = Tensor::Make(image.spec.dtype, shape);
      image.Make(pixels);
      return {0, 0, static_cast<double>(shape[0]), static_cast<double>(shape[1])};
    }
    Reduced part = image.reduce({0, 0, shape[0], shape[1]}, ratio);
    pixels = Tensor::Make(part.spec.dtype, part.spec.shape);
    part.rows->Next(pixels);
    return part.box;
  }

  const Pair pair_;
};

// Describes how a step uses the image that another one makes.
Pair PairOf(const ProgramStep& image, const ProgramStep& step) {
  const auto used = std::ranges::find(step.inputs, image.output);
  return {image.op, step.op, image.inputs.size(), static_cast<size_t>(used - step.inputs.begin())};
}

// Turns a step and the one that makes its image into one operation.
void Fuse(const ProgramStep& image, ProgramStep& step, std::shared_ptr<const Op> op) {
  std::vector<int> inputs = image.inputs;
  std::ranges::copy_if(step.inputs, std::back_inserter(inputs),
                       [&](int input) { return input != image.output; });
  step.inputs = std::move(inputs);
  step.op = std::move(op);
  if (!image.op->random()) return;
  step.seed = image.seed;
  step.draw = image.draw;
}

std::shared_ptr<const Op> Joined(const ProgramStep& image, const ProgramStep& step, bool reduce) {
  if (image.op->random() && step.op->random()) return nullptr;  // a step has one key
  Pair pair = PairOf(image, step);
  const bool whole_rows = dynamic_cast<const Mapped*>(image.op.get()) != nullptr;
  if (step.op->crop() && pair.image_input == 0 && !whole_rows)
    return std::make_shared<Cropped>(pair);
  if (const ResizeOp* resize = step.op->resize(); resize && reduce && pair.image_input == 0) {
    const bool lower = image.op->regions()->reduces() && resize->interpolates();
    return lower ? std::make_shared<Resized>(pair) : nullptr;
  }
  if (step.op->fill() && step.op->row_local()) return std::make_shared<Mapped>(pair);
  return nullptr;
}

// Fuses step `at` with the only step that uses its output; steps that read only the output's shape
// are rewritten too. False if other steps need the output.
bool JoinAt(size_t at, std::vector<ProgramStep>& steps, const std::vector<int>& results,
            bool reduce) {
  const ProgramStep image = steps[at];
  if (!image.op->regions() || std::ranges::count(results, image.output)) return false;
  ProgramStep* user = nullptr;
  std::vector<ProgramStep*> readers;
  for (ProgramStep& step : steps) {
    const auto uses = std::ranges::count(step.inputs, image.output);
    if (uses == 1 && step.inputs[0] == image.output && step.op->reads_shapes()) {
      readers.push_back(&step);
    } else if (uses > 1 || (uses == 1 && user)) {
      return false;
    } else if (uses == 1) {
      user = &step;
    }
  }
  if (!user || (!readers.empty() && image.op->random())) return false;
  std::shared_ptr<const Op> joined = Joined(image, *user, reduce);
  if (!joined) return false;
  Fuse(image, *user, std::move(joined));
  for (ProgramStep* reader : readers) {
    Fuse(image, *reader, std::make_shared<OnShape>(PairOf(image, *reader)));
  }
  steps.erase(steps.begin() + static_cast<int64_t>(at));
  return true;
}

}  // namespace

std::vector<ProgramStep> WithRegions(std::vector<ProgramStep> steps,
                                     const std::vector<int>& results, bool reduce) {
  for (size_t at = 0; at < steps.size();) at += JoinAt(at, steps, results, reduce) ? 0 : 1;
  return steps;
}

}  // namespace penstock
