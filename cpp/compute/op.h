// A native operation: tensors in, tensors out, without a foreign runtime.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "compute/args.h"
#include "data/column.h"
#include "data/element.h"
#include "data/random.h"
#include "data/spec.h"

namespace penstock {

class FillOp;
class CropOp;
class RegionOp;
class ResizeOp;

// Apart from Call, the methods describe how the operation may be used. Const, because many threads
// call one object concurrently.
class Op {
 public:
  virtual ~Op() = default;
  // Checks ranks, dtypes and sizes; throws an Error that names the argument. Called without the
  // lock of a foreign runtime. `key` is only meaningful for a random operation.
  virtual std::vector<Tensor> Call(const std::vector<Tensor>& inputs, RandomKey key) const = 0;
  // How many tensors Call returns.
  virtual size_t outputs() const { return 1; }
  // Whether it draws random numbers: each call then receives a new key.
  virtual bool random() const { return false; }
  // Whether it may wait, for example for a file.
  virtual bool waits() const { return false; }
  // Whether its first input is a file name, which errors of later operations then include.
  virtual bool reads_file() const { return false; }
  // Whether the op can be called on rows: with inputs that have one additional leading axis, it
  // returns for each row, bit by bit, its result for that row alone. Inputs that are the same for
  // all rows come without that axis. Inputs that have fewer axes than others get axes of size 1
  // after it, so that an op which broadcasts can be called on rows too. Never true for a random op.
  virtual bool by_rows(const std::vector<Tensor>& /*inputs*/) const { return false; }
  // For rows whose results differ in size: a column of all results, bit by bit as Call returns them
  // for each row alone. Nullopt if these inputs are not supported. Never for a random operation,
  // nor for one with several outputs.
  virtual std::optional<Column> CallRagged(const std::vector<Column>& /*inputs*/,
                                           int64_t /*rows*/) const {
    return std::nullopt;
  }
  // Whether it reads only the dtype and shape of its first input, and no values.
  virtual bool reads_shapes() const { return false; }
  // Whether row i of its output, along the first axis, depends only on row i of its inputs, or on
  // inputs that are the same for all rows (with fewer axes, or one row). For an image: (height,
  // width, channels).
  virtual bool row_local() const { return false; }
  // Whether the mean of its output equals, except for rounding, its output for the mean of its
  // first input, if the output is of floats and the other inputs are the same for all. It may then
  // be called on an image of lower resolution.
  virtual bool keeps_means() const { return false; }
  // The operation as one of the special forms below, or null.
  virtual const FillOp* fill() const { return nullptr; }
  virtual const CropOp* crop() const { return nullptr; }
  virtual const RegionOp* regions() const { return nullptr; }
  virtual const ResizeOp* resize() const { return nullptr; }
};

// Declares its one output, then fills it: the output may be a row of a batch.
class FillOp : public Op {
 public:
  // Allocates an output of that dtype and shape.
  using Placing = std::function<Tensor(const LeafSpec& spec)>;

  // The dtype and shape of the output. May read the data (the size of a JPEG is in its header).
  virtual LeafSpec Output(const std::vector<Tensor>& inputs) const = 0;
  // Fills `out`, which has the declared dtype and shape.
  virtual void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey key) const = 0;
  // Does both in one call.
  virtual Tensor Fill(const std::vector<Tensor>& inputs, RandomKey key,
                      const Placing& placing) const {
    const LeafSpec spec = Output(inputs);
    if (spec.dtype.is_reference()) return std::move(Call(inputs, key)[0]);
    Tensor out = placing(spec);
    Run(inputs, out, key);
    return out;
  }

  // An operation that also accepts strings produces them by overriding Call: Run is for items of
  // plain bytes.
  std::vector<Tensor> Call(const std::vector<Tensor>& inputs, RandomKey key) const override {
    LeafSpec spec = Output(inputs);
    std::vector<Tensor> outputs{Tensor::Make(spec.dtype, spec.shape)};
    Run(inputs, outputs[0], key);
    return outputs;
  }
  const FillOp* fill() const final { return this; }
};

// A rectangle of an image, in pixels.
struct Region {
  int64_t y, x, height, width;
};

// Part of a region, in pixels of the image.
inline Region Within(const Region& region, const Region& part) {
  return {region.y + part.y, region.x + part.x, part.height, part.width};
}

// An operation whose output is, or may be, a region of its first input.
class CropOp : public FillOp {
 public:
  // The region of the first input that the output consists of, with all channels; nullopt if the
  // output is not a region of an image. Reads only the shape of the first input, as Output does.
  virtual std::optional<Region> RegionOf(const std::vector<Tensor>& inputs,
                                         RandomKey key) const = 0;
  const CropOp* crop() const final { return this; }
};

// Rows of an image that are made front to back.
class Rows {
 public:
  virtual ~Rows() = default;
  // Fills `out` with the next rows, as many as it has.
  virtual void Next(Tensor& out) = 0;
};

// A rectangle whose edges may lie within pixels.
struct Box {
  double y, x, height, width;
};

// A region of an image at a lower resolution: pixel i of an axis covers the pixels of the image
// from ratio * i up to ratio * (i + 1).
struct Reduced {
  LeafSpec spec;               // of all pixels that cover part of the region
  std::unique_ptr<Rows> rows;  // of these pixels
  Box box;                     // the region's position among them
};

// The pending result of one call of a RegionOp, and what was read from its inputs, which must
// outlive this.
struct Unmade {
  LeafSpec spec;
  // Starts a region of an image (height, width, channels); null: only the whole image can be made,
  // with `all`.
  std::function<std::unique_ptr<Rows>(const Region& region)> begin = nullptr;
  std::function<void(Tensor& out)> all = nullptr;
  // The maximum size in bytes of an intermediate row; 0: there are no intermediate rows. If there
  // are, the output is made in strips, which stay in the CPU cache until they are done.
  int64_t widest = 0;
  // Starts a region of the image at 1 / ratio of its size (2, 4 or 8); null: not supported. `spec`
  // still describes the whole image.
  std::function<Reduced(const Region& region, int64_t ratio)> reduce = nullptr;

  void Make(Tensor& out) const;
};

// Makes any region of its output on demand: a crop is a smaller region, a strip a thin one.
class RegionOp : public FillOp {
 public:
  virtual Unmade Open(const std::vector<Tensor>& inputs, RandomKey key) const = 0;
  // Whether the result of Open may have a lower resolution if a resize follows.
  virtual bool reduces() const { return false; }

  LeafSpec Output(const std::vector<Tensor>& inputs) const final { return Open(inputs, {}).spec; }
  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey key) const final {
    Open(inputs, key).Make(out);
  }
  Tensor Fill(const std::vector<Tensor>& inputs, RandomKey key,
              const Placing& placing) const final {
    const Unmade unmade = Open(inputs, key);
    Tensor out = placing(unmade.spec);
    unmade.Make(out);
    return out;
  }
  std::vector<Tensor> Call(const std::vector<Tensor>& inputs, RandomKey key) const final {
    return {Fill(inputs, key,
                 [](const LeafSpec& spec) { return Tensor::Make(spec.dtype, spec.shape); })};
  }
  const RegionOp* regions() const final { return this; }
};

// An operation whose output is an image of another size.
class ResizeOp : public RegionOp {
 public:
  // Whether it interpolates pixels: then its input may have a lower resolution, though not below
  // that of the output.
  virtual bool interpolates() const = 0;
  // A region of the output, which has the shape `made`, from the part `box` of an image. The image
  // must outlive the result.
  virtual std::unique_ptr<Rows> FromBox(const Tensor& image, const Box& box, const Shape& made,
                                        const Region& region) const = 0;
  const ResizeOp* resize() const final { return this; }
};

using OpMaker = std::unique_ptr<const Op> (*)(const Args& args);

}  // namespace penstock
