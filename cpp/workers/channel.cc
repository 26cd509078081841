// Messages over a stream socket: their length, then their bytes.
#include "workers/channel.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "runtime/blocking.h"
#if defined(__linux__)
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#endif

namespace penstock {

#if defined(__linux__)
namespace {

using Length = uint64_t;
constexpr size_t kRead = 64 << 10;
// How late a cancel is noticed: nothing else ends a wait for a socket.
constexpr int kSliceMs = 20;

}  // namespace

Channel::~Channel() { close(socket_); }

bool Channel::Closed() const {
  char byte;
  return recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

ChannelStatus Channel::Send(std::string_view message, const CancelToken* cancel) {
  LeaveForeignLock();
  const Length length = message.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  bytes += message;
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t n =
        send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      sent += static_cast<size_t>(n);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return ChannelStatus::kClosed;
    const ChannelStatus waited = Wait(POLLOUT, cancel, kNoDeadline);
    if (waited != ChannelStatus::kDone) return waited;
  }
  return ChannelStatus::kDone;
}

ChannelStatus Channel::Wait(short events, const CancelToken* cancel, MonoTime deadline) {
  BlockingHook* const hook = GetBlockingHook();
  MonoTime looked = NowNs();
  for (;;) {
    if (hook) hook->BeforeWait();
    pollfd ready{socket_, events, 0};
    constexpr MonoTime kMs = 1'000'000;
    const MonoTime left = deadline == kNoDeadline ? kSliceMs : (deadline - NowNs()) / kMs + 1;
    const int count = poll(&ready, 1, static_cast<int>(std::clamp<MonoTime>(left, 0, kSliceMs)));
    if (count > 0) return ChannelStatus::kDone;
    if (cancel && cancel->cancelled()) return ChannelStatus::kCancelled;
    const MonoTime now = NowNs();
    if (now >= deadline) return ChannelStatus::kTimeout;
    constexpr MonoTime kLook = 100'000'000;
    if (hook && hook->Interruptible() && (count < 0 || now - looked >= kLook)) {
      if (hook->Interrupted()) return ChannelStatus::kInterrupted;
      looked = now;
    }
  }
}

bool Channel::HasMessage() const {
  Length length = 0;
  if (partial_.size() < sizeof length) return false;
  std::memcpy(&length, partial_.data(), sizeof length);
  return partial_.size() - sizeof length >= length;
}

ChannelStatus Channel::Receive(std::string& message, const CancelToken* cancel, MonoTime deadline) {
  for (;;) {
    Length length = 0;
    if (partial_.size() >= sizeof length) {
      std::memcpy(&length, partial_.data(), sizeof length);
      if (partial_.size() - sizeof length >= length) {
        message.assign(partial_, sizeof length, length);
        partial_.erase(0, sizeof length + length);
        return ChannelStatus::kDone;
      }
    }
    const size_t had = partial_.size();
    const size_t missing = sizeof length + length > had ? sizeof length + length - had : 0;
    partial_.resize(had + std::max(missing, kRead));
    const ssize_t n = recv(socket_, partial_.data() + had, partial_.size() - had, MSG_DONTWAIT);
    const int code = errno;
    partial_.resize(had + static_cast<size_t>(std::max<ssize_t>(n, 0)));
    if (n > 0 || (n < 0 && code == EINTR)) continue;
    if (n == 0 || (code != EAGAIN && code != EWOULDBLOCK)) return ChannelStatus::kClosed;
    const ChannelStatus waited = Wait(POLLIN, cancel, deadline);
    if (waited != ChannelStatus::kDone) return waited;
  }
}

#else

Channel::~Channel() = default;
bool Channel::Closed() const { return true; }
bool Channel::HasMessage() const { return false; }
ChannelStatus Channel::Send(std::string_view, const CancelToken*) { return ChannelStatus::kClosed; }
ChannelStatus Channel::Receive(std::string&, const CancelToken*, MonoTime) {
  return ChannelStatus::kClosed;
}

#endif

}  // namespace penstock
