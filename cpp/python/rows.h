// Gathers rows of Python values into blocks, for functions and generators.
#pragma once

#include <limits>
#include <vector>

#include "compute/function.h"
#include "data/block_builder.h"
#include "data/spec.h"
#include "python/last_structure.h"
#include "python/python.h"
#include "python/pytree.h"
#include "python/ragged_rows.h"

namespace penstock {

// How values become leaves.
struct RowPolicy {
  const char* stage = "map";
  const ElementSpec* declared = nullptr;  // the specification to convert to and check against
  bool list_as_tuple = false;             // treat a list at the top level as a tuple
  bool copy = false;                      // the producer may change its arrays afterwards
  RaggedRows* ragged = nullptr;           // if set, gathers rows that differ in size in ragged form
  bool opaque = false;                    // pass objects through unchanged
};

// Collects the results of up to `max_rows` calls. Rows of one shape are written directly into
// stacked columns; a row of another shape starts a new block. Where shapes differ from row to row,
// rows are kept individually.
class RowCollector {
 public:
  RowCollector(const RowPolicy& policy, int64_t max_rows, Slabs* slabs, int64_t first_row,
               LastStructure* last_structure);
  ~RowCollector();
  RowCollector(const RowCollector&) = delete;
  RowCollector& operator=(const RowCollector&) = delete;

  // Adds one value (borrowed), made from a row of `source`, if it is a scalar like the previous
  // ones. If false, use Add.
  bool AddScalar(PyObject* value, const Block& source, int64_t row);
  // Adds one value (borrowed). False, with a Python error set, if it cannot become an element.
  bool Add(PyObject* value, const Origin& origin);
  void AddError(Error error);
  int64_t rows() const { return rows_; }
  // Appends the blocks to `out`, in order. Copies large unshared arrays without the GIL.
  void Finish(std::vector<Block>& out);

 private:
  struct Column {
    DType dtype;
    Shape shape;                   // of one row
    Tensor dense;                  // [max rows, shape...]
    PyObject** objects = nullptr;  // for scalars that are references: memory for `room` of them
    size_t room = 0;
    PyTypeObject* scalar_type = nullptr;  // NumPy's type for this dtype
    size_t scalar_offset = 0;             // of the value within an object of that type
  };

  bool AddRow(PyObject* value, const Origin& origin);
  bool AddRagged(const Origin& origin);
  bool AddSingle(const Flattened& flat, const Origin& origin);
  bool AddToColumns(const Flattened& flat, bool* fits);
  bool StartColumns(const Flattened& flat);
  // Records the origin of the next open row.
  void AddOrigin(const Block& source, int64_t row);
  bool LeafToTensor(PyObject* leaf, size_t i, bool exclusive, Tensor* tensor);
  void CloseColumns();

  const RowPolicy& policy_;
  int64_t max_rows_;
  LastStructure::Use last_structure_;
  int64_t rows_ = 0;
  BlockBuilder builder_;  // holds the rows before the open block
  // The open block, in column form.
  bool open_ = false;
  bool closing_ = false;  // building a block from the open rows: must not be interrupted
  bool ragged_ = false;   // the second row of a block differed from the first
  int64_t open_rows_ = 0;
  // The row of the source that corresponds to the open block's first row, if the rows of the open
  // block are consecutive in the source.
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::min();
  int64_t follows_from_ = kNone;
  Block block_;
  std::vector<Column> columns_;
  Flattened flat_;
  bool lone_scalar_ = false;  // the open block is one column of numeric scalars
};

}  // namespace penstock
