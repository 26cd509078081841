// Requests for remote files, answered by a Python thread.
#include <atomic>
#include <deque>
#include <mutex>
#include <optional>

#include "python/bind.h"
#include "python/errors.h"
#include "python/gil.h"
#include "python/whole.h"
#include "runtime/fork.h"
#include "runtime/thread_pool.h"
#include "runtime/wait.h"
#include "storage/checked_copy.h"
#include "storage/file.h"
#include "storage/remote.h"

namespace py = pybind11;
using namespace py::literals;

namespace penstock {
namespace {

constexpr const char* kService = "penstock.remote.service";

struct RemoteQueue {
  std::mutex mutex;  // a leaf lock; protects the following members
  std::deque<RemoteRequestPtr> requests;
  bool served = false;  // a thread answers requests, or is being started
  bool closed = false;
  EventCount filled;
};

std::atomic<RemoteQueue*> g_remote_queue{nullptr};

// Leaked: threads may outlive every other owner. A fork child gets its own queue, because the
// thread that answers requests does not exist there.
RemoteQueue& TheRemoteQueue() {
  RemoteQueue* queue = g_remote_queue.load(std::memory_order_acquire);
  if (queue) return *queue;
  auto* fresh = new RemoteQueue;
  // acq_rel: pairs with the load above, in both directions.
  if (g_remote_queue.compare_exchange_strong(queue, fresh, std::memory_order_acq_rel)) {
    static std::once_flag once;
    std::call_once(once, [] { OnForkChild([] { g_remote_queue.store(nullptr); }); });
    return *fresh;
  }
  delete fresh;
  return *queue;
}

std::deque<RemoteRequestPtr> TakeRequests(RemoteQueue& queue) {
  const std::lock_guard lock(queue.mutex);
  return std::exchange(queue.requests, {});
}

// With the GIL: starts the thread that answers requests. If that fails, all requests so far fail.
void StartService(RemoteQueue& queue) {
  PyRef module = PyRef::Steal(PyImport_ImportModule(kService));
  if (module && PyRef::Steal(PyObject_CallMethod(module.get(), "start", nullptr))) return;
  const Error error = CurrentPythonError();
  {
    const std::lock_guard lock(queue.mutex);
    queue.served = false;
  }
  for (const RemoteRequestPtr& request : TakeRequests(queue)) {
    if (!request->done()) request->Fail(error);
  }
}

class PythonRemotes final : public RemoteRuntime {
 public:
  void Send(const RemoteRequestPtr& request) override {
    RemoteQueue& queue = TheRemoteQueue();
    bool start, closed;
    {
      const std::lock_guard lock(queue.mutex);
      closed = queue.closed;
      if (!closed) queue.requests.push_back(request);
      start = !closed && !std::exchange(queue.served, true);
    }
    if (closed) {
      if (!request->done()) request->Fail(Error(ErrorKind::kCancelled, ""));
      return;
    }
    queue.filled.NotifyAll();
    if (start) Start(queue);
  }

  void WithoutLock(const std::function<void()>& wait) override {
    // A thread with a hook releases the GIL through it.
    if (GetBlockingHook() || !HoldsGil()) return wait();
    std::optional<Attachment> own;
    Attachment* gil = CurrentAttachment();
    if (!gil) gil = &own.emplace(Attachment::Role::kConsumer);
    gil->Detach();
    wait();
    gil->Attach();
    // The caller throws kInterrupted now, and there is no iterator to raise the exception.
    if (own && own->interrupted()) own->RestoreInterrupt();
  }

 private:
  // Called once per process. A native thread that sees the first URL has no Attachment, and takes
  // the GIL the way threads of other libraries do.
  static void Start(RemoteQueue& queue) {
    if (CurrentAttachment()) {
      EnsureAttached();
      return StartService(queue);
    }
    if (!ThreadPool::InPool() && PyGILState_Check()) return StartService(queue);
    if (MustPark()) Park();
    CallPython([&queue] {
      const PyGILState_STATE state = PyGILState_Ensure();
      StartService(queue);
      PyGILState_Release(state);
    });
  }
};

// Waits for requests; None once there will be no more. Requests that were dropped meanwhile are
// included.
py::object TakeRemoteRequests() {
  RemoteQueue& queue = TheRemoteQueue();
  std::deque<RemoteRequestPtr> taken;
  bool closed = false;
  PyThreadState* thread = PyEval_SaveThread();
  WaitUntil(queue.filled, CancelToken(), [&] {
    const std::lock_guard lock(queue.mutex);
    closed = queue.closed;
    taken = std::exchange(queue.requests, {});
    return closed || !taken.empty();
  });
  if (MustPark()) Park();
  CallPython([thread] { PyEval_RestoreThread(thread); });
  DrainDecrefs();  // answers that readers have released
  if (closed && taken.empty()) return py::none();
  py::list requests;
  for (RemoteRequestPtr& request : taken) requests.append(std::move(request));
  return requests;
}

void CloseRemoteQueue() {
  RemoteQueue& queue = TheRemoteQueue();
  {
    const std::lock_guard lock(queue.mutex);
    queue.closed = true;
  }
  queue.filled.NotifyAll();
}

void ReleaseView(void* view, void*, size_t) {
  DeferredCall(
      [](void* held) {
        auto* buffer = static_cast<Py_buffer*>(held);
        PyBuffer_Release(buffer);
        delete buffer;
      },
      view);
}

void FinishRequest(RemoteRequest& self, const py::object& buffer, int64_t offset, int64_t total,
                   std::string tag) {
  RemoteAnswer answer;
  answer.offset = offset;
  answer.total = total;
  answer.tag = std::move(tag);
  if (!buffer.is_none()) {
    auto view = std::make_unique<Py_buffer>();
    if (PyObject_GetBuffer(buffer.ptr(), view.get(), PyBUF_SIMPLE) < 0) {
      throw py::error_already_set();
    }
    auto size = static_cast<size_t>(view->len);
    void* data = view->buf;
    answer.bytes = Buffer::BorrowConstant(data, size, &ReleaseView, view.release());
  }
  self.Finish(std::move(answer));
}

void FinishWithCopy(RemoteRequest& self, std::string path, std::string tag) {
  KeepRemoteCopy(self.url, {path, tag});
  RemoteAnswer answer;
  answer.local = std::move(path);
  answer.tag = std::move(tag);
  self.Finish(std::move(answer));
}

// Fails with a system error number; 0: the file's contents are invalid.
void FailRequest(RemoteRequest& self, int number, const std::string& message) {
  if (number != 0) return self.Fail(Error::FromErrno(number, self.url, message));
  Origin origin;
  origin.file = std::make_shared<const std::string>(self.url);
  self.Fail(Error(ErrorKind::kData, "{}", message).At(std::move(origin)));
}

}  // namespace

void BindRemote(py::module_& module) {
  static PythonRemotes remotes;
  SetRemoteRuntime(remotes);
  using Task = RemoteRequest::Task;
  py::class_<RemoteRequest, RemoteRequestPtr> request(module, "RemoteRequest",
                                                      py::custom_type_setup(MadeWhole));
  Noted(request)
      .def_property_readonly("task",
                             [](const RemoteRequest& self) {
                               switch (self.task) {
                                 case Task::kUpload:
                                   return "upload";
                                 case Task::kNames:
                                   return "names";
                                 case Task::kRemove:
                                   return "remove";
                                 default:
                                   return "read";
                               }
                             })
      .def_readonly("url", &RemoteRequest::url)
      .def_readonly("offset", &RemoteRequest::offset)
      .def_readonly("size", &RemoteRequest::size)
      .def_readonly("tag", &RemoteRequest::tag)
      .def_readonly("path", &RemoteRequest::path)
      .def_readonly("first", &RemoteRequest::first)
      .def_readonly("fresh", &RemoteRequest::fresh)
      .def_readonly("damaged", &RemoteRequest::damaged)
      .def_property_readonly("dropped", &RemoteRequest::dropped)
      .def("finish", &FinishRequest, "buffer"_a = py::none(), "offset"_a = 0, "total"_a = -1,
           "tag"_a = "")
      .def("finish_with_copy", &FinishWithCopy, "path"_a, "tag"_a)
      .def("announce", &RemoteRequest::Announce, "total"_a, "tag"_a)
      .def("fail", &FailRequest, "number"_a, "message"_a)
      .def("fail_with", [](RemoteRequest& self, const py::object& exception) {
        self.Fail(Error::Foreign(ToForeign(PyRef::Borrow(exception.ptr()))));
      });
  py::class_<CopySums> sums(module, "CopySums", py::custom_type_setup(MadeWhole));
  DefInit(
      Noted(sums), +[](int64_t total) { return CopySums(total); }, "total"_a)
      .def(
          "add",
          [](CopySums& self, int64_t offset, const py::buffer& buffer) {
            const py::buffer_info bytes = buffer.request();
            const py::gil_scoped_release released;
            self.Add(offset, static_cast<const uint8_t*>(bytes.ptr),
                     static_cast<size_t>(bytes.size * bytes.itemsize));
          },
          "offset"_a, "buffer"_a)
      .def(
          "text",
          [](CopySums& self, const std::string& path) { return py::bytes(self.Text(path)); },
          "path"_a);
  module.def("sums_of_copy", &SumsOfCopy, "path"_a);
  py::class_<CancelToken> cancel(module, "CancelToken", py::custom_type_setup(MadeWhole));
  Noted(cancel)
      .def_property_readonly("cancelled", &CancelToken::cancelled)
      .def("cancel", &CancelToken::Cancel);
  module.def("cancel_token", [] { return CancelToken(); });
  // The cancel token of the run that this thread works for; None if it works for none.
  module.def("cancel_of_run", []() -> py::object {
    const CancelToken* cancel = ReadingFor::current().cancel;
    if (!cancel) return py::none();
    return py::cast(*cancel);
  });
  module.def(
      "keep_remote_copy",
      [](const std::string& url, std::string path, std::string tag) {
        KeepRemoteCopy(url, {std::move(path), std::move(tag)});
      },
      "url"_a, "path"_a, "tag"_a);
  module.def(
      "keep_remote_content",
      [](const std::string& url, int64_t total, std::string tag) {
        KeepRemoteContent(url, total, std::move(tag));
      },
      "url"_a, "total"_a, "tag"_a);
  module.def("forget_remote_files", &ForgetRemoteFiles);
  module.def("take_remote_requests", &TakeRemoteRequests);
  module.def("close_remote_queue", &CloseRemoteQueue);
}

}  // namespace penstock
