// Worker processes that receive objects as bytes and answer requests in order: both ends.

#include <pybind11/stl.h>

#include <atomic>
#include <deque>
#include <optional>
#include <span>

#include "python/bind.h"
#include "python/gil.h"
#include "python/whole.h"
#include "python/worker_command.h"
#include "runtime/clock.h"
#include "runtime/fork.h"
#include "workers/parcel.h"
#include "workers/pool.h"
#include "workers/serve.h"
#include "workers/worker.h"

namespace py = pybind11;

namespace penstock {
namespace {

// Memory shared with another process, exposed to Python.
struct SharedBytes {
  BufferRef buffer;
  uint64_t offset = 0;
  uint64_t size = 0;

  py::buffer_info Info() const {
    return {buffer->data() + offset, static_cast<py::ssize_t>(size), false};
  }
};

// Borrows the bytes of Python objects for the duration of a call; with the GIL.
class BorrowedBytes {
 public:
  explicit BorrowedBytes(const py::list& objects) : views_(objects.size()) {
    for (Py_buffer& view : views_) {
      const py::handle object = objects[taken_];
      if (PyObject_GetBuffer(object.ptr(), &view, PyBUF_SIMPLE) < 0) {
        Release();
        throw py::error_already_set();
      }
      ++taken_;
      parts_.emplace_back(static_cast<const char*>(view.buf), static_cast<size_t>(view.len));
    }
  }
  ~BorrowedBytes() { Release(); }
  BorrowedBytes(const BorrowedBytes&) = delete;
  BorrowedBytes& operator=(const BorrowedBytes&) = delete;
  std::span<const std::string_view> parts() const { return parts_; }

 private:
  void Release() {
    while (taken_ > 0) PyBuffer_Release(&views_[--taken_]);
  }

  std::vector<Py_buffer> views_;
  size_t taken_ = 0;
  std::vector<std::string_view> parts_;
};

py::list ListOf(std::vector<ParcelPart> parts) {
  py::list list;
  for (ParcelPart& part : parts) {
    list.append(SharedBytes{std::move(part.buffer), part.offset, part.size});
  }
  return list;
}

// Releases the memory lent to a message that will never be read.
class Outgoing {
 public:
  Outgoing(std::span<const std::string_view> parts, Channel& channel) {
    try {
      message_ = PackParcel(parts, OwnHeap(), lent_);
    } catch (...) {
      Forget();
      throw;
    }
    status_ = channel.Send(message_);
    if (status_ != ChannelStatus::kDone) Forget();
  }
  ChannelStatus status() const { return status_; }
  std::vector<Stretch> TakeLent() { return std::move(lent_); }

 private:
  void Forget() {
    for (const Stretch& stretch : lent_) OwnHeap().Forget(stretch);
    lent_.clear();
  }

  std::vector<Stretch> lent_;
  std::string message_;
  ChannelStatus status_ = ChannelStatus::kDone;
};

// Whether a message was sent or received; false if the other end has closed. Raises if a signal
// ended the wait.
bool Arrived(ChannelStatus status, Attachment& attachment) {
  attachment.Attach();
  if (status == ChannelStatus::kInterrupted) {
    attachment.RestoreInterrupt();
    throw py::error_already_set();
  }
  return status == ChannelStatus::kDone;
}

// A worker process that answers each request with one message. Only one thread may use it at a
// time: concurrent calls are refused, because a call waits without the GIL, or there is none.
class AnsweringWorker {
 public:
  AnsweringWorker(const WorkerCommand& command, int given)
      : generation_(ForkGeneration()), worker_(Started(command, given)) {}
  ~AnsweringWorker() {
    // In a fork child, the worker remains the parent's.
    if (generation_ == ForkGeneration())
      Kill();
    else
      static_cast<void>(worker_.release());
  }
  AnsweringWorker(const AnsweringWorker&) = delete;
  AnsweringWorker& operator=(const AnsweringWorker&) = delete;

  int pid() const { return pid_; }
  int socket() { return Mine()->channel().socket(); }
  size_t outstanding() {
    const Turn turn(taken_);
    return worker_ ? worker_->requests.size() : 0;
  }
  // Parks the worker. The pool ends it when it has been idle for long.
  void Rest() {
    if (generation_ != ForkGeneration()) return;
    const Turn turn(taken_);
    if (worker_) ThePool().Park(this, std::move(worker_));
  }
  // Call after Rest; false if the worker has ended.
  bool Wake() {
    if (generation_ != ForkGeneration()) return false;
    const Turn turn(taken_);
    if (!worker_) worker_ = ThePool().Unpark(this);
    return worker_ != nullptr;
  }
  void Want(int64_t from) { Mine()->heap().table().wanted.store(from, std::memory_order_relaxed); }

  bool Send(const py::list& objects) {
    const BorrowedBytes bytes(objects);
    const Use worker = Mine();
    Attachment attachment(Attachment::Role::kConsumer);
    attachment.Detach();
    Outgoing outgoing(bytes.parts(), worker->channel());
    if (outgoing.status() == ChannelStatus::kDone) worker->requests.push_back(outgoing.TakeLent());
    return Arrived(outgoing.status(), attachment);
  }

  // Appends each answer to the list immediately: after an interrupt an answer either is in the list
  // or has not arrived. Takes everything already read from the socket, because no one would wait
  // for the rest.
  bool ReceiveInto(py::list answers) {
    const Use worker = Mine();
    Attachment attachment(Attachment::Role::kConsumer);
    std::string message;
    do {
      if (!Arrived(worker->channel().Receive(message, nullptr), attachment)) return false;
      worker->requests.pop_front();
      answers.append(ListOf(UnpackParcel(message, worker->heap())));
    } while (worker->channel().HasMessage());
    return true;
  }

  std::string HowItEnded() {
    const Use worker = Mine();
    Attachment attachment(Attachment::Role::kConsumer);
    attachment.Detach();
    if (how_it_ended_.empty()) how_it_ended_ = worker->HowItEnded();
    return how_it_ended_;
  }

  void Kill() {
    if (generation_ != ForkGeneration()) return;
    const Turn turn(taken_);
    if (!worker_) worker_ = ThePool().Unpark(this);
    worker_.reset();
  }

 private:
  // Exclusive use of the worker during a call.
  class Turn {
   public:
    explicit Turn(std::atomic<bool>& taken) : taken_(taken) {
      // acquire: pairs with the release below.
      if (taken_.exchange(true, std::memory_order_acquire)) {
        throw Error(ErrorKind::kWorker,
                    "worker processes: a pass is used by one thread at a time, and another one is "
                    "in it; give each thread a pass of its own, or let them take turns");
      }
    }
    ~Turn() { taken_.store(false, std::memory_order_release); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    std::atomic<bool>& taken_;
  };

  static std::unique_ptr<Worker> Started(const WorkerCommand& command, int given) {
    Attachment attachment(Attachment::Role::kConsumer);
    attachment.Detach();
    try {
      auto worker = Worker::Start(command, nullptr, given);
      attachment.Attach();
      return worker;
    } catch (const Error& error) {
      attachment.Attach();
      if (error.kind() != ErrorKind::kInterrupted) throw;
      attachment.RestoreInterrupt();
    }
    throw py::error_already_set();
  }

  // The worker, for the duration of a call.
  struct Use {
    Turn turn;
    Worker& worker;
    Worker* operator->() const { return &worker; }
  };
  Use Mine() {
    if (generation_ != ForkGeneration()) {
      throw Error(ErrorKind::kWorker,
                  "worker processes: they belong to the process that has forked this one; begin "
                  "another pass here");
    }
    return {Turn(taken_), Present()};
  }
  Worker& Present() {
    if (!worker_) throw Error(ErrorKind::kWorker, "worker processes: this one was ended");
    return *worker_;
  }

  const uint64_t generation_;
  std::atomic<bool> taken_{false};
  std::unique_ptr<Worker> worker_;
  const int pid_ = worker_->pid();
  std::string how_it_ended_;
};

// The other end, in the worker.
class RequestsOfParent {
 public:
  RequestsOfParent() : channel_(Worker::kSocketFile), parent_(Worker::kParentHeapFile) {
    KeepFreedMemory();
    UseOwnHeap(Worker::kOwnHeapFile);
    EndWithParent(channel_.socket());
  }

  int64_t wanted() { return OwnHeap().table().wanted.load(std::memory_order_relaxed); }

  py::object Receive() {
    Attachment attachment(Attachment::Role::kConsumer);
    std::string message;
    if (!Arrived(channel_.Receive(message, nullptr), attachment)) return py::none();
    return ListOf(UnpackParcel(message, parent_));
  }

  bool Send(const py::list& objects) {
    const BorrowedBytes bytes(objects);
    Attachment attachment(Attachment::Role::kConsumer);
    attachment.Detach();
    Outgoing outgoing(bytes.parts(), channel_);
    return Arrived(outgoing.status(), attachment);
  }

 private:
  Channel channel_;
  PeerHeap parent_;
};

std::unique_ptr<AnsweringWorker> StartAnswering(const CommandOfPython& command, int given) {
  return std::make_unique<AnsweringWorker>(ToWorkerCommand(command), given);
}

}  // namespace

void BindParcels(py::module_& module) {
  py::class_<SharedBytes> bytes(module, "SharedBytes", py::buffer_protocol(),
                                py::custom_type_setup(MadeWhole));
  Noted(bytes).def_buffer(&SharedBytes::Info);
  py::class_<AnsweringWorker> worker(module, "AnsweringWorker", py::custom_type_setup(MadeWhole));
  DefInit(Noted(worker), &StartAnswering, py::arg("command"), py::arg("given"))
      .def_property_readonly("pid", &AnsweringWorker::pid)
      .def_property_readonly("outstanding", &AnsweringWorker::outstanding)
      .def("fileno", &AnsweringWorker::socket)
      .def("want", &AnsweringWorker::Want, py::arg("first"))
      .def("send", &AnsweringWorker::Send, py::arg("parts"))
      .def("receive_into", &AnsweringWorker::ReceiveInto, py::arg("answers"))
      .def("how_it_ended", &AnsweringWorker::HowItEnded)
      .def("rest", &AnsweringWorker::Rest)
      .def("wake", &AnsweringWorker::Wake)
      .def("kill", &AnsweringWorker::Kill);
  py::class_<RequestsOfParent> requests(module, "RequestsOfParent",
                                        py::custom_type_setup(MadeWhole));
  Noted(requests)
      .def_property_readonly("wanted", &RequestsOfParent::wanted)
      .def("receive", &RequestsOfParent::Receive)
      .def("send", &RequestsOfParent::Send, py::arg("parts"));
  // Called once in a worker process: takes over the files that the worker was started with.
  module.def("requests_of_parent", [] { return std::make_unique<RequestsOfParent>(); });
  module.def(
      "shared_bytes", [](size_t size) { return SharedBytes{OwnHeap().Allocate(size), 0, size}; },
      py::arg("size"));
}

}  // namespace penstock
