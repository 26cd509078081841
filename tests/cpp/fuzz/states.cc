// States of iterators, mutated under a correct checksum. Each is either restored or refused, and no
// step after that reads out of bounds or runs for ever.
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <thread>

#include "engine/session.h"
#include "engine/state_frame.h"
#include "fuzz.h"
#include "state_pipelines.h"
#include "storage/crc32c.h"

namespace penstock::fuzz {
namespace {

constexpr int64_t kMostSteps = 200;

// Cancels a run that takes long.
class Closer {
 public:
  explicit Closer(Session& session)
      : thread_([this, &session](std::stop_token stop) {
          std::unique_lock lock(mutex_);
          event_.wait_for(lock, stop, std::chrono::milliseconds(50), [] { return false; });
          session.Cancel();
        }) {}

 private:
  std::mutex mutex_;
  std::condition_variable_any event_;
  std::jthread thread_;
};

// Each input is the number of a pipeline and a state of it.
std::vector<std::string> States(const std::string&) {
  std::vector<std::string> states;
  for (size_t i = 0; i < Pipelines().size(); ++i) {
    for (int64_t steps : {0, 1, 4, 9}) {
      Session session(Pipelines()[i].data, {}, {});
      for (int64_t step = 0; step < steps; ++step) {
        if (session.NextBlock(1).end) break;
      }
      states.push_back(static_cast<char>(i) + session.GetState({}));
    }
  }
  return states;
}

void RunState(const std::string& input, Random& random) {
  if (input.empty()) return;
  ForgetWindows();
  const Pipeline& pipeline =
      Pipelines()[static_cast<size_t>(static_cast<uint8_t>(input[0])) % Pipelines().size()];
  Session session(pipeline.data, {}, {});
  std::optional<Closer> closer;
  if (pipeline.endless) closer.emplace(session);
  session.SetState(std::string_view(input).substr(1));
  auto rows = static_cast<int64_t>(1 + random.Below(8));
  for (int64_t step = 0; step < kMostSteps; ++step) {
    Block block = session.NextBlock(rows);
    for (int64_t i = 0; i < block.rows; ++i) {
      Element row = block.Row(i);
      Require(row.leaves.size() == static_cast<size_t>(row.structure->leaves()), "a leaf for each");
    }
    if (block.error) {
      Require(!block.error->message().empty() || block.error->transient(), "an error says what");
    }
    if (block.end || (block.error && block.error->transient())) break;
  }
  if (!closer) session.GetState({});
}

void Seal(std::string& input) {
  if (input.size() < 9) return;
  size_t end = input.size() - 4;
  uint32_t crc = Crc32c(input.data() + 1, end - 1);
  std::memcpy(input.data() + end, &crc, sizeof(crc));
}

// --- changes of numbers in the position, and of the lengths of all texts around them ---

std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}

// The length of the number that begins at `at`; 0 if there is none.
size_t Read(const std::string& bytes, size_t at, uint64_t& value) {
  value = 0;
  for (size_t i = 0; i < 10 && at + i < bytes.size(); ++i) {
    auto byte = static_cast<uint8_t>(bytes[at + i]);
    value |= static_cast<uint64_t>(byte & 0x7F) << (7 * i);
    if (byte < 0x80) return i + 1;
  }
  return 0;
}

// Whether a text has its length at `at`; where it begins and ends.
bool IsText(const std::string& bytes, size_t at, size_t& begin, size_t& end) {
  uint64_t size;
  size_t length = Read(bytes, at, size);
  if (length == 0 || size > bytes.size() - at - length) return false;
  begin = at + length;
  end = begin + static_cast<size_t>(size);
  return true;
}

// Replaces the number at `at` and corrects the lengths of the texts that enclose it. A text counts
// as enclosing if it ends where the bytes end, or if only other texts follow it.
std::string Changed(const std::string& bytes, size_t at, const std::string& number) {
  std::vector<bool> to_end(bytes.size() + 1, false);
  to_end[bytes.size()] = true;
  size_t begin, end;
  for (size_t i = bytes.size(); i-- > 0;) {
    to_end[i] = IsText(bytes, i, begin, end) && end > begin && to_end[end];
  }
  for (size_t i = 0; i < at; ++i) {
    if (!to_end[i] || !IsText(bytes, i, begin, end) || begin > at || end <= at) continue;
    std::string inside = Changed(bytes.substr(begin, end - begin), at - begin, number);
    return bytes.substr(0, i) + Varint(inside.size()) + inside + bytes.substr(end);
  }
  uint64_t value;
  return bytes.substr(0, at) + number + bytes.substr(at + Read(bytes, at, value));
}

void ChangeNumbers(std::string& input, Random& random) {
  if (input.empty()) return;
  StateFrame frame;
  try {
    frame = StateFrame::Open(std::string_view(input).substr(1));
  } catch (const Error&) {
    return;
  }
  for (size_t changes = 1 + random.Below(3); changes > 0; --changes) {
    if (frame.body.empty()) return;
    size_t at = random.Below(frame.body.size());
    uint64_t value;
    if (Read(frame.body, at, value) == 0) continue;
    switch (random.Below(4)) {
      case 0:
        value += random.Below(9) - 4;
        break;
      case 1:
        value = random.Below(64);
        break;
      case 2:
        value = random.Bits() >> random.Below(64);
        break;
      default:
        value = (uint64_t{1} << random.Below(64)) - random.Below(2);
    }
    frame.body = Changed(frame.body, at, Varint(value));
  }
  input = input[0] + frame.Sealed();
}

const RegisterTarget states({"state", States, RunState, Seal, ChangeNumbers});

}  // namespace
}  // namespace penstock::fuzz
