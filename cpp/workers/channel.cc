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

bool Channel::Send(std::string_view message) {
  LeaveForeignLock();
  const Length length = message.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  bytes += message;
  size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t n = send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n >= 0)
      sent += static_cast<size_t>(n);
    else if (errno != EINTR)
      return false;
  }
  return true;
}

Received Channel::WaitForBytes(const CancelToken* cancel, MonoTime deadline) {
  BlockingHook* const hook = GetBlockingHook();
  MonoTime looked = NowNs();
  for (;;) {
    if (hook) hook->BeforeWait();
    pollfd ready{socket_, POLLIN, 0};
    constexpr MonoTime kMs = 1'000'000;
    const MonoTime left = deadline == kNoDeadline ? kSliceMs : (deadline - NowNs()) / kMs + 1;
    const int count = poll(&ready, 1, static_cast<int>(std::clamp<MonoTime>(left, 0, kSliceMs)));
    if (count > 0) return Received::kMessage;
    if (cancel && cancel->cancelled()) return Received::kCancelled;
    const MonoTime now = NowNs();
    if (now >= deadline) return Received::kTimeout;
    constexpr MonoTime kLook = 100'000'000;
    if (hook && hook->Interruptible() && (count < 0 || now - looked >= kLook)) {
      if (hook->Interrupted()) return Received::kInterrupted;
      looked = now;
    }
  }
}

Received Channel::Receive(std::string& message, const CancelToken* cancel, MonoTime deadline) {
  for (;;) {
    Length length = 0;
    if (partial_.size() >= sizeof length) {
      std::memcpy(&length, partial_.data(), sizeof length);
      if (partial_.size() - sizeof length >= length) {
        message.assign(partial_, sizeof length, length);
        partial_.erase(0, sizeof length + length);
        return Received::kMessage;
      }
    }
    const size_t had = partial_.size();
    const size_t missing = sizeof length + length > had ? sizeof length + length - had : 0;
    partial_.resize(had + std::max(missing, kRead));
    const ssize_t n = recv(socket_, partial_.data() + had, partial_.size() - had, MSG_DONTWAIT);
    const int code = errno;
    partial_.resize(had + static_cast<size_t>(std::max<ssize_t>(n, 0)));
    if (n > 0 || (n < 0 && code == EINTR)) continue;
    if (n == 0 || (code != EAGAIN && code != EWOULDBLOCK)) return Received::kClosed;
    const Received waited = WaitForBytes(cancel, deadline);
    if (waited != Received::kMessage) return waited;
  }
}

#else

Channel::~Channel() = default;
bool Channel::Closed() const { return true; }
bool Channel::Send(std::string_view) { return false; }
Received Channel::Receive(std::string&, const CancelToken*, MonoTime) { return Received::kClosed; }

#endif

}  // namespace penstock
