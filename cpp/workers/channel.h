// Messages between a process and its worker, over a socket.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "runtime/cancel.h"
#include "runtime/clock.h"

namespace penstock {

// How an operation ended: kDone with a message, kClosed by the other end, the others without a
// message.
enum class ChannelStatus { kDone, kClosed, kCancelled, kInterrupted, kTimeout };

// While one exists, fork children cannot be created: they would keep sockets that they do not know
// about. No channel may be destroyed meanwhile.
class NoForks {
 public:
  NoForks();

 private:
  std::unique_lock<std::mutex> lock_;
};

// One end. Not thread-safe.
class Channel {
 public:
  // Takes over the socket. A fork child closes it immediately: otherwise the other end would not
  // notice that this process has ended.
  explicit Channel(int socket) : Channel(socket, NoForks()) {}
  Channel(int socket, const NoForks& since_it_was_made);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  int socket() const { return socket_; }
  // The names of the classes that the other end knows.
  std::set<std::string>& announced() { return announced_; }
  // Whether the other end has closed the socket and nothing is left to receive.
  bool Closed() const;
  // Sends a message, and releases the foreign lock. After a cancel or an interrupt, part of the
  // message may have been sent, and the channel is unusable. `cancel` may be null, here and below.
  // `files`, at most 8, are also sent to the other end.
  ChannelStatus Send(std::string_view message, const CancelToken* cancel = nullptr,
                     std::span<const int> files = {});
  // From now on, Receive busy-waits across gaps as short as the previous one.
  void Linger() { lingers_ = true; }
  // Whether a whole message has been read from the socket and is ready for Receive.
  bool HasMessage() const;
  // Receives the next message. Releases the foreign lock while there is none. If the wait is
  // cancelled, interrupted or times out, a partial message is kept, and the next call continues
  // with it.
  ChannelStatus Receive(std::string& message, const CancelToken* cancel,
                        MonoTime deadline = kNoDeadline);

  // Takes the oldest file received with a message; -1 if no file is left.
  int TakeFile();

 private:
  // As send(2) and recv(2), with files.
  ptrdiff_t SendSome(std::string_view bytes, std::span<const int> files);
  ptrdiff_t ReceiveSome(char* bytes, size_t size);
  // Waits until the socket has bytes, or room, as `events` of poll(2) selects.
  ChannelStatus Wait(short events, const CancelToken* cancel, MonoTime deadline);
  // Polls for bytes briefly without sleeping. False: none arrived.
  bool StayAwake() const;

  const int socket_;
  bool lingers_ = false;
  bool short_gaps_ = false;  // the last wait for bytes was short
  std::string partial_;
  std::deque<int> files_;
  std::set<std::string> announced_;
};

}  // namespace penstock
