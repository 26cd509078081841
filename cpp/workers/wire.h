// Blocks as messages between a process and its worker.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/block.h"
#include "data/random.h"
#include "data/spec.h"
#include "data/state_visitor.h"
#include "workers/channel.h"
#include "workers/shared_heap.h"

namespace penstock {

// The type of a message: its first byte.
enum class MessageKind : uint8_t { kFunction, kForget, kMap, kAnswer, kOpen, kNext, kClose, kEnd };

// The parameters of a call, except its rows.
struct CallHeader {
  uint64_t function = 0;  // the function's id
  StageLabel stage;
  StageRandom random;
  int64_t index = 0;  // of the first row, counted at its stage
  bool ragged = false;
  bool tests = false;

  void Visit(StateVisitor& visitor);
};

// Builds a message: a head for small values, and the bytes of arrays and strings, which go to
// shared memory unless they are few.
class MessageWriter {
 public:
  // `to`: the end from which it will be sent.
  MessageWriter(MessageKind kind, Channel& to) : kind_(kind), announced_(to.announced()) {}
  // For a reader that knows only what is in the message.
  explicit MessageWriter(MessageKind kind) : kind_(kind), announced_(own_) {}
  // A message that was never finished has announced nothing.
  ~MessageWriter() {
    for (const std::string& names : fresh_) announced_.erase(names);
  }
  MessageWriter(const MessageWriter&) = delete;
  MessageWriter& operator=(const MessageWriter&) = delete;

  // For small values.
  StateVisitor& head() { return head_; }
  // The contents must outlive Finish. Objects of the foreign runtime are pickled, which may throw
  // an Error.
  void Put(const Block& block);
  // The destination for the leaves of the single row in the answer: memory of a batch.
  void Put(const SlabRows& at, const ElementSpec& row);
  void Put(const Error& error);

  // Returns the message, and adds the stretches that it lends to `lent`.
  std::string Finish(SharedHeap& heap, std::vector<Stretch>& lent);
  // The message for readers without shared memory: the head, and separately the arrays and strings.
  // Large ones are not copied.
  struct Parts {
    std::string head;
    std::deque<std::string> small;
    std::vector<std::string_view> bulk;  // in order, both those in `small` and the large ones
  };
  Parts FinishApart();

 private:
  void Put(const Tensor& tensor);
  void PutSpec(ElementSpec spec);
  void PutOrigins(const RowOrigins& origins);
  uint64_t Bulk(const void* data, size_t size);
  uint64_t OwnBulk(std::string bytes);

  const MessageKind kind_;
  std::set<std::string> own_;
  std::set<std::string>& announced_;
  std::vector<std::string> fresh_;  // announced by this message; cleared when it is finished
  std::string small_;
  StateVisitor head_{&small_};
  std::vector<std::pair<const void*, size_t>> bulk_;  // each padded to kBulkAlign
  uint64_t bulk_size_ = 0;
  std::deque<std::string> owned_;
};

// Reads a message. The results refer to the shared memory that contains them.
class MessageReader {
 public:
  // `heap`: the sender's.
  MessageReader(std::string_view message, PeerHeap& heap);
  // `bulk`: the parts from FinishApart, in order; large ones as constant memory.
  MessageReader(std::string_view head, std::vector<BufferRef> bulk);

  MessageKind kind() const { return kind_; }
  StateVisitor& head() { return head_; }
  // `at`: the memory that the request named for the results.
  Block TakeBlock(const SlabRows& at = {});
  // The batch to write to, or null.
  std::shared_ptr<Slab> TakeSlab(PeerHeap& heap);
  Error TakeError();

 private:
  ElementSpec TakeSpec();
  // The caller may write to the array: its bytes were copied for this message, and no one else
  // reads them. Arrays of at most `few` bytes are copied again, so that a caller that keeps one
  // does not keep the whole message.
  Tensor TakeTensor(DType dtype, const Shape& shape, size_t few = 0);
  RowOrigins TakeOrigins();

  // The location of `size` bytes that the writer had at `at`.
  struct Found {
    const BufferRef& buffer;
    size_t offset;
    const uint8_t* data() const { return buffer->data() + offset; }
  };
  Found Find(uint64_t at, uint64_t size) const;

  MessageKind kind_;
  // By the offset where each part begins; a single part unless the message was split.
  std::vector<std::pair<uint64_t, BufferRef>> bulk_;
  StateVisitor head_{std::string_view()};
};

}  // namespace penstock
