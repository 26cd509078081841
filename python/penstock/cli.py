"""The command line, which finds the command and passes it the other arguments."""

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Sequence

from penstock import __version__

_Main = Callable[[Sequence[str]], int | None]

# Each command is a module with main(argv), which is imported only when it is used.
_COMMANDS = {
    "demo": ("penstock.demo", "feed a simulated training step from a folder of JPEGs"),
    "index": ("penstock.sources.index", "write indexes of record files, to read any record"),
    "lint": ("penstock.lint.command", "find mistakes in the datasets of a program"),
    "profile": ("penstock.profiling.command", "say what slows the dataset of a program down"),
    "inspect": ("penstock.inspecting", "show what is in files, and what is damaged"),
    "explain": ("penstock.lint.explain", "show what a rule of lint is about"),
    "port": ("penstock.compat.port", "show which names of TensorFlow a program uses are here"),
    "bench": ("penstock.comparison", "compare some pipelines with plain loops, here"),
    "doctor": ("penstock.doctor", "show what is installed, what is missing, and how to get it"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    argv : sequence of str, optional
        The command and its arguments. ``None`` uses those of the process.

    Returns
    -------
    int
        Exit status: 0 for success, 130 after Ctrl-C, 141 if standard output was closed early.

    Raises
    ------
    SystemExit
        With status 2 if the command does not exist; after ``--help`` and ``--version`` with 0.
    """
    arguments = _parser().parse_args(argv)
    module, _ = _COMMANDS[arguments.command]
    run: _Main = importlib.import_module(module).main
    try:
        status = run(arguments.arguments) or 0
        if sys.stdout is not None:
            sys.stdout.flush()  # not at exit, because the reader may have closed the pipe
        return status
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Prevents the flush at exit from failing again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def _parser() -> argparse.ArgumentParser:
    width = max(map(len, _COMMANDS))
    commands = "\n".join(f"  {name:{width}}  {text}" for name, (_, text) in _COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="python -m penstock",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"commands:\n{commands}\n\n`COMMAND --help` shows the options of a command.",
    )
    parser.add_argument("--version", action="version", version=f"penstock {__version__}")
    parser.add_argument("command", choices=sorted(_COMMANDS), metavar="COMMAND")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="its arguments")
    return parser
