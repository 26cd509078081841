"""A profile as a page, a trace and a picture: invented data, rendered in a browser."""

import json
import random
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser

import pytest

import penstock as ps
from penstock.profiling import page
from penstock.profiling.page.colours import DARK, LIGHT
from penstock.profiling.page.words import DOINGS, stage_label, threads_of

EVIL = "</script><script>alert(1)"


def stage(path, kind, inputs=(), **others):
    zero = dict.fromkeys(
        [
            *("busy_seconds", "cpu_seconds", "gil_seconds", "gil_wait_seconds"),
            *("blocked_seconds", "wait_input_seconds", "wait_room_seconds"),
        ],
        0.25,
    )
    calls = {"call_p50": 0.004, "call_p90": 0.0071, "call_p99": 0.012, "call_max": 0.031}
    return {
        **{"path": path, "kind": kind, "name": None, "function": None, "inputs": list(inputs)},
        **{"section": 0, "elements": 1234, "bytes": 185_000_000, "rate": 246.8},
        **zero,
        **calls,
        **{"buffer_size": None, "buffer_limit": None, "parallelism": 0},
        **others,
    }


def spans_of(rng, seconds, count, doings, paths):
    """Return consecutive spans, with idle time between some of them."""
    weights = [rng.random() + 0.05 for _ in range(count)]
    unit = seconds / (sum(weights) or 1)
    spans, now = [], 0.0
    for number, weight in enumerate(weights):
        end = now + weight * unit
        doing = rng.choices(list(doings), list(doings.values()))[0]
        if doing is not None:
            path = None if doing == "step" else rng.choice(paths)
            spans.append([now, end, path, doing, -1 if doing == "step" else number])
        now = end
    return spans


def profile(spans=2000, function="load", seconds=5.0, workers=4, **others):
    """Return the dict of `Profile.to_dict` for an invented run."""
    rng = random.Random(20)
    work = {"run": 5, "gil": 4, "blocked": 2, "input": 1, "room": 0.5, None: 0.3}
    each = spans // (workers + 2)
    threads = [
        {"name": "map", "spans": spans_of(rng, seconds, each, work, ["0.0.0"])}
        for _ in range(workers)
    ]
    loop = {"step": 4, "input": 6}
    read = {"run": 2, "blocked": 5, "room": 3}
    threads.insert(0, {"name": "consumer", "spans": spans_of(rng, seconds, each, loop, ["0"])})
    paths = ["0.0.0.0.0", "0.0.0.0.1"]
    threads.append({"name": "prefetch", "spans": spans_of(rng, seconds, each, read, paths)})
    moments = [i * 0.05 for i in range(int(seconds / 0.05))]
    history = {
        "seconds": moments,
        "rate": [200 + 60 * rng.random() for _ in moments],
        "waiting": [rng.random() ** 0.5 for _ in moments],
        "buffers": {"0": [float(rng.randint(0, 2)) for _ in moments]},
    }
    stages = [
        stage("0", "prefetch", ["0.0"], buffer_size=0.4, buffer_limit=2, call_p50=None),
        stage("0.0", "batch", ["0.0.0"], rate=7.7, elements=39, name="batches"),
        stage("0.0.0", "parallel_map", ["0.0.0.0"], function=function, parallelism=workers),
        stage("0.0.0.0", "zip", ["0.0.0.0.0", "0.0.0.0.1"], bytes=0),
        stage("0.0.0.0.0", "from_list", elements=2000),
        stage("0.0.0.0.1", "tf_record", function=None, blocked_seconds=2.25),
    ]
    return {
        **{"version": 1, "seconds": seconds, "elements": 1234, "rate": 246.8},
        **{"input_bound": 0.62, "headspace": 2.6},
        **{"processors": 2, "cpu_share": 0.93, "gil_share": 0.4},
        "verdict": (
            f"Your loop waits for data 62 % of the time. map({function}) is the reason: its four "
            "threads wait for one another, because the function holds the GIL 90 % of the time. "
            "With a loader without end the loop would be 2.6 times as fast."
        ),
        "bottleneck": {
            **{"stage": "0.0.0", "kind_of_stage": "parallel_map", "name": None},
            **{"function": function, "kind": "gil", "share": 0.9},
        },
        "advice": [
            {
                **{"stage": "0.0.0", "rate": 480.0, "gain": 1.9},
                "change": f"map(ps.native({function}), num_parallel_calls=ps.AUTOTUNE)",
                "why": "The function is made of operations alone: it can run without the GIL.",
            },
            {
                **{"stage": "0", "change": "prefetch(4)", "rate": 251.0, "gain": 1.02},
                "why": "The buffer was empty 60 % of the time.",
            },
        ],
        "stages": stages,
        "threads": threads,
        "history": history,
        **others,
    }


# The files.


@pytest.mark.parametrize(
    ("name", "begin"), [("a.html", b"<!doctype html>"), ("b.json", b"{"), ("c.PNG", b"\x89PNG\r\n")]
)
def test_the_ending_chooses_the_form(tmp_path, name, begin):
    if name.endswith("PNG"):
        pytest.importorskip("matplotlib")
    page.save(profile(spans=60), tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(begin)


def test_another_ending_is_refused(tmp_path):
    with pytest.raises(
        ValueError, match=r"Profile\.save: expected .* \.html .* \.json .* \.png .*x\.svg"
    ):
        page.save(profile(spans=60), tmp_path / "x.svg")
    assert not list(tmp_path.iterdir())


def test_labels_are_those_of_the_verdict():
    assert stage_label(stage("0", "batch")) == "batch"
    assert stage_label(stage("0", "parallel_map", function="f")) == "map(f)"


def test_threads_come_from_the_consumer_on_and_are_numbered():
    spans = {
        "read": [[0, 1, "0.0.0", "blocked", 0]],
        "map": [[0, 1, "0.0", "run", 0]],
        "main": [[0, 1, "0", "input", 0], [1, 2, None, "step", -1]],
    }
    threads = [{"name": name, "spans": spans[name]} for name in ("read", "map", "main", "map")]
    data = {"threads": threads, "stages": [stage("0.0", "batch")]}
    assert [thread.label for thread in threads_of(data)] == ["main", "map 1", "map 2", "read"]


def test_a_thread_is_called_after_the_function_that_it_calls():
    data = {
        "threads": [{"name": "map", "spans": [[0, 1, "0.0", "input", 0], [1, 1.1, "0", "run", 0]]}],
        "stages": [
            stage("0", "parallel_map", ["0.0"], function="load"),
            stage("0.0", "parallel_map", function="read"),
        ],
    }
    assert [thread.label for thread in threads_of(data)] == ["map(load)"]


class Tags(HTMLParser):
    """Collects every tag with its attributes, and the contents of scripts."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, text):
        if self.tags and self.tags[-1][0] == "script" and text.strip():
            self.scripts.append(text)


def read_page(path):
    return path.read_text(encoding="utf-8")


def test_a_page_asks_for_nothing_from_elsewhere(tmp_path):
    page.save_report(profile(spans=60), tmp_path / "p.html")
    text = read_page(tmp_path / "p.html")
    tags = Tags(text).tags
    assert not [name for name, _ in tags if name in {"link", "img", "iframe", "base", "object"}]
    assert not [found for _, found in tags if {"src", "href", "action"} & found.keys()]
    assert not re.search(r"@import|url\(|\bfetch\(|XMLHttpRequest|import\(", text)
    policies = [found["content"] for _, found in tags if "http-equiv" in found]
    assert policies[0].startswith("default-src 'none';")
    assert not re.search(r"@\w+@", text)  # every placeholder of the template was filled


def test_names_cannot_end_the_script_that_they_are_in(tmp_path):
    page.save_report(profile(spans=60, function=EVIL, verdict=EVIL), tmp_path / "p.html")
    found = Tags(read_page(tmp_path / "p.html"))
    scripts = [attributes.get("type") for name, attributes in found.tags if name == "script"]
    assert scripts == ["application/json", None]
    embedded = json.loads(found.scripts[0])
    assert embedded["verdict"] == EVIL
    assert embedded["stages"][2]["label"] == f"map({EVIL})"


def test_a_page_holds_every_span_in_order(tmp_path):
    data = profile(spans=600)
    spans = data["threads"][1]["spans"]
    wanted = [[round(s[0] * 1e6), round(s[1] * 1e6), s[3], s[4]] for s in spans]
    random.Random(1).shuffle(spans)
    page.save_report(data, tmp_path / "p.html")
    embedded = json.loads(Tags(read_page(tmp_path / "p.html")).scripts[0])
    thread = embedded["threads"][1]
    names = list(embedded["doings"])
    columns = zip(
        *(thread["start"], thread["end"], thread["doing"], thread["element"]), strict=True
    )
    assert [[start, end, names[doing], element] for start, end, doing, element in columns] == wanted
    assert {embedded["stages"][number]["path"] for number in thread["stage"]} == {"0.0.0"}


def test_a_trace_names_threads_stages_and_elements(tmp_path):
    data = profile(spans=600)
    page.save_trace(data, tmp_path / "t.json")
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert list(names.values())[:3] == ["consumer", "map(load) 1", "map(load) 2"]
    spans = [event for event in events if event["ph"] == "X"]
    assert len(spans) == sum(len(thread["spans"]) for thread in data["threads"])
    start, end, path, doing, element = data["threads"][1]["spans"][7]
    (event,) = (e for e in spans if e["tid"] == 2 and e["args"].get("element") == element)
    assert event["args"] == {"stage": path, "element": element, "doing": DOINGS[doing]}
    assert event["name"].startswith("map(load)")
    assert event["ts"] == pytest.approx(start * 1e6, abs=0.001)
    assert event["dur"] == pytest.approx((end - start) * 1e6, abs=0.002)
    assert "training step" in {e["name"] for e in spans}
    counters = {event["name"] for event in events if event["ph"] == "C"}
    assert counters == {
        *("rate (elements/s)", "waiting (share of the time)"),
        "buffer of prefetch (0)",
    }


def check_trace(trace):
    """Check the rules of the "Trace Event Format" for the used phases, and those of Perfetto."""
    assert trace["displayTimeUnit"] in ("ms", "ns")
    assert {event["ph"] for event in trace["traceEvents"]} <= {"M", "X", "C"}
    tracks, ends = set(), {}
    for event in trace["traceEvents"]:
        assert type(event["pid"]) is int
        assert event["pid"] > 0
        assert isinstance(event["name"], str)
        assert event["name"]
        assert isinstance(event["args"], dict)
        if event["ph"] == "M":
            (kind,) = event["args"]
            wanted = {"process_name": ("name", str), "thread_name": ("name", str)}
            wanted["thread_sort_index"] = ("sort_index", int)
            assert (kind, type(event["args"][kind])) == wanted[event["name"]]
            if event["name"] == "thread_name":
                tracks.add((event["pid"], event["tid"]))
            continue
        at = nanoseconds(event["ts"])
        if event["ph"] == "C":
            assert event["args"]
            assert all(type(value) in (int, float) for value in event["args"].values())
            continue
        track = event["pid"], event["tid"]
        assert track in tracks, "a thread is named before its spans"
        assert isinstance(event["cat"], str)
        # Perfetto drops partially overlapping spans of one thread.
        assert at >= ends.get(track, 0)
        ends[track] = at + nanoseconds(event["dur"])


def nanoseconds(microseconds):
    """Return a time as the reader rounds it: in whole nanoseconds."""
    assert type(microseconds) in (int, float)
    assert 0 <= microseconds < 1e12
    return round(microseconds * 1000)


def test_a_trace_keeps_to_its_format(tmp_path):
    data = profile(spans=3000)
    page.save_trace(data, tmp_path / "t.json")
    check_trace(json.loads((tmp_path / "t.json").read_text()))


def test_a_picture_draws_names_as_they_are(tmp_path):
    """A dollar sign would start a Matplotlib formula."""
    image = pytest.importorskip("PIL.Image")
    pytest.importorskip("matplotlib")
    data = profile(spans=60, function="$\\frac$")
    data["threads"][0]["name"] = "$\\nothing$"
    page.save_picture(data, tmp_path / "p.png")
    with image.open(tmp_path / "p.png") as picture:
        assert picture.width == 1800


def test_a_picture_of_nothing_is_a_picture(tmp_path):
    pytest.importorskip("matplotlib")
    page.save_picture(empty(), tmp_path / "p.png")
    assert (tmp_path / "p.png").stat().st_size > 1000


def empty():
    history = {"seconds": [], "rate": [], "waiting": [], "buffers": {}}
    nothing = {"bottleneck": None, "advice": [], "stages": [], "threads": [], "history": history}
    return profile(spans=0, elements=0, rate=0.0, input_bound=None, headspace=None, **nothing)


def test_shares_of_columns_are_exact():
    np = pytest.importorskip("numpy")
    from penstock.profiling.page.picture import _shares

    times = np.array([[2.0, 3.5], [0.25, 0.5], [3.5, 4.0]])  # not in order
    shares = _shares(times, np.linspace(0, 5, 6))
    assert shares == pytest.approx([0.25, 0, 1, 1, 0])


# Colours: Machado, Oliveira and Fernandes 2009, dichromats.
VISION = {
    "all colours": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "no red": [
        *([0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216]),
        [-0.003882, -0.048116, 1.051998],
    ],
    "no green": [
        *([0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413]),
        [-0.011820, 0.042940, 0.968881],
    ],
    "no blue": [
        *([1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602]),
        [0.004733, 0.691367, 0.303900],
    ],
}


def in_lab(colour, vision):
    """Return a colour as perceived with this vision, in CIE L*a*b* (D65)."""
    import numpy as np

    channels = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(vision) @ linear, 0, 1)
    to_xyz = [
        *([0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750]),
        [0.0193339, 0.1191920, 0.9503041],
    ]
    xyz = np.array(to_xyz) @ seen / [0.95047, 1, 1.08883]
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("vision", VISION.values(), ids=VISION.keys())
def test_colours_differ_in_every_kind_of_colour_vision(colours, vision):
    assert list(colours) == list(DOINGS)
    seen = {doing: in_lab(colour, vision) for doing, colour in colours.items()}
    for one in seen:
        for other in seen:
            difference = ((seen[one] - seen[other]) ** 2).sum() ** 0.5
            assert one == other or difference > 15, (one, other)


# A measured profile.


@pytest.fixture(scope="module")
def measured():
    ds = ps.Dataset.range(10**6).map(lambda x: x + 1, num_parallel_calls=2).batch(10).prefetch(2)
    return ds.profile(seconds=0.3, step=0.002)


def test_a_measured_profile_is_saved(measured, tmp_path):
    measured.save(tmp_path / "p.html")
    embedded = json.loads(Tags(read_page(tmp_path / "p.html")).scripts[0])
    assert embedded["verdict"] == measured.verdict
    assert [stage["label"] for stage in embedded["stages"]] == [str(s) for s in measured.stages]
    measured.save(str(tmp_path / "p.json"))
    trace = json.loads((tmp_path / "p.json").read_text())
    check_trace(trace)
    assert "consumer" in {event["args"].get("name") for event in trace["traceEvents"]}


def test_without_matplotlib_a_picture_says_what_to_install(measured, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'penstock\[viz\]'"):
        measured.save(tmp_path / "p.png")


# The page in a browser.

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
in_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="needs a browser: apt-get install chromium (Debian)"
)


class Browser:
    """Shows pages in headless Chromium."""

    def __init__(self, folder):
        self._folder = folder

    def show(self, data, hash_="", then="", size=(1200, 900), dark=False, file="page.html"):
        """Return the page after `then`, a script that acts like a reader."""
        path = self._folder / file
        page.save_report(data, path)
        address = path.as_uri() + hash_
        if not then:
            return Shown(self._text_of(address, size, dark))
        text = read_page(path).replace("script-src", "script-src 'unsafe-inline'")
        text = re.sub(r"'sha256-[^']*'", "", text)  # it would block inline content
        text = text.replace("</body>", f"<script>{{{then}}}{SEEN}</script></body>")
        path.write_text(text, encoding="utf-8")
        for attempt in range(10):
            text = self._text_of(address, size, dark, budget=2000 << attempt)
            if "data-seen" in text:
                return Shown(text)
        raise AssertionError("the browser ended ten times before it had drawn what was done")

    def _text_of(self, address, size, dark, budget=2000):
        result = subprocess.run(
            [
                *(CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"),
                *("--enable-logging=stderr", f"--virtual-time-budget={budget}"),
                f"--user-data-dir={self._folder / 'browser'}",
                f"--window-size={size[0]},{size[1]}",
                f"--blink-settings=preferredColorScheme={0 if dark else 1}",
                address,
            ],
            capture_output=True,
            text=True,
            timeout=100,
            check=True,
        )
        said = [line for line in result.stderr.splitlines() if "CONSOLE" in line]
        assert said == []
        return result.stdout


# Two frames after the acts, their changes are drawn, and the text that follows 250 ms later is
# written. The browser's virtual time runs ahead of its frames: on a busy machine it may end before
# them. The next attempt then has twice as much time.
SEEN = """
requestAnimationFrame(() => requestAnimationFrame(
  () => setTimeout(() => { document.body.dataset.seen = ""; }, 300)));
"""


class Shown:
    """The contents of a rendered page."""

    def __init__(self, text):
        self.text = text
        assert re.search(r'id="failure"[^>]*hidden', text), self.of("failure")

    def of(self, name):
        """Return the text of the element with this id, without inner tags."""
        inside = re.search(
            rf'<(\w+)[^>]* id="{name}".*?</\1>|<(\w+) id="{name}".*?</\2>', self.text, re.S
        )
        return re.sub(r"<[^>]+>", " ", inside[0]).strip() if inside else ""

    def drawn(self, name):
        return int(re.search(rf'data-{name}="(\d+)"', self.text)[1])


@pytest.fixture
def browser(tmp_path):
    return Browser(tmp_path)


def within(data, start, end):
    spans = [span for thread in data["threads"] for span in thread["spans"]]
    micro = [(round(span[0] * 1e6), round(span[1] * 1e6)) for span in spans]
    return sum(span[1] > start * 1e6 and span[0] < end * 1e6 for span in micro)


@in_browser
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", [(1200, 4000), (500, 5000)], ids=["wide", "narrow"])
def test_a_page_draws(browser, dark, size):
    data = profile()
    shown = browser.show(data, size=size, dark=dark)
    assert shown.of("verdict").startswith("Your loop waits for data 62 %")
    assert "2.6\N{MULTIPLICATION SIGN}" in shown.of("figures")
    assert "map(ps.native(load), num_parallel_calls=ps.AUTOTUNE)" in shown.of("advice")
    assert "1.9\N{MULTIPLICATION SIGN} as fast" in shown.of("advice")
    assert re.search(r'<li class="slow".*?map\(load\).*?take turns at the GIL', shown.text)
    assert shown.text.count('class="slow"') == 3  # circle and row in the graph; the table
    assert "185 MB" in shown.of("stages")
    assert "memory wait" not in shown.of("stages")  # no stage has any
    assert "All 5 s" in shown.of("range")
    assert shown.drawn("rectangles") > 500


@in_browser
def test_a_measured_profile_draws(browser, measured):
    shown = browser.show(measured.to_dict(), size=(1200, 4000))
    assert shown.of("verdict")
    assert shown.drawn("rectangles") > 10


@in_browser
def test_names_are_text(browser):
    data = profile(function=EVIL)
    data["threads"][0]["name"] = "<img src=x onerror=alert(2)>"
    shown = browser.show(data)
    assert "map(&lt;/script&gt;&lt;script&gt;alert(1))" in shown.text
    assert "<script>alert" not in shown.text
    assert "<img" not in shown.text


@in_browser
def test_the_address_says_what_is_shown(browser):
    data = profile()
    shown = browser.show(data, "#from=1&to=2", size=(1200, 4000))
    assert shown.of("range").startswith("1 s to 2 s of 5 s")
    assert shown.drawn("spans") == within(data, 1, 2)


@in_browser
def test_rows_outside_of_the_window_wait_until_they_are_seen(browser):
    data = profile()
    above = browser.show(data, size=(1200, 400))
    assert above.drawn("rectangles") == 0
    scroll = 'document.querySelector("canvas").scrollIntoView();'
    assert browser.show(data, size=(1200, 400), then=scroll).drawn("rectangles") > 500


@in_browser
@pytest.mark.slow
def test_work_for_a_frame_does_not_grow_with_the_spans(browser):
    """Spans below a pixel share one rectangle per activity in each column of two pixels."""
    size = (1200, 4000)
    drawn = {}
    for spans in (20_000, 100_000):
        data = profile(spans=spans)
        shown = browser.show(data, size=size)
        drawn[spans] = shown.drawn("rectangles")
        assert shown.drawn("spans") == within(data, 0, 5)
        assert drawn[spans] <= len(data["threads"]) * len(DOINGS) * size[0] / 2
    near = browser.show(data, "#from=2&to=2.01", size=size)
    assert near.drawn("spans") == within(data, 2, 2.01) < 400
    assert near.drawn("rectangles") <= near.drawn("spans")


ACTS = """
canvas.setPointerCapture = () => {};
const key = (name) => canvas.dispatchEvent(new KeyboardEvent("keydown", { key: name }));
const box = canvas.getBoundingClientRect();
const at = (share, y) => (
  { clientX: box.left + plot.left + share * plot.width, clientY: box.top + y, cancelable: true }
);
const wheel = (share, deltaY, more) =>
  canvas.dispatchEvent(new WheelEvent("wheel", { ...at(share, 50), deltaY, ...more }));
const pointer = (kind, share, id = 1, y = 50) =>
  canvas.dispatchEvent(new PointerEvent("pointer" + kind, { ...at(share, y), pointerId: id }));
const press = (act) => document.querySelector(`[data-act=${act}]`).click();
"""


def seen(shown):
    """Return the first and last second of the visible timeline."""
    times = re.match(r"([\d.]+) (m?s) to ([\d.]+) (m?s) of 5 s", shown.of("range")).groups()
    scale = {"s": 1, "ms": 1e-3}
    return [float(times[i]) * scale[times[i + 1]] for i in (0, 2)]


@in_browser
@pytest.mark.parametrize(
    ("acts", "start", "end"),
    [
        ('key("+")', 1.0, 4.0),
        ('key("+"); key("ArrowRight")', 1.6, 4.6),
        ('key("+"); key("-")', None, None),
        ('press("closer"); press("earlier")', 0.4, 3.4),
        ('key("+"); press("all")', None, None),
        ("wheel(0.2, -277.2588722, { ctrlKey: false })", None, None),  # the page scrolls
        ("canvas.focus(); wheel(0.2, -277.2588722)", 0.5, 3.0),
        ("wheel(1, -86.643398, { ctrlKey: true })", 2.5, 5.0),
        ('key("+"); pointer("down", 0.5); pointer("move", 0.25); pointer("up", 0.25)', 1.75, 4.75),
        ('pointer("down", 0.4, 1); pointer("down", 0.6, 2); pointer("move", 0.8, 2)', 1.0, 3.5),
    ],
)
def test_the_timeline_is_moved_and_zoomed(browser, acts, start, end):
    shown = browser.show(profile(spans=600), then=ACTS + acts)
    if start is None:
        assert shown.of("range").startswith("All 5 s")
    else:
        assert seen(shown) == pytest.approx([start, end], abs=0.02)


@in_browser
def test_the_pointer_shows_what_a_thread_does(browser):
    data = profile(spans=600)
    data["threads"][0]["spans"] = [[0, 2, "0", "input", 17], [2, 5, None, "step", None]]
    row = 'const y = plot.rows.find((one) => one.kind === "thread").y + 5;'
    tip = browser.show(data, then=f'{ACTS}{row} pointer("move", 0.2, 1, y)').of("tip")
    assert re.sub(r"\s+", " ", tip) == "prefetch, element 17 waits for input, 2 s from 0, consumer"
    tip = browser.show(data, then=f'{ACTS}{row} pointer("move", 0.9, 1, y)').of("tip")
    assert re.sub(r"\s+", " ", tip) == "your loop training step, 3 s from 2 s, consumer"


@in_browser
def test_threads_in_numbers_follow_the_timeline(browser):
    data = profile(spans=600, workers=0)
    data["threads"][0]["spans"] = [[0, 2, "0", "input", 17], [2, 5, None, "step", None]]
    shown = browser.show(data, "#from=1&to=3")
    assert re.search(r"consumer\s+50 %\s+50 %", shown.of("threads"))


@in_browser
def test_a_heading_sorts_the_stages(browser):
    click = (
        'document.querySelector("#stages thead button").closest("tr").cells[1].firstChild.click();'
    )
    rows = [
        re.findall(r'class="label">(\w+)', browser.show(profile(), then=then).text)[-6:]
        for then in (click, click * 2)
    ]
    assert rows[0][0] == "from_list"
    assert rows[1][0] == "batch"


@in_browser
@pytest.mark.parametrize("kind", ["consumer", None])
def test_the_loop_is_marked_when_it_is_the_bottleneck(browser, kind):
    slow = kind and {"stage": "", "kind": kind, "share": 0.97}
    shown = browser.show(profile(bottleneck=slow))
    marked = re.findall(r'<li class="slow".*?</li>', shown.text, re.S)
    assert len(marked) == bool(kind)
    assert not kind or "your loop" in marked[0]


@in_browser
def test_a_profile_of_nothing_is_shown(browser):
    shown = browser.show(empty())
    assert "Nothing that would make it faster" in shown.of("advice")


@in_browser
@pytest.mark.slow
def test_a_deep_pipeline_is_shown(browser):
    count = 3000
    stages = [stage(str(i), "skip", [str(i + 1)] if i + 1 < count else []) for i in range(count)]
    shown = browser.show(profile(spans=60, stages=stages))
    assert len(re.findall(r'class="label">skip', shown.text)) == 2 * count
