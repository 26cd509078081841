// Remote requests that are waited for immediately, and the runtime that answers.
#include "storage/remote.h"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <system_error>
#include <unordered_map>

#include "runtime/wait.h"

namespace penstock {
namespace {

constinit RemoteRuntime no_remote_runtime;
constinit RemoteRuntime* the_remote_runtime = &no_remote_runtime;

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// A scheme of one letter is a Windows drive.
bool HasScheme(std::string_view path) {
  const size_t end = path.find("://");
  return end != std::string_view::npos && end >= 2 && IsLetter(path[0]) &&
         std::all_of(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(end), [](char c) {
           return IsLetter(c) || (c >= '0' && c <= '9') || c == '+' || c == '.' || c == '-';
         });
}

RemoteAnswer Ask(RemoteRequest::Task task, const std::string& url, const std::string& path = "") {
  auto event = std::make_shared<EventCount>();
  auto request = std::make_shared<RemoteRequest>(task, url, event);
  request->path = path;
  return AskRemote(request, *event);
}

// A map by URL. Leaked: threads that open files may outlive it.
template <class T>
class Known final {
 public:
  std::optional<T> Find(const std::string& url) {
    const std::lock_guard lock(mutex_);
    auto found = by_url_.find(url);
    if (found == by_url_.end()) return std::nullopt;
    return found->second;
  }
  void Keep(const std::string& url, T what) {
    const std::lock_guard lock(mutex_);
    if (by_url_.size() >= kMost) by_url_.clear();
    by_url_.insert_or_assign(url, std::move(what));
  }
  void Forget(const std::string& url) {
    const std::lock_guard lock(mutex_);
    by_url_.erase(url);
  }
  void Clear() {
    const std::lock_guard lock(mutex_);
    by_url_.clear();
  }

 private:
  static constexpr size_t kMost = 1 << 17;  // tens of MB
  std::mutex mutex_;                        // a leaf lock; protects by_url_
  std::unordered_map<std::string, T> by_url_;
};
Known<RemoteCopy>& TheRemoteCopies() {
  static auto& copies = *new Known<RemoteCopy>;
  return copies;
}
Known<RemoteContent>& TheRemoteContents() {
  static auto& contents = *new Known<RemoteContent>;
  return contents;
}

}  // namespace

std::optional<RemoteCopy> FindRemoteCopy(const std::string& url) {
  return TheRemoteCopies().Find(url);
}
void KeepRemoteCopy(const std::string& url, RemoteCopy copy) {
  TheRemoteCopies().Keep(url, std::move(copy));
}
void ForgetRemoteCopy(const std::string& url) { TheRemoteCopies().Forget(url); }

std::optional<RemoteContent> FindRemoteContent(const std::string& url) {
  return TheRemoteContents().Find(url);
}
void KeepRemoteContent(const std::string& url, int64_t total, std::string tag) {
  RemoteContent content = FindRemoteContent(url).value_or(RemoteContent());
  content.total = total;
  content.tag = std::move(tag);
  TheRemoteContents().Keep(url, std::move(content));
}
void NoteRemoteAhead(const std::string& url, int64_t ahead) {
  auto content = FindRemoteContent(url);
  if (!content || content->ahead == ahead) return;
  content->ahead = ahead;
  TheRemoteContents().Keep(url, *std::move(content));
}

void ForgetRemoteFiles() {
  TheRemoteCopies().Clear();
  TheRemoteContents().Clear();
}

void RemoteRuntime::Send(const RemoteRequestPtr& request) {
  request->Fail(Error(ErrorKind::kInvalidArgument,
                      "{}: a path of this machine was expected, got a URL", request->url));
}

void SetRemoteRuntime(RemoteRuntime& runtime) { the_remote_runtime = &runtime; }
RemoteRuntime& TheRemoteRuntime() { return *the_remote_runtime; }

bool IsRemote(const std::string& path) {
  std::error_code ignored;
  return HasScheme(path) && !std::filesystem::exists(path, ignored);
}

RemoteAnswer AskRemote(const RemoteRequestPtr& request, EventCount& event) {
  TheRemoteRuntime().Send(request);
  WaitStatus status = WaitStatus::kReady;
  TheRemoteRuntime().WithoutLock(
      [&] { status = WaitUntil(event, CancelToken(), [&] { return request->done(); }); });
  if (status == WaitStatus::kReady) return request->answer();
  request->Drop();
  TheRemoteRuntime().Send(request);
  throw Error(ErrorKind::kInterrupted, "");
}

void UploadRemote(const std::string& path, const std::string& url) {
  Ask(RemoteRequest::Task::kUpload, url, path);
}

std::string RemoteNames(const std::string& url) {
  const RemoteAnswer answer = Ask(RemoteRequest::Task::kNames, url);
  if (!answer.bytes) return {};
  return {reinterpret_cast<const char*>(answer.bytes->data()), answer.bytes->size()};
}

void RemoveRemote(const std::string& url) { Ask(RemoteRequest::Task::kRemove, url); }

}  // namespace penstock
