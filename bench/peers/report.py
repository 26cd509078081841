"""Results as tables, for a terminal and for the documentation page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench import instructions
from bench.peers import targets, workloads
from bench.peers.environments import PEERS, ROOT
from bench.peers.results import Cell, Measured
from bench.peers.workload import Workload
from bench.spread import Spread, lay_out, number

PAGE = ROOT / "docs" / "benchmarks.md"
PLOTS = "benchmarks"  # the folder next to the page
FIRST = "jpeg"  # the workload whose plot precedes all tables
BEGIN = "<!-- From here to the end: written by `python -m bench.peers --report`. -->"

# penstock's own variants, and their labels in the table.
_FORMS = {"penstock": "", "processes": ", worker processes", "loader": ", DataLoader's processes"}


def terminal(found: Measured) -> str:
    """Return the tables of one workload as text, with medians, spread and memory."""
    workload = workloads.load(found.name)
    tables = []
    for case, cells in found.cases.items():
        rows = [[f"{found.name}, {case}", workload.unit, "min to max", "of limit", "peak MB"]]
        for peer in found.peers():
            cell = cells[peer]
            if cell.failed:
                rows.append([PEERS[peer].title, cell.failed, "", "", ""])
                continue
            low, high = _range(workload, cell)
            share = _share(found, case, peer)
            rows.append(
                [PEERS[peer].title, _shown(workload, cell), f"{low} to {high}", share, _mb(cell)]
            )
        tables.append(lay_out(rows))
    return "\n\n".join(tables)


def write(results: Sequence[Measured], page: Path = PAGE) -> list[Path]:
    """Write the results into the page, after its handwritten part, and the plots next to it.

    Parameters
    ----------
    results : sequence of Measured
        At least one.
    page : Path
        A Markdown file that contains the line where the results begin.

    Returns
    -------
    list of Path
        The files written.
    """
    from bench.peers import plots

    order = {name: number for number, name in enumerate(workloads.NAMES)}
    results = sorted(results, key=lambda measured: order[measured.name])
    text = page.read_text()
    if BEGIN not in text:
        raise ValueError(f"{page}: expected the line {BEGIN!r}, found none")
    page.write_text(f"{text[: text.index(BEGIN)]}{BEGIN}\n\n{markdown(results)}")
    folder = page.parent / PLOTS
    folder.mkdir(exist_ok=True)
    return [page, *(plots.draw(measured, folder) for measured in results)]


def markdown(results: Sequence[Measured]) -> str:
    """Return the results as Markdown."""
    dates = sorted({measured.date for measured in results})
    parts = [
        f"## Results of {dates[0] if len(dates) == 1 else f'{dates[0]} to {dates[-1]}'}",
        _machines(results),
        *(_picture(measured) for measured in results if measured.name == FIRST),
        "### penstock and the best of the others",
        "MB: the peak memory of penstock, and the least of the other loaders except plain Python.",
        summary(results),
        *_targets(results),
        *(part for measured in results for part in _section(measured)),
        *_instructions(),
        "### Versions",
        _versions(results),
    ]
    return "\n\n".join(parts) + "\n"


def _targets(results: Sequence[Measured]) -> Iterator[str]:
    yield "### Targets"
    yield (
        "The least that the median of a run should reach. The section of each workload says what "
        "bounds it."
    )
    yield targets.table(results)
    if above := targets.memory(results):
        yield (
            f"Where its peak memory is more than {targets.MEMORY:g} times that of the most modest "
            "of the others, plain Python left out:"
        )
        yield above


def _instructions() -> Iterator[str]:
    if instructions.RECORD.is_file():
        yield "### Instructions per element of penstock"
        yield instructions.told(json.loads(instructions.RECORD.read_text()))


def summary(results: Sequence[Measured]) -> str:
    """Return a row per case: penstock, the fastest other loader, their ratio, limit and memory."""
    rows = [["workload", "unit", "penstock", "best other", "speed against it", "of limit", "MB"]]
    for found in results:
        workload = workloads.load(found.name)
        for case, form in ((case, form) for case in found.cases for form in _FORMS):
            ours = found.cell(case, form)
            if ours is None and form != "penstock":
                continue
            others = targets.others(found, case)
            best = targets.best(others)
            ratio = "-"
            if ours and best:
                ratio = f"{others[best].spread().median / ours.spread().median:.2f} x"
            rows.append(
                [
                    f"{workload.title}: {case}{_FORMS[form]}",
                    workload.unit,
                    _shown(workload, ours) if ours else "-",
                    f"{_shown(workload, others[best])} ({PEERS[best].title})" if best else "-",
                    ratio,
                    _share(found, case, form),
                    _beside(found, case) if form == "penstock" else "-",
                ]
            )
    return lay_out(rows, markdown=True)


def _section(found: Measured) -> Iterator[str]:
    workload = workloads.load(found.name)
    yield f"### {workload.title}"
    yield workload.summary
    if workload.limit:
        yield f"Limit: {workload.limit}."
    direction = "more is better" if workload.rate else "less is better"
    share = "; % is the share of the limit's speed" if workload.limit else ""
    yield f"Median (least to greatest) in {workload.unit}, {direction}{share}."
    yield lay_out(_by_peer(found, workload), markdown=True)
    if found.name != FIRST:
        yield _picture(found)
    if said := _failures(found):
        yield "\n".join(said)
    if workload.bound:
        yield f"**What bounds penstock.** {workload.bound}"
    lines = [
        f"- {PEERS[peer].title}: {configuration}."
        for peer, configuration in found.configurations.items()
    ]
    yield "Configurations:\n\n" + "\n".join(lines)


def _picture(found: Measured) -> str:
    return f"![{workloads.load(found.name).title}]({PLOTS}/{found.name}.png)"


def _by_peer(found: Measured, workload: Workload) -> list[list[str]]:
    """Return a row per loader; with many cases and few loaders, a row per case."""
    peers = found.peers()
    cells = [[_full(found, workload, case, peer) for case in found.cases] for peer in peers]
    memory = [_memory(found, workload, peer) for peer in peers]
    if len(found.cases) > len(peers):
        head = ["case", *(PEERS[peer].title for peer in peers)]
        columns = zip(*cells, strict=True)
        rows = [[case, *row] for case, row in zip(found.cases, columns, strict=True)]
        return [head, *rows, ["peak memory, MB", *memory]]
    rows = [[_name(peer), *row] for peer, row in zip(peers, cells, strict=True)]
    if not any(mb.strip("-/ ") for mb in memory):
        return [["loader", *found.cases], *rows]
    return [
        ["loader", *found.cases, "peak memory, MB"],
        *([*row, mb] for row, mb in zip(rows, memory, strict=True)),
    ]


def _full(found: Measured, workload: Workload, case: str, peer: str) -> str:
    cell = found.cell(case, peer)
    if cell is None:
        return "missing" if found.cases[case][peer].failed.startswith("not") else "failed"
    text = _shown(workload, cell)
    if len(cell.seconds) > 1:
        text += " ({} to {})".format(*_range(workload, cell))
    share = _share(found, case, peer)
    return text if peer == "limit" or share == "-" else f"{text}, {share}"


def _failures(found: Measured) -> list[str]:
    """Return a line for each cell without a result, and for each crash in cells with one."""
    lines = []
    for case, cells in found.cases.items():
        for peer, cell in cells.items():
            title = f"- {PEERS[peer].title}, {case}: "
            if cell.failed:
                lines.append(f"{title}{cell.failed}.")
            elif cell.failures:
                rounds = len(cell.seconds) + len(cell.failures)
                lines.append(
                    f"{title}{len(cell.failures)} of {rounds} rounds failed: {cell.failures[-1]}."
                )
    return lines


def _machines(results: Sequence[Measured]) -> str:
    lines = []
    for machine in {str(measured.machine): measured.machine for measured in results}.values():
        lines.append(
            f"{machine['processor']}, {machine['cpus']} processors, {machine['memory']}, "
            f"{machine['system']}."
        )
    cells = [
        (measured.cases[case][peer])
        for measured in results
        for case in measured.cases
        for peer in ("penstock", "limit")  # their own processes are not counted as other load
        if peer in measured.cases[case]
    ]
    busy = sorted(value for cell in cells for value in cell.others)
    rounds = max((len(cell.seconds) for cell in cells), default=0)
    lines.append("One round." if rounds == 1 else f"{rounds} rounds.")
    if busy:
        lines.append(
            f"Other programs kept {busy[len(busy) // 2]:.2f} processors busy (median; at most "
            f"{busy[-1]:.2f})."
        )
    return " ".join(lines)


def _versions(results: Sequence[Measured]) -> str:
    known = {peer: v for measured in results for peer, v in measured.versions.items()}
    lines = []
    for peer in PEERS:
        if peer in known:
            said = ", ".join(f"{name} {version}" for name, version in known[peer].items())
            lines.append(f"- {PEERS[peer].title}: {said}.")
    return "\n".join(lines)


def _name(peer: str) -> str:
    return f"**{PEERS[peer].title}**" if peer == "penstock" else PEERS[peer].title


def _shown(workload: Workload, cell: Cell) -> str:
    return number(workload.shown(cell.spread().median))


def _range(workload: Workload, cell: Cell) -> tuple[str, str]:
    spread = cell.spread()
    low, high = sorted((workload.shown(spread.low), workload.shown(spread.high)))
    return number(low), number(high)


def _share(found: Measured, case: str, peer: str) -> str:
    limit, cell = found.cell(case, "limit"), found.cell(case, peer)
    if not limit or not cell:
        return "-"
    share = 100 * limit.spread().median / cell.spread().median
    return f"{share:.0f} %" if share >= 1 else f"{share:.1g} %"


def _mb(cell: Cell) -> str:
    return f"{Spread.of(cell.megabytes).median:.0f}" if cell.megabytes else "-"


def _memory(found: Measured, workload: Workload, peer: str) -> str:
    """Return the peak memory of each case, or of the process that all cases shared, as text."""
    cells = [found.cases[case][peer] for case in found.cases if peer in found.cases[case]]
    if not workload.together:
        return " / ".join(map(_mb, cells))
    peaks = [Spread.of(cell.megabytes).median for cell in cells if cell.megabytes]
    return f"{max(peaks):.0f}" if peaks else "-"


def _beside(found: Measured, case: str) -> str:
    """Return penstock's peak memory and the minimum of the other loaders, as text."""
    ours = found.cell(case, "penstock")
    least = targets.least_memory(found, case)
    if not ours or not ours.megabytes or not least:
        return _mb(ours) if ours else "-"
    other, peak = least
    return f"{_mb(ours)}; {peak:.0f} ({PEERS[other].title})"
