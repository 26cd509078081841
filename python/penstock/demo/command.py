"""The demo's command: options, sequence of measurements, and table."""

import argparse
import json
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

import penstock as ps
from penstock.demo import photos, timeline
from penstock.demo.errors import DemoError
from penstock.demo.forms import FORMS, READS, SIDE, Source
from penstock.demo.measure import Run
from penstock.demo.photos import Photos
from penstock.meter import Meter
from penstock.printable import printable

# More bytes than this are neither read in advance nor cached.
_MOST_CACHED = 1 << 30


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demo.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments after ``demo``; None uses the arguments of the process.

    Returns
    -------
    int
        Exit status: 0, or 2 if something is missing or no image can be used, or 130 after Ctrl-C.
    """
    arguments = _parser().parse_args(argv)
    runs: list[Run] = []
    status = 0
    try:
        chosen = _choose(arguments)
        if not arguments.json:
            _introduce(chosen, arguments)
        _measure(chosen, arguments, runs)
    except DemoError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ndemo: interrupted", file=sys.stderr)
        status = 130
    runs = [run for run in runs if run.images]  # after Ctrl-C, the forms measured so far
    if runs and arguments.json:
        print(json.dumps(_as_data(runs, arguments)))
    elif runs:
        _report(runs, arguments)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m penstock demo",
        description=(
            "Feed a simulated training step from a folder of JPEGs: read, decode, random crop, "
            f"resize to {SIDE}x{SIDE}, flip, scale to float32, batch. First naively, then better "
            "step by step; a table and a timeline picture show what each step is worth."
        ),
        epilog="Without FOLDER, photographs are made once, in the cache folder of the user.",
    )
    add = parser.add_argument
    add("folder", nargs="?", type=Path, metavar="FOLDER", help="JPEGs, also in its subfolders")
    add("--images", type=_count, default=2000, metavar="N", help="to use per pass (2000)")
    add("--epochs", type=_count, default=2, metavar="N", help="passes over the images (2)")
    add("--batch", type=_count, default=64, metavar="N", help="images per training step (64)")
    add("--step-ms", type=_length, default=30.0, metavar="MS", help="of the training step (30)")
    add(
        "--open-ms",
        type=_length,
        metavar="MS",
        help="that a simulated storage takes to answer (1 for made photographs, 0 for a FOLDER)",
    )
    add(
        "--seconds-per-form",
        type=_length,
        default=12.0,
        metavar="S",
        help="end a form that takes longer (12)",
    )
    out = Path("penstock-timeline.png")
    add("--out", type=Path, default=out, metavar="FILE", help=f"the picture ({out})")
    report = Path("penstock-report.html")
    add("--report", type=Path, default=report, metavar="FILE", help=f"of the last form ({report})")
    add("--no-picture", action="store_true", help="only the table and the verdicts")
    add("--json", action="store_true", help="print the table and the verdicts as JSON")
    return parser


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {number}")
    return number


def _length(text: str) -> float:
    number = float(text)
    if not 0 <= number < 1e6:
        raise argparse.ArgumentTypeError(f"must be 0 or more, got {text}")
    return number


def _choose(arguments: argparse.Namespace) -> Photos:
    """Check the requirements before any long work; find or generate the photos."""
    if not ps.build_info()["jpeg"]["native"]:
        raise DemoError("this build has no JPEG codec; `python -m penstock doctor` says how to fix")
    if not arguments.no_picture:
        photos.require("matplotlib")
        for option, file in (("--out", arguments.out), ("--report", arguments.report)):
            folder = file.absolute().parent
            if not folder.is_dir():
                raise DemoError(
                    f"{option}: there is no folder {printable(folder)} to save "
                    f"{printable(file.name)} in"
                )
    if arguments.open_ms is None:
        arguments.open_ms = 0.0 if arguments.folder else 1.0
    if arguments.folder:
        return photos.find(arguments.folder, arguments.images)
    return photos.made(arguments.images)


def _introduce(chosen: Photos, arguments: argparse.Namespace) -> None:
    some = f"{len(chosen.paths):,} of " if len(chosen.paths) < chosen.found else ""
    print(f"images   {some}{chosen.found:,} JPEGs, {chosen.size / 1e6:,.0f} MB, {chosen.folder}")
    if chosen.size > _MOST_CACHED:
        print(f"cache    forms with a cache are left out: more than {_MOST_CACHED / 1e6:,.0f} MB")
    if arguments.open_ms:
        print(f"storage  answers after {arguments.open_ms:g} ms (simulated: --open-ms)")
    step = (
        f"step     {arguments.step_ms:g} ms per batch of {arguments.batch} (simulated: --step-ms)"
    )
    if arguments.step_ms:
        step += f", so at most {1e3 * arguments.batch / arguments.step_ms:,.0f} images/s"
    print(step, flush=True)


def _measure(chosen: Photos, arguments: argparse.Namespace, runs: list[Run]) -> None:
    """Run every form; `runs` also has the results after Ctrl-C."""
    patterns = chosen.patterns()
    small = chosen.size <= _MOST_CACHED
    if small:
        _read_once(patterns)
    for form in FORMS:
        if form.caches and not small:
            continue
        source = Source(patterns, arguments.batch, arguments.open_ms / 1e3)
        runs.append(Run(form, source, arguments.epochs, arguments.step_ms / 1e3))
        runs[-1].measure(arguments.seconds_per_form)
        if not runs[-1].images and runs[-1].skipped:
            raise DemoError(
                f"none of the images could be used; the first error: {runs[-1].skipped[0]}"
            )
        if form is FORMS[0] and runs[0].ended_early:
            # Use so few images that the other forms, above all the cache, complete their passes.
            fewer = max(runs[0].images // arguments.epochs, arguments.batch)
            fewer = min(fewer, len(patterns))
            patterns = [patterns[i * len(patterns) // fewer] for i in range(fewer)]


def _read_once(patterns: list[str]) -> None:
    """Read all files, so that the first form also finds them in the page cache."""
    progress = Meter("reading once", len(patterns), "files")
    files = ps.Dataset.list_files(patterns, shuffle=False)
    sizes = files.map(lambda path: len(ps.io.read_file(path)), num_parallel_calls=READS)
    done = 0
    with iter(sizes) as it:
        while True:
            try:
                next(it)
            except StopIteration:
                break
            except OSError:  # counted by the forms
                continue
            done += 1
            progress.update(done)
    progress.finish(f"{done:,} files")


def _as_data(runs: list[Run], arguments: argparse.Namespace) -> dict[str, object]:
    """Draw the picture, and return the contents of the report as a dict."""
    return {
        "forms": [
            {
                "form": run.name,
                "images_per_s": run.rate,
                "accelerator_idle": run.idle,
                "ended_early": run.ended_early,
                "verdict": run.profile.verdict if run.profile else None,
            }
            for run in runs
        ],
        "skipped": _skipped(runs),
        **_draw(runs, arguments),
    }


def _report(runs: list[Run], arguments: argparse.Namespace) -> None:
    print(f"\n{'form':<18}{'images/s':>10}{'speed-up':>10}{'accelerator idle':>18}")
    for run in runs:
        speed_up = f"{run.rate / runs[0].rate:.1f}x"
        print(f"{run.name:<18}{run.rate:>10,.0f}{speed_up:>10}{run.idle:>17.0%}")
    print()
    if names := _skipped(runs):
        print(f"skipped: {len(names)} images could not be used, the first: {names[0]}")
    early = [run.name for run in runs if run.ended_early]
    if early:
        print(
            f"ended after {arguments.seconds_per_form:g} s (--seconds-per-form): {', '.join(early)}"
        )
    for run in runs:
        if run.profile:
            print(textwrap.fill(f"{run.name}: {run.profile.verdict}", 100), end="\n\n")
    for kind, file in _draw(runs, arguments).items():
        print(f"{kind + ':':8} {file}")


def _draw(runs: list[Run], arguments: argparse.Namespace) -> dict[str, str]:
    """Return the files written, by kind."""
    drawn: dict[str, str] = {}
    if arguments.no_picture:
        return drawn
    if runs[-1].profile:
        runs[-1].profile.save(arguments.report)
        drawn["report"] = str(arguments.report)
    timeline.draw(runs, arguments.out, _subtitle(arguments))
    drawn["picture"] = str(arguments.out)
    return drawn


def _skipped(runs: list[Run]) -> list[str]:
    """Return the images that could not be used, without duplicates."""
    skipped = max((run.skipped for run in runs), key=len)
    return sorted(set(skipped))


def _subtitle(arguments: argparse.Namespace) -> str:
    text = f"batches of {arguments.batch}, a simulated training step of {arguments.step_ms:g} ms"
    if arguments.open_ms:
        text += f", a simulated storage that answers after {arguments.open_ms:g} ms"
    return text
