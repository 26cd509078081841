// Remote files: ranges are requested ahead of the reader, as many bytes as memory allows.
#include "storage/remote_file.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>

#include "runtime/clock.h"
#include "runtime/wait.h"
#include "storage/checked_copy.h"
#include "storage/remote.h"

namespace penstock {
namespace {

// At this size, a server takes as long to send the answer as to begin it. Smaller files take one
// request.
constexpr int64_t kRangeBytes = int64_t{4} << 20;
constexpr int64_t kAheadAtFirst = int64_t{32} << 20;   // doubles with each range that was read
constexpr int64_t kAheadAfterJump = int64_t{1} << 20;  // once it reads sequentially again
constexpr int64_t kLeastRange = int64_t{64} << 10;
// The limit on readahead for one file: 30 ms at 2 GB/s. More if the reader still waits although the
// server answers quickly: then latency is the bottleneck.
constexpr int64_t kMuchAhead = int64_t{64} << 20;
constexpr int64_t kMostAhead = int64_t{256} << 20;
constexpr MonoTime kSoon = 500'000'000;  // in ns
// Answers arrive in any order. While the reader waits for one, each later answer that arrives
// allows another request, until this many bytes have arrived and are unread.
constexpr int64_t kMostHeld = int64_t{384} << 20;

// One request, and its bytes once they have arrived.
class RemoteRange final {
 public:
  RemoteRange(RemoteRequestPtr request, Budget* budget)
      : request_(std::move(request)), budget_(budget) {
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
  MonoTime sent() const { return sent_; }
  // Where the next request begins. A server without range support sends more than was requested.
  int64_t end() const {
    const int64_t asked = begin() + request_->size;
    return request_->done() ? std::max(asked, request_->bytes_end()) : asked;
  }
  const RemoteRequest& request() const { return *request_; }
  // Once the request is done, charges the bytes that arrived instead of those requested. Needs the
  // mutex of the file.
  void Settle() {
    if (!charge_ || !request_->done() || request_->failed()) return;
    const int64_t came = std::max(int64_t{0}, request_->bytes_end() - begin());
    if (came < charge_->bytes()) *charge_ = BudgetCharge(*budget_, came);
  }

 private:
  RemoteRequestPtr request_;
  Budget* const budget_;
  const MonoTime sent_ = NowNs();
  std::optional<BudgetCharge> charge_;
};

class RemoteFile final : public InputFile {
 public:
  RemoteFile(std::string url, const Reading& reading)
      : url_(std::move(url)),
        budget_(reading.budget),
        throughout_(reading.throughout),
        begin_(reading.begin),
        ahead_(reading.throughout ? kAheadAtFirst : 0) {
    if (reading.cancel) cancel_ = *reading.cancel;
    if (throughout_ && reading.begin == 0) {
      if (auto known = FindRemoteContent(url_)) {
        content_ = std::move(*known);
        ahead_ = std::max(kMuchAhead, content_.ahead);
      }
    }
  }

  ~RemoteFile() override {
    if (known_ && throughout_) NoteRemoteAhead(url_, ahead_);
  }

  size_t Read(int64_t offset, void* data, size_t size) override {
    if (size == 0) return 0;
    for (;;) {
      const LentBytes bytes = BytesAt(offset, size);
      if (bytes.memory) {
        const size_t taken = std::min(size, bytes.size);
        std::memcpy(data, bytes.memory->data() + bytes.position, taken);
        ReadTo(offset + static_cast<int64_t>(taken));
        return taken;
      }
      const std::shared_ptr<CheckedCopy> copy = Copy();
      if (copy) {
        if (const auto got = copy->Read(offset, data, size)) return *got;
        LeaveCopy(copy);
      } else if (offset >= size_known()) {
        return 0;
      }  // otherwise another thread has discarded the copy
    }
  }

  LentBytes Lend(int64_t offset, size_t size) override {
    {
      const std::lock_guard lock(mutex_);
      if (offset < next_ && (ranges_.empty() || offset < ranges_.begin()->first)) return {};
    }
    LentBytes bytes = BytesAt(offset, size);
    bytes.size = std::min(bytes.size, size);
    if (bytes.memory) ReadTo(offset + static_cast<int64_t>(bytes.size));
    return bytes;
  }

  int64_t RequestFirst() override {
    const std::lock_guard lock(mutex_);
    if (copy_ || known_ || OpenCopy(FindRemoteCopy(url_))) return 0;
    if (ranges_.empty()) {
      next_ = begin_;
      ranges_.emplace(begin_, Request(begin_, begin_ + kRangeBytes));
    }
    RemoteRange& range = *ranges_.begin()->second;
    range.Settle();
    const RemoteRequest& request = range.request();
    if (request.done()) return std::max(int64_t{0}, request.bytes_end() - range.begin());
    if (request.announced()) return kRangeBytes;  // the file is larger
    return content_.total < 0 ? -1 : std::clamp<int64_t>(content_.total - begin_, 0, kRangeBytes);
  }

  int64_t size() override {
    Know(0, 1);
    return size_known();
  }

  std::string version() override {
    Know(0, 1);
    return content_.tag;
  }

 private:
  using Ranges = std::map<int64_t, std::shared_ptr<RemoteRange>>;

  // Waits until the size of the file, or a copy, is known. The first request is for these bytes.
  void Know(int64_t offset, size_t size);
  // Null if there is no copy.
  std::shared_ptr<CheckedCopy> Copy() {
    const std::lock_guard lock(mutex_);
    return copy_;
  }
  // Call after Know() has returned.
  int64_t size_known() {
    const std::lock_guard lock(mutex_);
    return copy_ ? copy_->size() : content_.total;
  }
  // The bytes available from `offset` on; empty at the end, and if there is a copy.
  LentBytes BytesAt(int64_t offset, size_t size);
  void ReadTo(int64_t offset);
  // The range that contains the byte at `offset`; requests ranges after it. Needs the mutex.
  std::shared_ptr<RemoteRange> RangeAt(int64_t offset, int64_t size);
  // Requests the missing part of `held` bytes from `offset` on.
  void ReadAhead(int64_t offset, int64_t held);
  bool MayReadAhead() const;
  std::shared_ptr<RemoteRange> Request(int64_t begin, int64_t end);
  void Await(const RemoteRange& range);
  template <class Ready>
  void WaitFor(Ready ready);
  bool Learn(const RemoteRange& range);
  bool OpenCopy(const std::optional<RemoteCopy>& copy);
  void LeaveCopy(const std::shared_ptr<CheckedCopy>& copy);
  void Begin(int64_t total, const std::string& tag);
  void CheckTotal(int64_t total);

  const std::string url_;
  std::optional<CancelToken> cancel_;
  Budget* const budget_;
  const bool throughout_;
  const int64_t begin_;
  // Also owned by the requests, which may end after the file is closed.
  const std::shared_ptr<EventCount> event_ = std::make_shared<EventCount>();

  std::mutex mutex_;       // a leaf lock; protects the following members
  Ranges ranges_;          // by their begin, without gaps from the reader on
  int64_t ahead_;          // bytes to request beyond the reader
  int64_t next_ = 0;       // where the last read ended
  RemoteContent content_;  // until it is known: as of the last time the file was opened
  bool known_ = false;
  std::shared_ptr<CheckedCopy> copy_;  // on this machine
  bool distrusts_copies_ = false;      // a copy did not match its checksums
  bool damaged_ = false;               // the next request asks to remove it
};

void RemoteFile::Know(int64_t offset, size_t size) {
  std::shared_ptr<RemoteRange> range;
  do {
    {
      const std::lock_guard lock(mutex_);
      if (copy_ || known_ || OpenCopy(FindRemoteCopy(url_))) return;
      range = RangeAt(offset, static_cast<int64_t>(size));
    }
    const RemoteRequest& request = range->request();
    WaitFor([&] { return request.done() || request.announced(); });
    if (!request.done()) return Begin(request.announced_total(), request.announced_tag());
  } while (!Learn(*range));
}

LentBytes RemoteFile::BytesAt(int64_t offset, size_t size) {
  std::shared_ptr<RemoteRange> range;
  do {
    Know(offset, size);
    {
      const std::lock_guard lock(mutex_);
      if (copy_ || offset >= content_.total) return {};
      range = RangeAt(offset, static_cast<int64_t>(size));
    }
    Await(*range);
  } while (!Learn(*range));
  if (Copy() || offset >= content_.total) return {};
  const RemoteAnswer& answer = range->request().answer();
  const int64_t have = answer.bytes ? static_cast<int64_t>(answer.bytes->size()) : 0;
  const int64_t left = answer.offset + have - offset;
  if (left <= 0 || offset < answer.offset) {
    throw Error(ErrorKind::kRuntime, "{}: {} bytes from byte {} were expected, got {} from byte {}",
                url_, range->end() - range->begin(), range->begin(), have, answer.offset);
  }
  return {answer.bytes, static_cast<size_t>(offset - answer.offset), static_cast<size_t>(left)};
}

void RemoteFile::ReadTo(int64_t offset) {
  const std::lock_guard lock(mutex_);
  next_ = offset;
}

std::shared_ptr<RemoteRange> RemoteFile::RangeAt(int64_t offset, int64_t size) {
  auto after = ranges_.upper_bound(offset);
  bool there = after != ranges_.begin() && std::prev(after)->second->end() > offset;
  const bool again = there && offset < next_;  // bytes that were read before
  if (offset != next_ && !again) {             // it may jump again
    if (!there) ranges_.clear();
    ahead_ = 0;
  } else if (!there && !ranges_.empty()) {
    ahead_ = std::clamp(4 * ahead_, kAheadAfterJump, kMuchAhead);
  }
  next_ = offset;
  if (!there) {
    const int64_t least = throughout_ && ahead_ > 0 ? kRangeBytes : std::max(size, kLeastRange);
    after = ranges_.emplace(offset, Request(offset, offset + least)).first;
    ++after;
  }
  auto here = std::prev(after);
  // A reader that has finished a range will probably read further ones.
  if (here != ranges_.begin()) ahead_ = std::max(ahead_, std::min(2 * ahead_, kMuchAhead));
  ranges_.erase(ranges_.begin(), here);
  std::shared_ptr<RemoteRange> found = here->second;
  found->Settle();
  ReadAhead(offset, ahead_);
  return found;
}

void RemoteFile::ReadAhead(int64_t offset, int64_t held) {
  if (ranges_.empty()) return;
  int64_t begin = ranges_.rbegin()->second->end();
  int64_t pending = 0;
  for (const auto& [_, range] : ranges_) {
    if (!range->request().done()) pending += range->request().size;
  }
  const int64_t step = std::min(ahead_, kRangeBytes);
  const int64_t total = content_.total;
  while (begin < total && begin - offset < held && pending < ahead_ && MayReadAhead()) {
    // Ends at the same boundaries as requests that began elsewhere: copies of ranges are cached by
    // them.
    int64_t end = std::min(total, begin + step);
    if (step == kRangeBytes) end = std::min(total, begin - begin % kRangeBytes + kRangeBytes);
    ranges_.emplace(begin, Request(begin, end));
    pending += end - begin;
    begin = end;
  }
}

// One range ahead is always allowed; further ones only while all stages together use less than half
// of the budget.
bool RemoteFile::MayReadAhead() const {
  return ranges_.size() < 2 || !budget_ || budget_->used() < budget_->limit() / 2;
}

std::shared_ptr<RemoteRange> RemoteFile::Request(int64_t begin, int64_t end) {
  auto request = std::make_shared<RemoteRequest>(RemoteRequest::Task::kRead, url_, event_);
  request->offset = begin;
  request->first = !known_ && ranges_.empty();
  request->fresh = distrusts_copies_;
  request->damaged = std::exchange(damaged_, false);
  request->size = (request->first ? end : std::min(end, content_.total)) - begin;
  if (!request->first) request->tag = content_.tag;
  return std::make_shared<RemoteRange>(std::move(request), budget_);
}

void RemoteFile::Await(const RemoteRange& range) {
  if (range.request().done()) return;
  WaitFor([&] {
    if (range.request().done()) return true;
    const std::lock_guard lock(mutex_);
    ReadAhead(next_, kMostHeld);
    return false;
  });
  const std::lock_guard lock(mutex_);
  if (ahead_ >= kMuchAhead && NowNs() - range.sent() < kSoon) {
    ahead_ = std::min(2 * ahead_, kMostAhead);
  }
}

template <class Ready>
void RemoteFile::WaitFor(Ready ready) {
  const CancelToken cancel = cancel_ ? *cancel_ : CancelToken();
  CancelToken::Watch watch(cancel, *event_);
  WaitStatus status = WaitStatus::kReady;
  TheRemoteRuntime().WithoutLock([&] { status = WaitUntil(*event_, cancel, ready); });
  if (status == WaitStatus::kCancelled) throw Error(ErrorKind::kCancelled, "");
  if (status == WaitStatus::kInterrupted) throw Error(ErrorKind::kInterrupted, "");
}

void RemoteFile::Begin(int64_t total, const std::string& tag) {
  const std::lock_guard lock(mutex_);
  if (known_ || copy_) return;
  // The other ranges belong to an earlier version of the file.
  if (total != content_.total || tag != content_.tag)
    std::erase_if(ranges_, [](const auto& each) { return !each.second->request().first; });
  content_.total = total;
  content_.tag = tag;
  known_ = true;
}

// Without a tag, only the size reveals that a file was replaced.
void RemoteFile::CheckTotal(int64_t total) {
  const std::lock_guard lock(mutex_);
  if (copy_ || total < 0 || total == content_.total) return;
  ranges_.clear();
  Error error(ErrorKind::kData,
              "the file was replaced while it was read: it had {} bytes, and has {} now",
              content_.total, total);
  Origin origin;
  origin.file = std::make_shared<const std::string>(url_);
  throw error.At(std::move(origin));
}

// Whether there is a copy that still exists. Needs the mutex.
bool RemoteFile::OpenCopy(const std::optional<RemoteCopy>& copy) {
  if (!copy || distrusts_copies_) return false;
  std::error_code ignored;
  copy_ = CheckedCopy::Open(copy->path, {.cancel = cancel_ ? &*cancel_ : nullptr});
  if (!copy_) {
    ForgetRemoteCopy(url_);
    // Otherwise another process has removed it.
    damaged_ = distrusts_copies_ = std::filesystem::exists(copy->path, ignored);
    return false;
  }
  // the modification time records the last use
  std::filesystem::last_write_time(copy->path, std::filesystem::file_time_type::clock::now(),
                                   ignored);
  content_.tag = copy->tag;
  return true;
}

// Reads the rest from the remote file.
void RemoteFile::LeaveCopy(const std::shared_ptr<CheckedCopy>& copy) {
  const std::lock_guard lock(mutex_);
  if (copy_ != copy) return;
  ForgetRemoteCopy(url_);
  content_.total = copy->size();
  known_ = true;
  damaged_ = distrusts_copies_ = true;
  copy_ = nullptr;
}

// Takes over what the answer reveals about the file; false if the caller must request it again.
bool RemoteFile::Learn(const RemoteRange& range) {
  try {
    const RemoteAnswer& answer = range.request().answer();
    if (answer.local.empty()) {
      Begin(answer.total, answer.tag);
      CheckTotal(answer.total);
      return true;
    }
    const std::lock_guard lock(mutex_);
    if (copy_) return true;
    ranges_.clear();
    return OpenCopy(RemoteCopy{answer.local, answer.tag});
  } catch (const Error&) {
    const std::lock_guard lock(mutex_);
    ranges_.clear();  // the next reader requests it again
    if (!known_ && !range.request().first) {
      content_ = {};
      return false;
    }
    throw;
  }
}

}  // namespace

std::unique_ptr<InputFile> OpenRemote(const std::string& url, const Reading& reading) {
  return std::make_unique<RemoteFile>(url, reading);
}

}  // namespace penstock
