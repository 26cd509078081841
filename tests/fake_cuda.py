"""PyTorch with simulated CUDA devices: the small part of torch.cuda that penstock uses.

Streams are work queues, and as lazy as real ones may be: work runs only when the program waits for
an event or a stream. A copy therefore reads its source late. If a page-locked batch buffer is
refilled too early, or data are used without waiting, the numbers are wrong.
"""

import contextlib
import threading

import torch as real

DEVICES = 2
GARBAGE = 0xAB


class Event:
    """torch.cuda.Event: done once its stream reaches the recorded point."""

    def __init__(self, cuda):
        self._cuda = cuda
        self._stream = None
        self.done = True  # until it is recorded

    def record(self, stream):
        self.done = False
        self._stream = stream
        stream.put("record", self._happen)

    def _happen(self):
        self.done = True

    def query(self):
        return self.done

    def synchronize(self):
        self._cuda.log.append(("synchronize", self))
        if not self.done:
            self._stream.run(lambda: self.done)


class Stream:
    """torch.cuda.Stream: work in order, executed when the program waits for it."""

    def __init__(self, cuda, device, name):
        self._cuda = cuda
        self.device = device
        self._name = name
        self._work = []

    def __repr__(self):
        return self._name

    def put(self, what, work):
        with self._cuda.lock:
            self._cuda.log.append((what, self))
            self._work.append(work)

    def wait_event(self, event):
        # Only when this stream reaches this point.
        self.put("wait", lambda: event.done or event._stream.run(lambda: event.done))

    def synchronize(self):
        self.run(lambda: False)

    def run(self, enough):
        with self._cuda.lock:
            while self._work and not enough():
                self._work.pop(0)()


class Cuda:
    """torch.cuda."""

    def __init__(self, device):
        self.lock = threading.RLock()
        self.log = []  # (what, stream or event or size), in order
        self.threads = set()  # names of threads that have started copies
        self.fails_at = None  # index of the copy that fails with out of memory
        self.copies = 0
        self._device = device  # the current device
        self._here = threading.local()
        self._default = [
            Stream(self, real.device("cuda", i), f"default {i}") for i in range(DEVICES)
        ]

    def current_device(self):
        return self._device

    def Stream(self, device):
        return Stream(self, device, "side")

    def Event(self):
        return Event(self)

    def current_stream(self, device):
        return getattr(self._here, "stream", None) or self._default[device.index]

    @contextlib.contextmanager
    def stream(self, stream):
        before = getattr(self._here, "stream", None)
        self._here.stream = stream
        try:
            yield
        finally:
            self._here.stream = before

    def happened(self, what):
        return [subject for kind, subject in self.log if kind == what]


class FakeTorch:
    """The module torch, with `cuda` and everything that refers to it replaced."""

    def __init__(self, device=0):
        self.cuda = cuda = Cuda(device)
        fake = self

        class OnDevice(real.Tensor):
            @property
            def device(self):
                return real.device("cuda", cuda.current_device())

            def record_stream(self, stream):
                cuda.log.append(("record_stream", (self.data_ptr(), stream)))

        class Pinned(real.Tensor):
            def to(self, device, non_blocking=False):
                assert non_blocking
                assert device.type == "cuda"
                return fake._copy(self)

        class OnHost(real.Tensor):
            def to(self, device, non_blocking=False):
                assert not non_blocking
                assert device.type == "cuda"
                cuda.log.append(("plain copy", threading.current_thread().name))
                cuda.log.append(("to", device))
                return self.clone().as_subclass(OnDevice)

        self._on_device, self._pinned, self._on_host = OnDevice, Pinned, OnHost

    def __getattr__(self, name):
        return getattr(real, name)

    def from_numpy(self, array):
        return real.from_numpy(array).as_subclass(self._on_host)

    def empty(self, *shape, dtype=None, device="cpu", pin_memory=False):
        device = real.device(device)
        tensor = real.empty(*shape, dtype=dtype, device="cpu")
        if device.type == "cuda":
            if device.index is not None and device.index >= DEVICES:
                raise RuntimeError("CUDA error: invalid device ordinal")
            return tensor.as_subclass(self._on_device)
        if not pin_memory:
            return tensor
        self.cuda.log.append(("pin", tensor.nbytes))
        return tensor.as_subclass(self._pinned)

    def _copy(self, source):
        cuda = self.cuda
        cuda.threads.add(threading.current_thread().name)
        cuda.copies += 1
        if cuda.copies == cuda.fails_at:
            raise real.OutOfMemoryError("CUDA out of memory")
        target = real.empty(source.shape, dtype=source.dtype)
        if target.numel():
            target.view(-1).view(real.uint8).fill_(GARBAGE)
        plain = source.as_subclass(real.Tensor)
        cuda.current_stream(real.device("cuda", 0)).put("copy", lambda: target.copy_(plain))
        return target.as_subclass(self._on_device)

    def read(self, tensor):
        """Return the values that work on the consumer's stream would see in a device tensor."""
        self.cuda.current_stream(tensor.device).synchronize()
        return tensor.as_subclass(real.Tensor).numpy().copy()
