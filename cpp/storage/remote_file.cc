// Remote files: ranges that are requested ahead of the reader, as many bytes as memory allows.
#include "storage/remote_file.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>

#include "runtime/wait.h"
#include "storage/remote.h"

namespace penstock {
namespace {

// Requests of this size take a server as long to send as to begin; files that are no larger are
// one request.
constexpr int64_t kRangeBytes = int64_t{4} << 20;
constexpr int64_t kAheadAtFirst = int64_t{16} << 20;   // doubles with each range that was read
constexpr int64_t kAheadAfterJump = int64_t{1} << 20;  // once a reader that has jumped goes on
constexpr int64_t kLeastRange = int64_t{64} << 10;
// What a reader of one file holds and waits for: 30 ms at 2 GB/s.
constexpr int64_t kMostAhead = int64_t{64} << 20;

// One request, and its bytes once they are there.
class RemoteRange final {
 public:
  RemoteRange(RemoteRequestPtr request, Budget* budget) : request_(std::move(request)) {
    if (budget) charge_.emplace(*budget, request_->size);
    TheRemoteRuntime().Send(request_);
  }
  ~RemoteRange() {
    if (request_->done()) return;
    request_->Drop();
    TheRemoteRuntime().Send(request_);
  }
  RemoteRange(const RemoteRange&) = delete;
  RemoteRange& operator=(const RemoteRange&) = delete;

  int64_t begin() const { return request_->offset; }
  // Where the next request begins. A server that knows no ranges sends more than was asked for.
  int64_t end() const {
    const int64_t asked = begin() + request_->size;
    return request_->done() ? std::max(asked, request_->bytes_end()) : asked;
  }
  const RemoteRequest& request() const { return *request_; }

 private:
  RemoteRequestPtr request_;
  std::optional<BudgetCharge> charge_;
};

class RemoteFile final : public InputFile {
 public:
  RemoteFile(std::string url, const Reading& reading)
      : url_(std::move(url)),
        budget_(reading.budget),
        throughout_(reading.throughout),
        ahead_(reading.throughout ? kAheadAtFirst : 0) {
    if (reading.cancel) cancel_ = *reading.cancel;
  }

  size_t Read(int64_t offset, void* data, size_t size) override {
    if (size == 0) return 0;
    std::shared_ptr<RemoteRange> range;
    do {
      {
        const std::lock_guard lock(mutex_);
        if (copy_) break;
        if (total_ >= 0 && offset >= total_) return 0;
        range = RangeAt(offset, static_cast<int64_t>(size));
      }
      Await(*range);
    } while (!Learn(*range));
    // Neither the copy nor the bytes of a range change any more.
    return copy_ ? copy_->Read(offset, data, size) : Take(*range, offset, data, size);
  }

  int64_t size() override {
    std::shared_ptr<RemoteRange> range;
    do {
      {
        const std::lock_guard lock(mutex_);
        if (copy_) break;
        if (total_ >= 0) return total_;
        range = RangeAt(0, 1);
      }
      Await(*range);
    } while (!Learn(*range));
    return copy_ ? copy_->size() : total_;
  }

 private:
  using Ranges = std::map<int64_t, std::shared_ptr<RemoteRange>>;

  // The range with the byte at `offset`, and those after it requested. Under the mutex.
  std::shared_ptr<RemoteRange> RangeAt(int64_t offset, int64_t size);
  void ReadAhead(int64_t offset);
  bool MayReadAhead() const;
  std::shared_ptr<RemoteRange> Request(int64_t begin, int64_t end);
  void Await(const RemoteRange& range);
  bool Learn(const RemoteRange& range);
  size_t Take(const RemoteRange& range, int64_t offset, void* data, size_t size);

  const std::string url_;
  std::optional<CancelToken> cancel_;
  Budget* const budget_;
  const bool throughout_;
  // Also owned by the requests, which may end after the file is closed.
  const std::shared_ptr<EventCount> event_ = std::make_shared<EventCount>();

  std::mutex mutex_;  // a leaf over what follows
  Ranges ranges_;     // by their begin, without gaps from the reader on
  int64_t ahead_;     // bytes to have requested beyond the reader
  int64_t next_ = 0;  // where the last read ended
  int64_t total_ = -1;
  std::string tag_;
  std::unique_ptr<InputFile> copy_;  // on this machine
};

std::shared_ptr<RemoteRange> RemoteFile::RangeAt(int64_t offset, int64_t size) {
  auto after = ranges_.upper_bound(offset);
  bool there = after != ranges_.begin() && std::prev(after)->second->end() > offset;
  if (offset != next_) {  // perhaps it will jump again
    if (!there) ranges_.clear();
    ahead_ = 0;
  } else if (!there && !ranges_.empty()) {
    ahead_ = std::clamp(4 * ahead_, kAheadAfterJump, kMostAhead);
  }
  next_ = offset;
  if (!there) {
    const int64_t least = throughout_ && ahead_ > 0 ? kRangeBytes : std::max(size, kLeastRange);
    after = ranges_.emplace(offset, Request(offset, offset + least)).first;
    ++after;
  }
  auto here = std::prev(after);
  // A reader that has gone through a range will go through more.
  if (here != ranges_.begin()) ahead_ = std::min(2 * ahead_, kMostAhead);
  ranges_.erase(ranges_.begin(), here);
  std::shared_ptr<RemoteRange> found = here->second;
  if (total_ >= 0) ReadAhead(offset);
  return found;
}

void RemoteFile::ReadAhead(int64_t offset) {
  int64_t begin = ranges_.rbegin()->second->end();
  const int64_t step = std::min(ahead_, kRangeBytes);
  while (begin < total_ && begin - offset < ahead_ && MayReadAhead()) {
    // Ends where others end that have begun elsewhere: copies of ranges are kept by them.
    int64_t end = std::min(total_, begin + step);
    if (step == kRangeBytes) end = std::min(total_, begin - begin % kRangeBytes + kRangeBytes);
    ranges_.emplace(begin, Request(begin, end));
    begin = end;
  }
}

// One range ahead is always had; more take no more than half of what all stages may hold.
bool RemoteFile::MayReadAhead() const {
  return ranges_.size() < 2 || !budget_ || budget_->used() < budget_->limit() / 2;
}

std::shared_ptr<RemoteRange> RemoteFile::Request(int64_t begin, int64_t end) {
  auto request = std::make_shared<RemoteRequest>(RemoteRequest::Task::kRead, url_, event_);
  request->offset = begin;
  request->size = (total_ >= 0 ? std::min(end, total_) : end) - begin;
  request->tag = tag_;
  request->first = total_ < 0;
  return std::make_shared<RemoteRange>(std::move(request), budget_);
}

void RemoteFile::Await(const RemoteRange& range) {
  auto there = [&range] { return range.request().done(); };
  if (there()) return;
  const CancelToken cancel = cancel_ ? *cancel_ : CancelToken();
  CancelToken::Watch watch(cancel, *event_);
  WaitStatus status = WaitStatus::kReady;
  TheRemoteRuntime().WithoutLock([&] { status = WaitUntil(*event_, cancel, there); });
  if (status == WaitStatus::kCancelled) throw Error(ErrorKind::kCancelled, "");
  if (status == WaitStatus::kInterrupted) throw Error(ErrorKind::kInterrupted, "");
}

// What the first answer says of the file; false when it must be asked for again.
bool RemoteFile::Learn(const RemoteRange& range) {
  const std::lock_guard lock(mutex_);
  try {
    const RemoteAnswer& answer = range.request().answer();
    if (copy_) return true;
    if (!answer.local.empty()) {
      ranges_.clear();
      copy_ = OpenLocalFile(answer.local, {.cancel = cancel_ ? &*cancel_ : nullptr});
    } else if (total_ < 0) {
      total_ = answer.total;
      tag_ = answer.tag;
      ReadAhead(next_);
    }
    return true;
  } catch (const Error& error) {
    ranges_.clear();  // who asks again has it requested again
    // Another process has removed the copy since.
    if (error.kind() == ErrorKind::kNotFound && !range.request().failed()) return false;
    throw;
  }
}

size_t RemoteFile::Take(const RemoteRange& range, int64_t offset, void* data, size_t size) {
  if (offset >= total_) return 0;
  const RemoteAnswer& answer = range.request().answer();
  const int64_t have = answer.bytes ? static_cast<int64_t>(answer.bytes->size()) : 0;
  const int64_t left = answer.offset + have - offset;
  if (left <= 0 || offset < answer.offset) {
    throw Error(ErrorKind::kRuntime, "{}: {} bytes from byte {} were expected, got {} from byte {}",
                url_, range.end() - range.begin(), range.begin(), have, answer.offset);
  }
  const size_t taken = std::min(size, static_cast<size_t>(left));
  std::memcpy(data, answer.bytes->data() + (offset - answer.offset), taken);
  const std::lock_guard lock(mutex_);
  next_ = offset + static_cast<int64_t>(taken);
  return taken;
}

}  // namespace

std::unique_ptr<InputFile> OpenRemote(const std::string& url, const Reading& reading) {
  return std::make_unique<RemoteFile>(url, reading);
}

}  // namespace penstock
