// Messages over a stream socket: their length, then their bytes.
#include "workers/channel.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <mutex>

#include "runtime/blocking.h"
#include "runtime/fork.h"
#if defined(__linux__)
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>
#endif

namespace penstock {

#if defined(__linux__)
namespace {

using Length = uint64_t;
constexpr size_t kRead = 64 << 10;
// The maximum delay until a cancel is noticed: nothing else ends a wait for a socket.
constexpr int kSliceMs = 20;
// The maximum gap across which a thread stays awake. Sleeping and waking up takes about 50 us, and
// an idle CPU core goes to sleep too. If the gaps get longer, at most this much time is wasted.
constexpr MonoTime kShortGap = 150'000;

std::mutex g_sockets_mutex;  // a leaf lock
// The sockets of the channels of this process.
std::set<int>& Sockets() {
  static auto* sockets = new std::set<int>();
  return *sockets;
}

}  // namespace

NoForks::NoForks() {
  static const bool installed = [] {
    HoldAcrossFork(g_sockets_mutex);
    OnForkChild([] {
      for (int socket : Sockets()) close(socket);
      Sockets().clear();
    });
    return true;
  }();
  static_cast<void>(installed);
  lock_ = std::unique_lock(g_sockets_mutex);
}

Channel::Channel(int socket, const NoForks&) : socket_(socket) { Sockets().insert(socket_); }

Channel::~Channel() {
  for (int file : files_) close(file);
  std::lock_guard lock(g_sockets_mutex);
  if (Sockets().erase(socket_)) close(socket_);
}

bool Channel::Closed() const {
  char byte;
  return recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

int Channel::TakeFile() {
  if (files_.empty()) return -1;
  const int file = files_.front();
  files_.pop_front();
  return file;
}

ptrdiff_t Channel::SendSome(std::string_view bytes, std::span<const int> files) {
  if (files.empty()) return send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  iovec data{const_cast<char*>(bytes.data()), bytes.size()};
  constexpr size_t kMostFiles = 8;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMostFiles)] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = CMSG_SPACE(files.size_bytes());
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(files.size_bytes());
  std::memcpy(CMSG_DATA(header), files.data(), files.size_bytes());
  return sendmsg(socket_, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

ptrdiff_t Channel::ReceiveSome(char* bytes, size_t size) {
  iovec data{bytes, size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ptrdiff_t n = recvmsg(socket_, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (n <= 0) return n;
  // At most one: the kernel does not merge bytes that carry different files.
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
    int file = -1;
    std::memcpy(&file, CMSG_DATA(header), sizeof file);
    files_.push_back(file);
  }
  return n;
}

ChannelStatus Channel::Send(std::string_view message, const CancelToken* cancel,
                            std::span<const int> files) {
  LeaveForeignLock();
  const Length length = message.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  bytes += message;
  for (size_t sent = 0; sent < bytes.size();) {
    const ptrdiff_t n =
        SendSome(std::string_view(bytes).substr(sent), sent == 0 ? files : std::span<const int>());
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
  const MonoTime start = NowNs();
  MonoTime looked = start;
  if (short_gaps_ && events == POLLIN) {
    if (hook) hook->BeforeWait();
    if (StayAwake()) return ChannelStatus::kDone;
  }
  for (;;) {
    if (hook) hook->BeforeWait();
    pollfd ready{socket_, events, 0};
    constexpr MonoTime kMs = 1'000'000;
    const MonoTime left = deadline == kNoDeadline ? kSliceMs : (deadline - NowNs()) / kMs + 1;
    const int count = poll(&ready, 1, static_cast<int>(std::clamp<MonoTime>(left, 0, kSliceMs)));
    if (count > 0) {
      short_gaps_ = lingers_ && NowNs() - start < kShortGap;
      return ChannelStatus::kDone;
    }
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

bool Channel::StayAwake() const {
  pollfd ready{socket_, POLLIN, 0};
  for (const MonoTime end = NowNs() + kShortGap; NowNs() < end;) {
    if (poll(&ready, 1, 0) != 0) return true;
    sched_yield();  // lets other threads run first, perhaps the one that will answer
  }
  return false;
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
    const ptrdiff_t n = ReceiveSome(partial_.data() + had, partial_.size() - had);
    const int code = errno;
    partial_.resize(had + static_cast<size_t>(std::max<ptrdiff_t>(n, 0)));
    if (n > 0 || (n < 0 && code == EINTR)) continue;
    if (n == 0 || (code != EAGAIN && code != EWOULDBLOCK)) return ChannelStatus::kClosed;
    const ChannelStatus waited = Wait(POLLIN, cancel, deadline);
    if (waited != ChannelStatus::kDone) return waited;
  }
}

#else

NoForks::NoForks() = default;
Channel::Channel(int socket, const NoForks&) : socket_(socket) {}
Channel::~Channel() = default;
bool Channel::Closed() const { return true; }
bool Channel::HasMessage() const { return false; }
int Channel::TakeFile() { return -1; }
ChannelStatus Channel::Send(std::string_view, const CancelToken*, std::span<const int>) {
  return ChannelStatus::kClosed;
}
ChannelStatus Channel::Receive(std::string&, const CancelToken*, MonoTime) {
  return ChannelStatus::kClosed;
}

#endif

}  // namespace penstock
