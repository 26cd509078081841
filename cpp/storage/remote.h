// Remote files (object stores, web servers): the requests to the runtime that talks to the servers,
// and its answers.
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
  BufferRef bytes;     // null: no bytes
  int64_t offset = 0;  // of the first byte; never after the requested one
  int64_t total = -1;  // size of the file in bytes
  std::string tag;     // unchanged while the content is; "" if the server sends none
  std::string local;   // the path of a local copy to read instead of the bytes
};

// One request. The requester waits for `event` until done(). The runtime calls either Finish or
// Fail, once. Both sides keep the request alive.
class RemoteRequest {
 public:
  enum class Task : uint8_t {
    kRead,    // `size` bytes from `offset`; fewer at the end of the file
    kUpload,  // the local file `path` becomes the object
    kNames,   // the names of the objects in a folder, each followed by a line feed
    kRemove,  // the object, if it exists
  };

  RemoteRequest(Task its_task, std::string its_url, std::shared_ptr<EventCount> event)
      : task(its_task), url(std::move(its_url)), event_(std::move(event)) {}

  const Task task;
  const std::string url;
  int64_t offset = 0;
  int64_t size = 0;
  std::string tag;     // of the version of the file that was read before
  std::string path;    // for an upload
  bool first = false;  // nothing is known about the file yet; the answer may name a copy
  bool fresh = false;  // the answer must not name a copy: the last one did not match its checksums
  bool damaged = false;  // that copy must be removed

  // Publishes what the beginning of the answer reveals about the file; `total` and `tag` as in the
  // answer.
  void Announce(int64_t total, std::string its_tag) {
    announced_total_ = total;
    announced_tag_ = std::move(its_tag);
    announced_.store(true, std::memory_order_release);  // pairs with acquire in announced()
    event_->NotifyAll();
  }
  bool announced() const { return announced_.load(std::memory_order_acquire); }
  int64_t announced_total() const { return announced_total_; }  // valid once announced
  const std::string& announced_tag() const { return announced_tag_; }

  bool done() const { return done_.load(std::memory_order_acquire); }
  bool failed() const { return error_.has_value(); }  // valid once done
  // Call once done. Returns the answer, or throws its error.
  const RemoteAnswer& answer() const {
    if (error_) throw Error(*error_);
    return answer_;
  }
  // Call once done. The offset after the last received byte; 0 if no bytes were received.
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

  // Whether the answer is no longer needed.
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
// because threads that outlive the process's statics still call it.
class RemoteRuntime {
 public:
  // Accepts a request, which may have been dropped since. Never waits. Thread-safe.
  virtual void Send(const RemoteRequestPtr& request);
  // Calls `wait` without the lock of the runtime, also if this thread currently holds it.
  virtual void WithoutLock(const std::function<void()>& wait) { wait(); }
};

// Called once, before the first dataset is created.
void SetRemoteRuntime(RemoteRuntime& runtime);
RemoteRuntime& TheRemoteRuntime();

// The local copies that this process knows, by URL, so that it asks for each only once.
// Thread-safe.
struct RemoteCopy {
  std::string path;
  std::string tag;  // of the content
};
std::optional<RemoteCopy> FindRemoteCopy(const std::string& url);
void KeepRemoteCopy(const std::string& url, RemoteCopy copy);
void ForgetRemoteCopy(const std::string& url);

// The sizes of files when they were last opened, and the tags of their contents, by URL. With
// these, further ranges are requested together with the first one, whose answer shows whether the
// file has changed.
struct RemoteContent {
  int64_t total = -1;
  std::string tag;
  int64_t ahead = 0;  // readahead in bytes that its last reader reached
};
std::optional<RemoteContent> FindRemoteContent(const std::string& url);
void KeepRemoteContent(const std::string& url, int64_t total, std::string tag);
// For a file whose content is stored.
void NoteRemoteAhead(const std::string& url, int64_t ahead);

// Call when URLs may refer to other stores.
void ForgetRemoteFiles();

// Sends a request and waits for the answer. Only an interrupt ends the wait early.
RemoteAnswer AskRemote(const RemoteRequestPtr& request, EventCount& event);
// Whether a path is the URL of a remote file. A local file of the same name takes precedence.
bool IsRemote(const std::string& path);
// Uploads a local file as an object.
void UploadRemote(const std::string& path, const std::string& url);
// The names of the objects and folders in a folder, each followed by a line feed.
std::string RemoteNames(const std::string& url);
void RemoveRemote(const std::string& url);

}  // namespace penstock
