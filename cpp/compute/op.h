// A native operation: tensors in, tensors out, without a foreign runtime.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "compute/args.h"
#include "data/element.h"
#include "data/random.h"
#include "data/spec.h"

namespace penstock {

// What an operation that is called for several rows at once is given of an input, and makes: items
// of rows one behind the other along the first axis, those of row i at [splits[i], splits[i + 1]).
// Without splits: one item for each row, or the same for all rows.
struct RowItems {
  Tensor items;
  std::shared_ptr<const std::vector<int64_t>> splits;
  bool by_row = false;  // not the same for all rows
};

class FillOp;
class ImageOp;
class CropOp;
class StripOp;

// What an operation may be used for besides being called is said by the other methods. const: one
// object is called by many threads at a time.
class Op {
 public:
  virtual ~Op() = default;
  // Checks ranks, dtypes and sizes; throws an Error that names the argument. No lock of a foreign
  // runtime is held. `key` is only meaningful for a random operation.
  virtual std::vector<Tensor> Call(const std::vector<Tensor>& inputs, RandomKey key) const = 0;
  // How many tensors Call returns.
  virtual size_t outputs() const { return 1; }
  // Draws random numbers: it is given a fresh key at each call.
  virtual bool random() const { return false; }
  // May wait, for a file for example.
  virtual bool waits() const { return false; }
  // Rows in, rows out: called on inputs that have one more axis in front, it returns for each row,
  // bit by bit, what it would for that row alone. Inputs that are the same for all rows come
  // without that axis, and the others with axes of size 1 behind it where they have fewer than the
  // rest (so that an operation which broadcasts is such a one). Never for a random operation.
  virtual bool by_rows(const std::vector<Tensor>& /*inputs*/) const { return false; }
  // For rows whose results differ in size: all of them with their splits, bit by bit what Call
  // returns for each row alone. nullopt when it has no such form for these inputs. Never for a
  // random operation, nor for one of several outputs.
  virtual std::optional<RowItems> CallRagged(const std::vector<RowItems>& /*inputs*/,
                                             int64_t /*rows*/) const {
    return std::nullopt;
  }
  // Looks at the dtype and shape of its first input, and at no value of it.
  virtual bool reads_shapes() const { return false; }
  // Row i of its output, along the first axis, is made of row i of its inputs alone, or of inputs
  // that are the same for all rows (with fewer axes, or one row). For an image: (height, width,
  // channels).
  virtual bool row_local() const { return false; }
  // The operation as one of the special forms below; null when it is none.
  virtual const FillOp* fill() const { return nullptr; }
  virtual const ImageOp* image() const { return nullptr; }
  virtual const CropOp* crop() const { return nullptr; }
  virtual const StripOp* strips() const { return nullptr; }
};

// Declares its one output, then fills it: the output may be a row of a batch.
class FillOp : public Op {
 public:
  // The dtype and shape of the output. May read the data (the size of a JPEG stands in its header).
  virtual LeafSpec Output(const std::vector<Tensor>& inputs) const = 0;
  // Fills `out`, which has the declared dtype and shape.
  virtual void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey key) const = 0;

  // An operation that also takes strings makes those here: Run is for items of plain bytes.
  std::vector<Tensor> Call(const std::vector<Tensor>& inputs, RandomKey key) const override {
    LeafSpec spec = Output(inputs);
    std::vector<Tensor> outputs{Tensor::Make(spec.dtype, spec.shape)};
    Run(inputs, outputs[0], key);
    return outputs;
  }
  const FillOp* fill() const final { return this; }
};

// A rectangle of an image, in pixels.
struct ImageWindow {
  int64_t y, x, height, width;
};

// Makes an image, or a part of it for less: a decoder.
class ImageOp : public FillOp {
 public:
  // Fills `out` with that window of what Run gives.
  virtual void RunWindow(const std::vector<Tensor>& inputs, const ImageWindow& window,
                         Tensor& out) const = 0;
  const ImageOp* image() const final { return this; }
};

// Cuts a part out of its first input.
class CropOp : public FillOp {
 public:
  // The window that is cut, all channels of it; nullopt when it is none of an image. Looks, as
  // Output does, at the shape of the first input only.
  virtual std::optional<ImageWindow> Window(const std::vector<Tensor>& inputs,
                                            RandomKey key) const = 0;
  const CropOp* crop() const final { return this; }
};

// An output that is made front to back.
class Strips {
 public:
  virtual ~Strips() = default;
  // The next `rows` rows, along the first axis.
  virtual void Next(int64_t rows, uint8_t* out) = 0;
};

// Makes its output in strips, so that what comes behind it finds them in the CPU's cache.
class StripOp : public FillOp {
 public:
  // Null when it cannot for these inputs, which must outlive what is returned.
  virtual std::unique_ptr<Strips> Begin(const std::vector<Tensor>& inputs) const = 0;
  const StripOp* strips() const final { return this; }
};

using OpMaker = std::unique_ptr<const Op> (*)(const Args& args);

}  // namespace penstock
