// The threads that read stretches of a file.
#include "stages/files/stretches.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <system_error>
#include <utility>

#include "runtime/activity.h"
#include "runtime/clock.h"

namespace penstock {
namespace {

constexpr int64_t kTail = 16 << 10;  // bytes read beyond a stretch, for its last record

// The records found in one stretch.
class FoundRecords {
 public:
  FoundRecords(int64_t end, size_t most) : end_(end), most_(most) {}

  // Adds `found`, which begin `at` bytes into the window and at `offset` of the file. Returns false
  // once one begins after the stretch or is too long.
  bool Add(std::span<const RecordSpan> found, size_t at, int64_t offset) {
    size_t begin = 0;
    for (const RecordSpan& record : found) {
      next_ = offset + static_cast<int64_t>(begin);
      if (next_ >= end_ || record.size > most_) return false;
      offsets_.push_back(next_);
      bounds_.push_back(static_cast<int64_t>(at + record.begin));
      bounds_.push_back(static_cast<int64_t>(at + record.begin + record.size));
      begin = record.next;
    }
    next_ = offset + static_cast<int64_t>(begin);
    return next_ < end_;
  }
  // Whether the next record begins after the stretch.
  bool whole() const { return next_ >= end_; }
  // The window starts at `position` of `bytes`.
  void MoveTo(FileStretch& stretch, BufferRef bytes, size_t position) {
    stretch.spans = Buffer::Allocate(bounds_.size() * sizeof(int64_t));
    auto* to = reinterpret_cast<int64_t*>(stretch.spans->data());
    for (const int64_t bound : bounds_) *to++ = bound + static_cast<int64_t>(position);
    stretch.bytes = std::move(bytes);
    stretch.offsets = std::move(offsets_);
    stretch.next = next_;
    stretch.whole = whole();
  }

 private:
  const int64_t end_;  // of the stretch, in the file
  const size_t most_;  // maximum bytes per record
  std::vector<int64_t> offsets_;
  std::vector<int64_t> bounds_;
  int64_t next_ = 0;
};

}  // namespace

StretchReaders::StretchReaders(Session& session, const StageLabel& stage, CancelToken cancel,
                               StageStats& stats, int threads, StretchPlan plan)
    : session_(session),
      stats_(stats),
      plan_(std::move(plan)),
      cancel_(std::move(cancel)),
      ring_(static_cast<size_t>(2 * threads)),
      room_watch_(cancel_, room_),
      budget_watch_(session.budget(), room_),
      ready_watch_(cancel_, ready_),
      files_(static_cast<size_t>(threads)),
      workers_(
          Lane::kNative, stage.kind.c_str(),
          [this](int thread, Parking& parking) { Work(thread, parking); }, [] {}) {
  session_.NoteThreads();
  while (workers_.size() < threads) {
    try {
      workers_.Add();
    } catch (const std::system_error& refusal) {
      if (workers_.empty()) throw;
      session_.NoteRefusal(stage, refusal);
      break;
    } catch (...) {  // interrupted, or out of memory
      if (workers_.empty()) throw;
      break;
    }
  }
  stats_.parallelism.store(workers_.size(), std::memory_order_relaxed);
}

StretchReaders::~StretchReaders() {
  cancel_.Cancel();
  workers_.Join();
  stats_.parallelism.store(0, std::memory_order_relaxed);
}

WaitStatus StretchReaders::Take(FileStretch& stretch) {
  const auto all = [](int) { return true; };
  if (!ring_.try_pop(stretch)) {
    workers_.Recall(all, true);
    const int64_t start = NowNs();
    const WaitStatus status = WaitUntil(ready_, cancel_, [&] { return ring_.try_pop(stretch); });
    stats_.wait_ns.fetch_add(NowNs() - start, std::memory_order_relaxed);
    if (status != WaitStatus::kReady) return status;
  }
  ++taken_;
  room_.NotifyAll();
  if (!done()) workers_.Recall(all, false);
  return WaitStatus::kReady;
}

bool StretchReaders::HasRoom(int64_t number) const {
  const auto slot = static_cast<uint64_t>(number);
  return ring_.has_room(slot) && (slot == ring_.head() || !session_.budget().over());
}

// Takes the number of a stretch for which there is room; returns -1 if there is no more to do.
int64_t StretchReaders::TakeNumber(Parking& parking) {
  int64_t number = 0;
  const WaitsFor room(session_.budget().over() ? Doing::kMemory : Doing::kRoom);
  do {
    const WaitStatus status = parking.Wait(room_, cancel_, ParkingPatience(), [&] {
      number = next_.load(std::memory_order_relaxed);
      return number >= plan_.count || HasRoom(number);
    });
    if (status != WaitStatus::kReady || cancel_.cancelled() || number >= plan_.count) return -1;
    // relaxed: the numbers only have to be distinct. The ring publishes the data.
  } while (!next_.compare_exchange_weak(number, number + 1, std::memory_order_relaxed));
  return number;
}

void StretchReaders::Work(int thread, Parking& parking) {
  const Session::Serving serving(session_);
  for (;;) {
    const InStage here(&stats_);
    const int64_t number = TakeNumber(parking);
    if (number < 0) return;
    const MonoTime start = NowNs();
    FileStretch stretch = Read(number, files_[static_cast<size_t>(thread)]);
    StageStats::Add(stats_.busy_ns, NowNs() - start);
    ring_.publish(static_cast<uint64_t>(number), std::move(stretch));
    ready_.NotifyOne();
  }
}

FileStretch StretchReaders::Read(int64_t number, std::unique_ptr<ByteSource>& file) {
  FileStretch stretch;
  try {
    ReadInto(number, file, stretch);
  } catch (const std::exception&) {  // the sequential reader meets the error again
    stretch = FileStretch();
    file.reset();
  }
  return stretch;
}

void StretchReaders::ReadInto(int64_t number, std::unique_ptr<ByteSource>& file,
                              FileStretch& stretch) {
  const int64_t begin = plan_.begin + number * plan_.size;
  const int64_t end = begin + plan_.size;
  // Except for the first stretch, include the byte before it: it shows whether a record begins with
  // the stretch.
  const int64_t from = number == 0 ? begin : begin - 1;
  if (!file) file = plan_.open(from);
  ByteSource& bytes = *file;
  bytes.Jump(static_cast<size_t>(from - bytes.window().offset));
  bytes.Fill(static_cast<size_t>(end - from + kTail));
  size_t at = 0;
  if (number > 0) {
    const size_t most = std::min(bytes.window().size, static_cast<size_t>(plan_.size));
    const uint8_t* data = bytes.window().data;
    const void* line_end = most > 0 ? std::memchr(data, '\n', most) : nullptr;
    if (!line_end) {  // it lies within a record that began earlier
      stretch.whole = most == static_cast<size_t>(plan_.size);
      return;
    }
    at = static_cast<size_t>(static_cast<const uint8_t*>(line_end) - data) + 1;
  }
  FoundRecords records(end, plan_.max_record);
  const auto reader = plan_.reader();
  for (;;) {
    ByteWindow rest = bytes.window();
    rest.data += at;
    rest.size -= at;
    rest.offset += static_cast<int64_t>(at);
    rest.ended = false;  // leaves a last line without a line end to the sequential reader
    std::array<RecordSpan, 64> found;
    const size_t count = reader->FindRun(rest, found);
    if (!records.Add({found.data(), count}, at, rest.offset)) break;
    if (count > 0) {
      at += found[count - 1].next;
    } else if (bytes.window().ended || rest.size > plan_.max_record) {
      break;
    } else {
      bytes.Fill(2 * bytes.window().size);
    }
  }
  records.MoveTo(stretch, bytes.buffer(), bytes.position());
  stretch.charge = BudgetCharge(session_.budget(),
                                static_cast<int64_t>(stretch.bytes->size() + stretch.spans->size() +
                                                     sizeof(int64_t) * stretch.offsets.size()));
}

}  // namespace penstock
