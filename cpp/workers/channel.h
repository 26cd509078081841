// Messages between a process and its worker, over a socket.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "runtime/cancel.h"
#include "runtime/clock.h"

namespace penstock {

// How a wait for the other end has ended: with a message, because it has closed, or without one.
enum class ChannelStatus { kDone, kClosed, kCancelled, kInterrupted, kTimeout };

// One end. Used by one thread at a time.
class Channel {
 public:
  // Takes over the socket.
  explicit Channel(int socket) : socket_(socket) {}
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
  ChannelStatus Send(std::string_view message, const CancelToken* cancel = nullptr);
  // Whether a whole message has been read from the socket and waits for Receive.
  bool HasMessage() const;
  // The next message. Gives up the foreign lock while there is none. What has come of a message
  // when the wait is cancelled, interrupted or over stays, and the next call goes on with it.
  ChannelStatus Receive(std::string& message, const CancelToken* cancel,
                        MonoTime deadline = kNoDeadline);

 private:
  // Until the socket has bytes, or room, as `events` of poll(2) says.
  ChannelStatus Wait(short events, const CancelToken* cancel, MonoTime deadline);

  const int socket_;
  std::string partial_;
  std::set<std::string> announced_;
};

}  // namespace penstock
