// A worker process, as the process sees it that has started it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "data/slab.h"
#include "workers/channel.h"
#include "workers/shared_heap.h"

namespace penstock {

// Used by one thread at a time.
class Worker {
 public:
  // Starts `command`, which is the path of a program and its arguments; it calls Serve (serve.h)
  // with the numbers of its files that follow; `given`, if it is not -1, is one more of them.
  // Throws an Error when the system refuses.
  static std::unique_ptr<Worker> Start(const std::vector<std::string>& command, int given = -1);
  static constexpr int kSocketFile = 10, kParentHeapFile = 11, kOwnHeapFile = 12, kGivenFile = 13;

  // Ends the process.
  ~Worker();

  Channel& channel() { return channel_; }
  PeerHeap& heap() { return heap_; }
  int pid() const { return pid_; }
  // The row that it works on.
  int64_t row() { return heap_.table().row.load(std::memory_order_relaxed); }
  // What it has been sent of functions, by their ids: gone with the function.
  std::map<uint64_t, std::weak_ptr<const std::string>>& known() { return known_; }
  // Takes those out that have gone, and returns their ids: it is to be told.
  std::vector<uint64_t> ForgetEnded();
  // What it has been lent for the call that it works on.
  std::vector<Stretch>& lent() { return lent_; }
  // The batch that it writes to; null: none. It must stay until there is an answer, or no worker.
  std::shared_ptr<Slab> writes_to;
  // Whether an answer is still to come, which no one waits for any more.
  bool owes = false;

  // Its answer has come.
  void Answered() {
    lent_.clear();
    writes_to = nullptr;
    owes = false;
  }
  // After its channel was closed: waits for the end of the process, which is made to end if it does
  // not do so soon, and says in words how it ended:
  // "was ended by signal 9 (SIGKILL)", "has left with exit code 3".
  std::string HowItEnded();
  // Ends the process now.
  void Kill();

 private:
  Worker(int socket, int heap_file, int pid) : channel_(socket), heap_(heap_file), pid_(pid) {}

  Channel channel_;
  PeerHeap heap_;
  int pid_;
  std::map<uint64_t, std::weak_ptr<const std::string>> known_;
  std::vector<Stretch> lent_;
};

// The heap of this process, which all its workers read.
SharedHeap& OwnHeap();
// In a worker, first of all: its heap is in this file, which the other process has too.
void UseOwnHeap(int file);

}  // namespace penstock
