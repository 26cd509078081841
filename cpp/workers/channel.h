// Messages between a process and its worker, over a socket.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "runtime/cancel.h"
#include "runtime/clock.h"

namespace penstock {

enum class Received { kMessage, kClosed, kCancelled, kInterrupted, kTimeout };

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
  // False when the other end is closed. Gives up the foreign lock.
  bool Send(std::string_view message);
  // The next message. Gives up the foreign lock while there is none. What has come of a message
  // when the wait is cancelled, interrupted or over stays, and the next call goes on with it.
  // `cancel` may be null.
  Received Receive(std::string& message, const CancelToken* cancel,
                   MonoTime deadline = kNoDeadline);

 private:
  Received WaitForBytes(const CancelToken* cancel, MonoTime deadline);

  const int socket_;
  std::string partial_;
  std::set<std::string> announced_;
};

}  // namespace penstock
