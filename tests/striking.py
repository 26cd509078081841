"""Raise Ctrl-C at each place where Python may raise it, one place per run."""

import dis
import sys


class Striking:
    """Raise KeyboardInterrupt where Python checks for signals, inside the `with` block.

    Python checks after each call, at the start of a function, and when a loop repeats. This applies
    to code in files whose path contains `folder`, except code called from `__del__`: Python cannot
    propagate its exceptions, and only prints them. `places`: the indices of the checks that raise.
    """

    def __init__(self, folder, places):
        self.folder = folder
        self.places = places
        self.looks = 0

    def __enter__(self):
        sys.settrace(self.call)

    def __exit__(self, *_):
        sys.settrace(None)

    def call(self, frame, event, arg):
        if self.folder not in frame.f_code.co_filename or _deletes(frame):
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        before = None

        def opcode(frame, event, arg):
            nonlocal before
            if event != "opcode":
                return opcode
            if before is not None and before.startswith(("CALL", "RESUME", "JUMP_BACKWARD")):
                self.looks += 1
                if self.looks in self.places:
                    before = None
                    raise KeyboardInterrupt
            name = dis.opname[frame.f_code.co_code[frame.f_lasti]]
            before = None if name == "CACHE" else name
            return opcode

        return opcode


def _deletes(frame):
    while frame is not None:
        if frame.f_code.co_name == "__del__":
            return True
        frame = frame.f_back
    return False
