// Rows of Python values gathered into blocks: shared by functions and generators.
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
  const ElementSpec* declared = nullptr;  // convert to, and check against, this specification
  bool list_as_tuple = false;             // a list at the top level counts as a tuple
  bool copy = false;                      // the producer may change its arrays afterwards
  RaggedRows* ragged = nullptr;           // rows that differ in size may come in ragged form, by it
  bool opaque = false;                    // pass objects through as they are
};

// Collects results of up to `max_rows` calls. Rows of one shape are written straight into stacked
// columns; when a row differs from the ones before, a new block begins. Where they differ from row
// to row they are kept one by one.
class RowCollector {
 public:
  RowCollector(const RowPolicy& policy, int64_t max_rows, Slabs* slabs, int64_t first_row,
               LastStructure* last_structure);
  ~RowCollector();
  RowCollector(const RowCollector&) = delete;
  RowCollector& operator=(const RowCollector&) = delete;

  // Adds one value (borrowed), made of a row of `source`, when it is a scalar like those before it;
  // false: use Add.
  bool AddScalar(PyObject* value, const Block& source, int64_t row);
  // Adds one value (borrowed). False when it cannot become an element: a Python error is set.
  bool Add(PyObject* value, const Origin& origin);
  void AddError(Error error);
  int64_t rows() const { return rows_; }
  // The blocks, in order. Large unshared arrays are copied here, without the GIL.
  void Finish(std::vector<Block>& out);

 private:
  struct Column {
    DType dtype;
    Shape shape;                   // of one row
    Tensor dense;                  // [max rows, shape...]
    PyObject** objects = nullptr;  // of scalars that are references: memory for `room`
    size_t room = 0;
    PyTypeObject* scalar_type = nullptr;  // NumPy's, of this dtype
    size_t scalar_offset = 0;             // of the value in an object of that type
  };

  bool AddRow(PyObject* value, const Origin& origin);
  bool AddRagged(const Origin& origin);
  bool AddSingle(const Flattened& flat, const Origin& origin);
  bool AddToColumns(const Flattened& flat, bool* fits);
  bool StartColumns(const Flattened& flat);
  // Notes where the next open row comes from.
  void AddOrigin(const Block& source, int64_t row);
  bool LeafToTensor(PyObject* leaf, size_t i, bool exclusive, Tensor* tensor);
  void CloseColumns();

  const RowPolicy& policy_;
  int64_t max_rows_;
  LastStructure::Use last_structure_;
  int64_t rows_ = 0;
  BlockBuilder builder_;  // has the rows before those of the open block
  // The open block, in column form.
  bool open_ = false;
  bool closing_ = false;  // a block is being made of the open rows: not to be interrupted
  bool ragged_ = false;   // one row alone had a shape
  int64_t open_rows_ = 0;
  // The row of the source from which the open block's first row would be made, if its rows follow
  // each other as the source's do.
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::min();
  int64_t follows_from_ = kNone;
  Block block_;
  std::vector<Column> columns_;
  Flattened flat_;
  bool lone_scalar_ = false;  // the open block is one column of numeric scalars
};

}  // namespace penstock
