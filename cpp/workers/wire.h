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

// What a message is about: its first byte.
enum class MessageKind : uint8_t { kFunction, kForget, kMap, kAnswer, kOpen, kNext, kClose, kEnd };

// What a call needs beside its rows.
struct CallHeader {
  uint64_t function = 0;  // its id
  StageLabel stage;
  StageRandom random;
  int64_t index = 0;  // of the first row at its stage
  bool ragged = false;
  bool tests = false;

  void Visit(StateVisitor& visitor);
};

// Gathers a message: a head of small things, and the bytes of arrays and strings, which lie in
// shared memory unless they are few.
class MessageWriter {
 public:
  // `to`: the end that it will be sent from.
  MessageWriter(MessageKind kind, Channel& to) : kind_(kind), announced_(to.announced()) {}
  // For a reader that knows no more than what is in the message.
  explicit MessageWriter(MessageKind kind) : kind_(kind), announced_(own_) {}
  // What was not sent has announced nothing.
  ~MessageWriter() {
    for (const std::string& names : fresh_) announced_.erase(names);
  }
  MessageWriter(const MessageWriter&) = delete;
  MessageWriter& operator=(const MessageWriter&) = delete;

  // For small things.
  StateVisitor& head() { return head_; }
  // Their contents must stay until Finish. Objects of the foreign runtime are pickled, which may
  // throw an Error.
  void Put(const Block& block);
  // Where the leaves of the one row belong that will be the answer: memory of a batch.
  void Put(const SlabRows& at, const ElementSpec& row);
  void Put(const Error& error);

  // The message. What it lends is added to `lent`.
  std::string Finish(SharedHeap& heap, std::vector<Stretch>& lent);
  // The message for those who share no memory: its beginning, and the arrays and strings after it.
  // What is large stays where it is.
  struct Parts {
    std::string head;
    std::deque<std::string> small;
    std::vector<std::string_view> bulk;  // in order: those of `small`, and the large ones
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
  std::vector<std::string> fresh_;  // what this message announces, until it is finished
  std::string small_;
  StateVisitor head_{&small_};
  std::vector<std::pair<const void*, size_t>> bulk_;  // each padded to kBulkAlign
  uint64_t bulk_size_ = 0;
  std::deque<std::string> owned_;
};

// Reads a message. What is read refers to the shared memory in which it lies.
class MessageReader {
 public:
  // `heap`: of the sender.
  MessageReader(std::string_view message, PeerHeap& heap);
  // `bulk`: what FinishApart has given after the beginning, as constant memory where it is large.
  MessageReader(std::string_view head, std::vector<BufferRef> bulk);

  MessageKind kind() const { return kind_; }
  StateVisitor& head() { return head_; }
  // `at`: where the sender was told to write.
  Block TakeBlock(const SlabRows& at = {});
  // Null where rows belong nowhere in particular.
  std::shared_ptr<Slab> TakeSlab(PeerHeap& heap);
  Error TakeError();

 private:
  ElementSpec TakeSpec();
  // Whoever gets an array may write to it: its bytes were copied for this message, which no one
  // else reads. Up to `few` of them are copied once more, so that who keeps them keeps no more.
  Tensor TakeTensor(DType dtype, const Shape& shape, size_t few = 0);
  RowOrigins TakeOrigins();

  // Where `size` bytes lie that the writer had at `at`.
  struct Found {
    const BufferRef& buffer;
    size_t offset;
    const uint8_t* data() const { return buffer->data() + offset; }
  };
  Found Find(uint64_t at, uint64_t size) const;

  MessageKind kind_;
  // By where each begins; one alone but for a message of several.
  std::vector<std::pair<uint64_t, BufferRef>> bulk_;
  StateVisitor head_{std::string_view()};
};

}  // namespace penstock
