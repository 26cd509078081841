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

// How a wait for the other end has ended: with a message, because it has closed, or without one.
enum class ChannelStatus { kDone, kClosed, kCancelled, kInterrupted, kTimeout };

// While one lives no fork child is made, which would keep sockets that it knows nothing of. No
// channel may be destroyed meanwhile.
class NoForks {
 public:
  NoForks();

 private:
  std::unique_lock<std::mutex> lock_;
};

// One end. Used by one thread at a time.
class Channel {
 public:
  // Takes over the socket. A fork child closes it at once: otherwise the other end would not see
  // that this process has ended.
  explicit Channel(int socket) : Channel(socket, NoForks()) {}
  Channel(int socket, const NoForks& since_it_was_made);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  int socket() const { return socket_; }
  // The names of the classes that the other end knows of.
  std::set<std::string>& announced() { return announced_; }
  // Whether the other end has closed it, and nothing is left to be received.
  bool Closed() const;
  // Gives up the foreign lock. After a cancel or an interrupt a part of the message may have been
  // sent, and the channel is of no more use. `cancel` may be null, here and below.
  // `files`, at most 8, are sent to the other end, too.
  ChannelStatus Send(std::string_view message, const CancelToken* cancel = nullptr,
                     std::span<const int> files = {});
  // From now on Receive stays awake over gaps that are as short as the last one was.
  void Linger() { lingers_ = true; }
  // Whether a whole message has been read from the socket and waits for Receive.
  bool HasMessage() const;
  // The next message. Gives up the foreign lock while there is none. What has come of a message
  // when the wait is cancelled, interrupted or over stays, and the next call goes on with it.
  ChannelStatus Receive(std::string& message, const CancelToken* cancel,
                        MonoTime deadline = kNoDeadline);

  // The files of messages that were received: the first that was not taken, -1 where there is none.
  int TakeFile();

 private:
  // As send(2) and recv(2), with files.
  ptrdiff_t SendSome(std::string_view bytes, std::span<const int> files);
  ptrdiff_t ReceiveSome(char* bytes, size_t size);
  // Until the socket has bytes, or room, as `events` of poll(2) says.
  ChannelStatus Wait(short events, const CancelToken* cancel, MonoTime deadline);
  // Waits for bytes without sleeping, for a while. False: none have come.
  bool StayAwake() const;

  const int socket_;
  bool lingers_ = false;
  bool short_gaps_ = false;  // the last wait for bytes was a short one
  std::string partial_;
  std::deque<int> files_;
  std::set<std::string> announced_;
};

}  // namespace penstock
