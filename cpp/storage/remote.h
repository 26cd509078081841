// Remote: what files of object stores and web servers ask of the runtime that talks to them, and
// what it answers.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "data/buffer.h"
#include "data/error.h"
#include "runtime/event_count.h"

namespace penstock {

struct RemoteAnswer {
  BufferRef bytes;     // null: none
  int64_t offset = 0;  // of the first of them: no later than was asked for
  int64_t total = -1;  // bytes of the file
  std::string tag;     // equal as long as the file is the same; "" when the server does not say
  std::string local;   // the path of a copy on this machine, to be read instead of the bytes
};

// One request. Whoever made it waits for `event` until done(); whoever answers calls one of Finish
// and Fail, once. Both keep it alive.
class RemoteRequest {
 public:
  enum class Task : uint8_t {
    kRead,    // `size` bytes from `offset`, fewer at the end of the file
    kUpload,  // the file `path` of this machine becomes the object
    kNames,   // of the objects in a folder, each with a line feed after it
    kRemove,  // the object, if it is there
  };

  RemoteRequest(Task its_task, std::string its_url, std::shared_ptr<EventCount> event)
      : task(its_task), url(std::move(its_url)), event_(std::move(event)) {}

  const Task task;
  const std::string url;
  int64_t offset = 0;
  int64_t size = 0;
  std::string tag;     // of the file's version that was read before
  std::string path;    // of an upload
  bool first = false;  // the file is unknown so far; the answer may name a copy of it
  bool fresh = false;  // the answer must not name a copy: the last one did not match its checksums
  bool damaged = false;  // that copy must be removed

  // What is known of the file as soon as the answer begins; `total` and `tag` as in the answer.
  void Announce(int64_t total, std::string its_tag) {
    announced_total_ = total;
    announced_tag_ = std::move(its_tag);
    announced_.store(true, std::memory_order_release);  // pairs with acquire in announced()
    event_->NotifyAll();
  }
  bool announced() const { return announced_.load(std::memory_order_acquire); }
  int64_t announced_total() const { return announced_total_; }  // once announced
  const std::string& announced_tag() const { return announced_tag_; }

  bool done() const { return done_.load(std::memory_order_acquire); }
  bool failed() const { return error_.has_value(); }  // once done
  // Once done: the answer, or throws why there is none.
  const RemoteAnswer& answer() const {
    if (error_) throw Error(*error_);
    return answer_;
  }
  // Once done: the first byte of the file after those that came; 0 when none did.
  int64_t bytes_end() const {
    return answer_.bytes ? answer_.offset + static_cast<int64_t>(answer_.bytes->size()) : 0;
  }
  void Finish(RemoteAnswer answer) {
    answer_ = std::move(answer);
    Done();
  }
  void Fail(Error error) {
    error_ = std::move(error);
    Done();
  }

  // The answer is not wanted any more.
  bool dropped() const { return dropped_.load(std::memory_order_acquire); }
  void Drop() { dropped_.store(true, std::memory_order_release); }  // pairs with dropped()

 private:
  void Done() {
    done_.store(true, std::memory_order_release);  // pairs with acquire in done()
    event_->NotifyAll();
  }

  const std::shared_ptr<EventCount> event_;
  RemoteAnswer answer_;
  std::optional<Error> error_;
  int64_t announced_total_ = -1;
  std::string announced_tag_;
  std::atomic<bool> announced_{false};
  std::atomic<bool> done_{false};
  std::atomic<bool> dropped_{false};
};

using RemoteRequestPtr = std::shared_ptr<RemoteRequest>;

// The runtime that answers. The base class serves a process without one. It has no destructor,
// because threads that outlive the statics of the process still call it.
class RemoteRuntime {
 public:
  // Takes a request, or one that was dropped since; never waits. On any thread.
  virtual void Send(const RemoteRequestPtr& request);
  // Calls `wait` while this thread does not hold the lock of the runtime, whoever has called.
  virtual void WithoutLock(const std::function<void()>& wait) { wait(); }
};

// Called once, before the first dataset is made.
void SetRemoteRuntime(RemoteRuntime& runtime);
RemoteRuntime& TheRemoteRuntime();

// The copies on this machine that this process knows of, by URL: what was asked once is not asked
// again. On any thread.
struct RemoteCopy {
  std::string path;
  std::string tag;  // of the content
};
std::optional<RemoteCopy> FindRemoteCopy(const std::string& url);
void KeepRemoteCopy(const std::string& url, RemoteCopy copy);
void ForgetRemoteCopy(const std::string& url);

// How long files were when they were opened last, and the tags of their contents, by URL: ranges
// of a file are requested together with the first one, whose answer says whether it still is so.
struct RemoteContent {
  int64_t total = -1;
  std::string tag;
  int64_t ahead = 0;  // bytes that its last reader had come to request ahead
};
std::optional<RemoteContent> FindRemoteContent(const std::string& url);
void KeepRemoteContent(const std::string& url, int64_t total, std::string tag);
// Of a file whose content is kept.
void NoteRemoteAhead(const std::string& url, int64_t ahead);

// The URLs may be of other stores now.
void ForgetRemoteFiles();

// Sends a request and waits for the answer; nothing ends that early but an interrupt.
RemoteAnswer AskRemote(const RemoteRequestPtr& request, EventCount& event);
// Whether a path is the URL of a file that is not on this machine. A file of that name here comes
// first.
bool IsRemote(const std::string& path);
// Makes a file of this machine an object.
void UploadRemote(const std::string& path, const std::string& url);
// The names of the objects in a folder, and of the folders in it, each with a line feed after it.
std::string RemoteNames(const std::string& url);
void RemoveRemote(const std::string& url);

}  // namespace penstock
