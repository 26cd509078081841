// The page of a profile: draws what the element "data" holds, and answers wheel, pointer and keys.
"use strict";

function fail(message) {
  const line = document.getElementById("failure");
  line.textContent = "This page could not be drawn: " + message;
  line.hidden = false;
}
window.addEventListener("error", (event) => fail(event.message));

const data = JSON.parse(document.getElementById("data").textContent);
const DOINGS = Object.keys(data.doings);
const MICRO = 1e6;
const byPath = new Map(data.stages.map((stage) => [stage.path, stage]));
for (const thread of data.threads) {
  for (const field of ["start", "end"]) {
    thread[field] = Float64Array.from(thread[field], (time) => time / MICRO);
  }
}

// Words and numbers.

const REASONS = {
  cpu: "all processors are busy",
  gil: "its calls take turns at the GIL",
  io: "it waits for files, or sleeps",
  serial: "it runs one call at a time",
  buffer: "its buffer is too small for the jitter",
  memory: "the memory budget stops it",
  consumer: "the loop itself is the slowest",
  lock: "its calls wait for each other",
};

const largest = (values, least) => values.reduce((most, value) => Math.max(most, value ?? least), least);
const known = (value) => value !== null && value !== undefined;

function count(value) {
  if (!known(value)) return "";
  const digits = Math.abs(value) >= 100 || Number.isInteger(value) ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString("en-US", { maximumFractionDigits: digits });
}

function percent(value) {
  return known(value) ? `${count(Math.round(value * 100))} %` : "";
}

function scaled(value, units) {
  for (const [size, unit] of units) {
    if (Math.abs(value) >= size * 0.9995) return `${Number((value / size).toPrecision(3))} ${unit}`;
  }
  return value === 0 ? "0" : `${Number(value.toPrecision(3))} ${units[units.length - 1][1]}`;
}

function seconds(value) {
  return known(value) ? scaled(value, [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]]) : "";
}

function bytes(value) {
  return known(value) ? scaled(value, [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]]) : "";
}

const rate = (value) => (known(value) ? `${count(value)}/s` : "");
const times = (value) => (known(value) ? `${count(value)}×` : "");

// Elements of the page. Names come from users: they only ever become text.

function make(tag, content, attributes = {}) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...[content].flat().filter((child) => known(child) && child !== ""));
  return element;
}

function find(selector) {
  return document.querySelector(selector);
}

const dark = window.matchMedia("(prefers-color-scheme: dark)");
let colours = {};

function readColours() {
  const style = getComputedStyle(document.documentElement);
  const names = [...DOINGS, "paper", "raised", "line", "text", "quiet", "chart", "chart-fill"];
  colours = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

// Black or white, whichever can be read on a colour.
function inkOn(colour) {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const value = parseInt(colour.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  const light = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  return 1.05 / (light + 0.05) > (light + 0.05) / 0.05 ? "#ffffff" : "#000000";
}

// How long each doing took, of all stages and for the loop: for the bars of the pipeline.

function spent() {
  const none = () => DOINGS.map(() => 0);
  const stages = data.stages.map(none);
  const loop = none();
  for (const { start, end, stage, doing } of data.threads) {
    for (let i = 0; i < start.length; i++) {
      const own = stage[i] < 0 ? loop : stages[stage[i]];
      own[doing[i]] += end[i] - start[i];
    }
  }
  return { stages, loop };
}

// The head: the verdict, what the loop did, figures, advice.

function showHead() {
  find("#verdict").textContent = data.verdict;
  const waited = data.input_bound;
  const loop = find("#loop");
  loop.hidden = !known(waited);
  if (known(waited)) {
    for (const [share, doing, text] of [
      [1 - waited, "step", `worked ${percent(1 - waited)}`],
      [waited, "input", `waited for data ${percent(waited)}`],
    ]) {
      const roomy = share > 0.12;
      const coloured = make("span", roomy ? text : "", { "data-doing": doing, class: roomy ? "roomy" : "" });
      coloured.style.flex = `${share} 1 0`;
      loop.append(coloured);
    }
    loop.setAttribute("aria-label", `Your loop waited for data ${percent(waited)} of the time`);
  }
  const figures = [
    [percent(waited), "of the time your loop waited for data (input_bound)"],
    [times(data.headspace), "as fast with an endless loader (headspace)"],
    [rate(data.rate), `elements: ${count(data.elements)} in ${seconds(data.seconds)}`],
    [percent(data.cpu_share), `of ${count(data.processors)} processors in use`],
    [percent(data.gil_share), "of the time the GIL was held"],
  ];
  for (const [value, meaning] of figures) {
    if (value) find("#figures").append(make("div", [make("dt", meaning), make("dd", value)]));
  }
  for (const item of data.advice) {
    const gain = make("span", [
      `${rate(item.rate)} `,
      make("span", known(item.gain) ? `${times(item.gain)} as fast` : ""),
    ], { class: "gain" });
    find("#advice ol").append(make("li", [make("code", item.change), gain, make("p", item.why)]));
  }
  if (!data.advice.length) {
    find("#advice ol").append(make("li", make("p", "Nothing that would make it faster was found.")));
  }
}

// The pipeline: a row for each stage, inputs above what takes from them.

const LANE = 26;

function rowsOfGraph() {
  const rows = [];
  const seen = new Set();
  const taken = new Set(data.stages.flatMap((stage) => stage.inputs));
  // Deep pipelines need no deep stack: `open` holds what is still to be written.
  function visit(root, first) {
    let lanes = first;
    const open = [{ path: root, lane: first, next: 0 }];
    seen.add(root);
    while (open.length) {
      const top = open[open.length - 1];
      const inputs = byPath.get(top.path).inputs.filter((path) => byPath.has(path));
      if (top.next < inputs.length) {
        const path = inputs[top.next++];
        if (seen.has(path)) continue;
        seen.add(path);
        const lane = top.next === 1 ? top.lane : ++lanes;
        open.push({ path, lane, next: 0 });
      } else {
        open.pop();
        rows.push({ stage: byPath.get(top.path), lane: top.lane, inputs });
      }
    }
    return lanes + 1;
  }
  let lane = 0;
  for (const stage of data.stages) if (!taken.has(stage.path)) lane = visit(stage.path, lane);
  for (const stage of data.stages) if (!seen.has(stage.path)) lane = visit(stage.path, lane);
  const last = rows.filter((row) => !taken.has(row.stage.path)).map((row) => row.stage.path);
  rows.push({ stage: null, lane: 0, inputs: last });
  return { rows, lanes: lane };
}

function isSlow(stage) {
  const slow = data.bottleneck;
  if (!slow) return false;
  return stage ? slow.stage === stage.path : !byPath.has(slow.stage);
}

function badge() {
  const { kind } = data.bottleneck;
  return make("span", `bottleneck: ${REASONS[kind] || kind}`, { class: "badge" });
}

// A bar of seconds for each doing, as wide as their sum.
function strip(spent, most) {
  const total = spent.reduce((sum, time) => sum + time, 0);
  if (!total) return make("div", "", { class: "share" });
  const bar = make("span", [], { class: "strip" });
  bar.style.width = `${(80 * total) / most}%`;
  const said = [];
  spent.forEach((time, i) => {
    if (time <= 0) return;
    const coloured = make("span", [], { "data-doing": DOINGS[i] });
    coloured.style.flexGrow = time / total;
    bar.append(coloured);
    said.push(`${data.doings[DOINGS[i]]} ${seconds(time)}`);
  });
  bar.setAttribute("role", "img");
  bar.setAttribute("aria-label", said.join(", "));
  return make("div", [bar, seconds(total)], { class: "share", title: said.join(", ") });
}

function facts(stage) {
  const calls = stage.parallelism > 0 ? `${count(stage.parallelism)} at a time` : "";
  const call = known(stage.call_p50) ? `a call ${seconds(stage.call_p50)}` : "";
  const buffer = known(stage.buffer_limit) && stage.buffer_limit > 0
    ? `buffer ${count(stage.buffer_size)} of ${count(stage.buffer_limit)}` : "";
  return [rate(stage.rate), call, calls, buffer].filter(Boolean).join(" · ");
}

function showGraph() {
  const { rows, lanes } = rowsOfGraph();
  const { stages, loop } = spent();
  const sum = (times) => times.reduce((all, time) => all + time, 0);
  const step = DOINGS.indexOf("step");
  const worked = DOINGS.map((_, i) => (i === step ? loop[i] : 0));
  const most = largest([...stages.map(sum), sum(worked)], 1e-9);
  const list = find(".graph ol");
  for (const row of rows) {
    const label = row.stage ? row.stage.label : "your loop";
    const name = make("span", label, row.stage ? { class: "label" } : {});
    const slow = isSlow(row.stage);
    const head = make("div", [
      make("div", [name, slow ? badge() : ""], { class: "name" }),
      make("div", row.stage ? facts(row.stage) : `${rate(data.rate)}, waits ${percent(data.input_bound)} of the time`, { class: "facts" }),
    ]);
    const own = row.stage ? stages[data.stages.indexOf(row.stage)] : worked;
    row.item = make("li", [head, strip(own, most)], slow ? { class: "slow" } : {});
    row.item.style.marginLeft = `${lanes * LANE + 8}px`;
    list.append(row.item);
  }
  const wire = () => drawWires(rows);
  new ResizeObserver(wire).observe(list);
  wire();
}

function drawWires(rows) {
  const svg = find(".graph svg");
  const space = "http://www.w3.org/2000/svg";
  const shape = (tag, attributes) => {
    const made = document.createElementNS(space, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    svg.append(made);
  };
  svg.replaceChildren();
  const centre = new Map();
  for (const { stage, lane, item } of rows) {
    const at = { x: lane * LANE + LANE / 2, y: item.offsetTop + item.offsetHeight / 2 };
    centre.set(stage ? stage.path : null, at);
  }
  svg.setAttribute("width", largest([...centre.values()].map((at) => at.x), 0) + LANE);
  svg.setAttribute("height", find(".graph").offsetHeight);
  for (const { stage, inputs } of rows) {
    const to = centre.get(stage ? stage.path : null);
    for (const path of inputs) {
      const from = centre.get(path);
      const bend = Math.min(LANE, Math.max(to.y - from.y, 1) / 2);
      const curve = from.x === to.x
        ? `V${to.y - 12}`
        : `V${to.y - 12 - bend}Q${from.x} ${to.y - 12 - bend / 2} ${(from.x + to.x) / 2} ${to.y - 12 - bend / 2}T${to.x} ${to.y - 12}`;
      shape("path", { d: `M${from.x} ${from.y}${curve}` });
    }
    if (inputs.length) {
      shape("path", { class: "arrow", d: `M${to.x} ${to.y - 8}l-4.5 -8h9z` });
    }
  }
  for (const { stage } of rows) {
    const { x, y } = centre.get(stage ? stage.path : null);
    shape("circle", { cx: x, cy: y, r: 5, class: isSlow(stage) ? "slow" : "" });
  }
}

// The timeline. `view` is what is shown, in seconds; everything else follows from it.

const NARROW = 1.5; // pixels: spans below that share a column
const COLUMN = 2; // pixels wide: its colours are the shares of what is in it
const MOST_PIXELS = 16384; // the height that canvases have in all browsers
const SHORTEST = 20e-6; // seconds that can fill the window
const whole = [0, largest(data.threads.map((thread) => thread.end.at(-1)), Math.max(data.seconds, SHORTEST))];
const view = { from: whole[0], to: whole[1] };
const canvas = find("canvas");
const context = canvas.getContext("2d");
let plot = { left: 0, width: 1, rows: [], height: 0 };

function layOut() {
  const width = canvas.parentElement.clientWidth;
  const wide = width >= 640;
  const left = wide ? Math.min(230, Math.round(width * 0.2)) : 0;
  const many = data.threads.length > 64;
  const rows = [];
  let y = 0;
  const add = (row, height) => {
    const head = wide || row.kind === "axis" ? 0 : 18;
    rows.push({ ...row, head, y: y + head, height });
    y += head + height + (row.kind === "thread" ? (many ? 1 : 5) : 10);
  };
  add({ kind: "axis" }, 22);
  const { rate: rates, waiting, buffers } = data.history;
  add({ kind: "chart", label: "rate", values: rates, unit: "/s", top: largest(rates, 0) }, 44);
  add({ kind: "chart", label: "loop waits", values: waiting, share: true, top: 1, fill: "input" }, 44);
  for (const [path, values] of Object.entries(buffers)) {
    const stage = byPath.get(path);
    const limit = stage ? stage.buffer_limit : null;
    const top = largest(values, limit || 0);
    add({ kind: "chart", label: `buffer: ${stage ? stage.label : path}`, values, unit: "", top, limit }, 34);
  }
  for (const thread of data.threads) {
    add({ kind: "thread", label: thread.name, thread }, many ? 9 : 22);
  }
  plot = { left, width: Math.max(width - left, 1), rows, height: y, wide };
  const scale = Math.min(window.devicePixelRatio || 1, MOST_PIXELS / y);
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(y * scale);
  canvas.style.height = `${y}px`;
  context.setTransform(scale, 0, 0, scale, 0, 0);
}

const toX = (time) => plot.left + ((time - view.from) / (view.to - view.from)) * plot.width;
const toTime = (x) => view.from + ((x - plot.left) / plot.width) * (view.to - view.from);

// The first span that ends after a time: spans of a thread follow one another.
function firstAfter(ends, time) {
  let low = 0;
  let high = ends.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends[middle] > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

// What a row of a thread is made of at this zoom: rectangles for each doing, and the spans with
// room for a text. Spans below a pixel are added up in columns, so that there are never more
// rectangles than pixels, however many spans there are.
function rectangles(row) {
  const { start, end, stage, doing, element } = row.thread;
  const found = { bars: DOINGS.map(() => []), texts: [], spans: 0 };
  const right = plot.left + plot.width;
  const shares = new Float64Array(DOINGS.length);
  let column = -1;
  let covered = plot.left; // pixels that are drawn
  const flush = () => {
    if (column < 0) return;
    const x = Math.max(column * COLUMN, covered);
    const width = Math.min((column + 1) * COLUMN, right) - x;
    const sum = shares.reduce((all, share) => all + share, 0);
    if (width > 0 && sum > 0) {
      // Idle time stays empty, but what is there can be seen.
      const unit = row.height / Math.max(sum, COLUMN / 2);
      let low = row.y + row.height;
      shares.forEach((share, i) => {
        if (share === 0) return;
        const height = share * unit;
        low -= height;
        found.bars[i].push(x, low, width, height);
      });
      covered = x + width;
    }
    shares.fill(0);
    column = -1;
  };
  for (let i = firstAfter(end, view.from); i < start.length && start[i] < view.to; i++) {
    found.spans++;
    const x0 = Math.max(toX(start[i]), plot.left);
    const x1 = Math.min(toX(end[i]), right);
    if (x1 - x0 < NARROW) {
      const here = Math.floor(x0 / COLUMN);
      if (here !== column) flush();
      column = here;
      shares[doing[i]] += Math.max(x1 - x0, 1e-6);
      continue;
    }
    flush();
    const width = x1 - x0 > 5 ? x1 - x0 - 1 : x1 - x0; // a gap shows where one ends
    found.bars[doing[i]].push(x0, row.y, width, row.height);
    covered = x1;
    if (width > 34 && row.height > 14 && stage[i] >= 0) {
      const number = element[i] < 0 ? "" : ` ${element[i]}`;
      found.texts.push({ x: x0, width, doing: doing[i], text: data.stages[stage[i]].label + number });
    }
  }
  flush();
  return found;
}

// As much of a text as fits, in the font that is set.
function fitted(text, width) {
  const needed = context.measureText(text).width;
  if (needed <= width) return text;
  const most = Math.floor((text.length * width) / needed) - 1;
  return most < 3 ? "" : `${text.slice(0, most)}…`;
}

function drawThread(row) {
  const found = rectangles(row);
  let drawn = 0;
  found.bars.forEach((bars, i) => {
    context.fillStyle = colours[DOINGS[i]];
    for (let at = 0; at < bars.length; at += 4) {
      context.fillRect(bars[at], bars[at + 1], bars[at + 2], bars[at + 3]);
    }
    drawn += bars.length / 4;
  });
  context.font = "11px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace";
  context.textAlign = "left";
  for (const { x, width, doing, text } of found.texts) {
    context.fillStyle = inkOn(colours[DOINGS[doing]]);
    context.fillText(fitted(text, width - 8), x + 4, row.y + row.height / 2);
  }
  return { drawn, spans: found.spans };
}

function ticks() {
  const wanted = (view.to - view.from) / Math.max(plot.width / 110, 2);
  const power = 10 ** Math.floor(Math.log10(wanted));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= wanted);
  const found = [];
  for (let i = Math.ceil(view.from / step); i * step <= view.to; i++) found.push(i * step);
  return { step, found };
}

function tickText(time, step) {
  const [size, unit] = step >= 0.1 ? [1, "s"] : step >= 1e-4 ? [1e-3, "ms"] : [1e-6, "µs"];
  const digits = Math.max(0, -Math.floor(Math.log10(step / size) + 1e-9));
  return `${(time / size).toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })} ${unit}`;
}

function drawAxis(row) {
  const { step, found } = ticks();
  context.font = "12px system-ui, 'Liberation Sans', sans-serif";
  for (const time of found) {
    const x = toX(time);
    context.fillStyle = colours.line;
    context.fillRect(Math.round(x), row.y + row.height - 4, 1, plot.height);
    const text = tickText(time, step);
    const half = context.measureText(text).width / 2;
    context.textAlign = "center";
    context.fillStyle = colours.quiet;
    const middle = Math.min(Math.max(x, plot.left + half), plot.left + plot.width - half);
    context.fillText(text, middle, row.y + row.height / 2 - 2);
  }
}

const ofChart = (row, value) => (row.share ? percent(value) : `${count(value)}${row.unit}`);

function drawChart(row) {
  const moments = data.history.seconds;
  const bottom = row.y + row.height;
  const toY = (value) => bottom - (row.top > 0 ? value / row.top : 0) * (row.height - 2);
  context.fillStyle = colours.line;
  context.fillRect(plot.left, bottom, plot.width, 1);
  const first = Math.max(firstAfter(moments, view.from) - 1, 0);
  const points = [];
  let column = NaN;
  for (let i = first; i < moments.length; i++) {
    const x = toX(moments[i]);
    const y = toY(row.values[i] ?? 0);
    const here = Math.round(x);
    // Of the values of one pixel the highest and the lowest are drawn.
    if (here !== column) points.push({ x, high: y, low: y, last: y });
    else {
      const point = points[points.length - 1];
      point.high = Math.min(point.high, y);
      point.low = Math.max(point.low, y);
      point.last = y;
    }
    column = here;
    if (moments[i] > view.to) break;
  }
  if (!points.length) return;
  context.save();
  context.beginPath();
  context.rect(plot.left, row.y - 1, plot.width, row.height + 2);
  context.clip();
  context.beginPath();
  context.moveTo(points[0].x, points[0].high);
  for (const { x, high, low, last } of points) {
    context.lineTo(x, high);
    if (low > high) context.lineTo(x, low);
    context.lineTo(x, last);
  }
  context.strokeStyle = row.fill ? colours.quiet : colours.chart;
  context.lineWidth = 1.5;
  context.stroke();
  context.lineTo(points[points.length - 1].x, bottom);
  context.lineTo(points[0].x, bottom);
  context.globalAlpha = row.fill ? 1 : 0.6;
  context.fillStyle = row.fill ? colours[row.fill] : colours["chart-fill"];
  context.globalCompositeOperation = "destination-over";
  context.fill();
  context.restore();
  if (row.limit) {
    context.fillStyle = colours.quiet;
    for (let x = plot.left; x < plot.left + plot.width; x += 8) context.fillRect(x, toY(row.limit), 4, 1);
  }
}

function drawLabel(row) {
  if (row.kind === "axis" || (row.height < 12 && row.head === 0)) return;
  context.font = "12px system-ui, 'Liberation Sans', sans-serif";
  context.textAlign = "left";
  context.fillStyle = colours.text;
  const chart = row.kind === "chart";
  const room = (plot.wide ? plot.left : plot.width) - 8;
  const text = chart && !plot.wide ? `${row.label}, up to ${ofChart(row, row.top)}` : row.label;
  if (!plot.wide) {
    context.fillText(fitted(text, room), 0, row.y - 9);
    return;
  }
  context.fillText(fitted(text, room), 0, chart ? row.y + row.height / 2 - 7 : row.y + row.height / 2);
  if (chart) {
    context.fillStyle = colours.quiet;
    context.fillText(`0 to ${ofChart(row, row.top)}`, 0, row.y + row.height / 2 + 8);
  }
}

let lastRange = "";

function draw() {
  context.clearRect(0, 0, canvas.clientWidth, plot.height);
  context.textBaseline = "middle";
  const box = canvas.getBoundingClientRect();
  // Rows outside of the window are not drawn; without layout (printing) all are.
  const top = -box.top - 50;
  const bottom = window.innerHeight - box.top + 50;
  let drawn = 0;
  let spans = 0;
  for (const row of plot.rows) {
    if (row.kind === "axis") {
      drawAxis(row);
      continue;
    }
    if (row.y > bottom || row.y + row.height < top) continue;
    drawLabel(row);
    if (row.kind === "chart") drawChart(row);
    else {
      const result = drawThread(row);
      drawn += result.drawn;
      spans += result.spans;
    }
  }
  canvas.dataset.rectangles = drawn;
  canvas.dataset.spans = spans;
  const range = `${view.from} ${view.to}`;
  if (range !== lastRange) {
    lastRange = range;
    later();
  }
}

let asked = false;

function redraw() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => {
    asked = false;
    draw();
  });
}

// What follows a move once it has ended: the address, the text and the table.
let timer = 0;

function later() {
  clearTimeout(timer);
  timer = setTimeout(settle, 250);
}

function settle() {
  const all = view.from === whole[0] && view.to === whole[1];
  const total = data.threads.reduce((sum, thread) => sum + thread.start.length, 0);
  find("#range").textContent = all
    ? `All ${seconds(whole[1])}, ${count(total)} spans.`
    : `${seconds(view.from)} to ${seconds(view.to)} of ${seconds(whole[1])}.`;
  const hash = all ? "" : `#from=${view.from.toFixed(6)}&to=${view.to.toFixed(6)}`;
  if (hash !== location.hash) history.replaceState(null, "", hash || location.pathname + location.search);
  showThreads();
}

function show(from, to) {
  const length = Math.min(Math.max(to - from, SHORTEST), whole[1] - whole[0]);
  const middle = (from + to) / 2;
  view.from = Math.min(Math.max(middle - length / 2, whole[0]), whole[1] - length);
  view.to = view.from + length;
  redraw();
}

function zoom(factor, at = (view.from + view.to) / 2) {
  const length = Math.min((view.to - view.from) * factor, whole[1] - whole[0]);
  const share = (at - view.from) / (view.to - view.from);
  show(at - share * length, at + (1 - share) * length);
}

function pan(share) {
  const shift = share * (view.to - view.from);
  show(view.from + shift, view.to + shift);
}

const ACTS = {
  closer: () => zoom(0.6),
  farther: () => zoom(1 / 0.6),
  earlier: () => pan(-0.2),
  later: () => pan(0.2),
  all: () => show(...whole),
};
const KEYS = {
  "+": "closer", "=": "closer", "-": "farther", ArrowLeft: "earlier", ArrowRight: "later", 0: "all", Home: "all",
};

function readHash() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const [from, to] = ["from", "to"].map((name) => parseFloat(asked.get(name)));
  if (from < to) show(from, to);
}

function listen() {
  const pointers = new Map();
  canvas.addEventListener("wheel", (event) => {
    const chosen = event.ctrlKey || document.activeElement === canvas;
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
    const back = event.deltaY > 0 && view.to - view.from >= whole[1] - whole[0];
    if (!sideways && (!chosen || (back && !event.ctrlKey))) return; // the page scrolls
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 16 : 1;
    if (sideways) pan((event.deltaX * unit) / plot.width);
    else zoom(Math.exp(event.deltaY * unit * (event.ctrlKey ? 0.008 : 0.0025)), toTime(event.offsetX));
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, event.offsetX);
    canvas.classList.add("held");
    hideTip();
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!pointers.has(event.pointerId)) return showTip(event);
    const before = [...pointers.values()];
    pointers.set(event.pointerId, event.offsetX);
    const after = [...pointers.values()];
    if (before.length === 1) return pan((before[0] - after[0]) / plot.width);
    // Two fingers: the times under them stay under them.
    const fixed = before.slice(0, 2).map(toTime);
    const apart = after[1] - after[0];
    if (Math.abs(apart) < 8) return undefined;
    const length = Math.abs(((fixed[1] - fixed[0]) / apart) * plot.width);
    const from = fixed[0] - ((after[0] - plot.left) / plot.width) * length;
    return show(from, from + length);
  });
  const release = (event) => {
    pointers.delete(event.pointerId);
    if (!pointers.size) canvas.classList.remove("held");
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || !KEYS[event.key]) return;
    event.preventDefault();
    ACTS[KEYS[event.key]]();
  });
  find(".buttons").addEventListener("click", (event) => {
    const act = event.target.dataset.act;
    if (act) ACTS[act]();
  });
  window.addEventListener("hashchange", readHash);
  window.addEventListener("scroll", redraw, { passive: true });
  dark.addEventListener("change", () => {
    readColours();
    paint();
    redraw();
  });
  new ResizeObserver(() => {
    layOut();
    draw();
  }).observe(canvas.parentElement);
}

// What is under the pointer.

function under(row, time) {
  if (row.kind === "chart") {
    const moments = data.history.seconds;
    const at = Math.min(firstAfter(moments, time), moments.length - 1);
    return known(row.values[at]) ? [make("b", row.label), `${ofChart(row, row.values[at])} at ${seconds(moments[at])}`] : null;
  }
  const { start, end, stage, doing, element } = row.thread;
  const at = firstAfter(end, time);
  const pixel = (view.to - view.from) / plot.width;
  if (at >= start.length || start[at] > time + pixel) return null;
  const name = stage[at] < 0 ? (DOINGS[doing[at]] === "step" ? "your loop" : data.no_stage) : data.stages[stage[at]].label;
  const numbered = element[at] < 0 ? "" : `, element ${count(element[at])}`;
  const swatch = make("span", [], { class: "swatch", "data-doing": DOINGS[doing[at]] });
  swatch.style.background = colours[DOINGS[doing[at]]];
  return [
    make("b", name + numbered), swatch, `${data.doings[DOINGS[doing[at]]]}, ${seconds(end[at] - start[at])}`,
    make("div", `from ${seconds(start[at])}, ${row.label}`),
  ];
}

function showTip(event) {
  const time = toTime(event.offsetX);
  const row = plot.rows.find(
    (one) => one.kind !== "axis" && event.offsetY >= one.y - 2 && event.offsetY <= one.y + one.height + 2,
  );
  const inside = event.offsetX >= plot.left;
  const cursor = find(".cursor");
  cursor.hidden = !inside;
  cursor.style.left = `${event.offsetX}px`;
  const content = row && inside ? under(row, time) : null;
  const tip = find("#tip");
  tip.hidden = !content;
  if (!content) return;
  tip.replaceChildren(...content);
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(Math.min(event.clientX + 14, window.innerWidth - width - 8), 4)}px`;
  const below = event.clientY + 18;
  tip.style.top = `${below + height > window.innerHeight ? event.clientY - height - 12 : below}px`;
}

function hideTip() {
  find("#tip").hidden = true;
  find(".cursor").hidden = true;
}

// Tables.

function showThreads() {
  const body = find("#threads tbody");
  const length = view.to - view.from;
  body.replaceChildren(...data.threads.map(({ name, start, end, doing }) => {
    const shares = DOINGS.map(() => 0);
    for (let i = firstAfter(end, view.from); i < start.length && start[i] < view.to; i++) {
      shares[doing[i]] += Math.min(end[i], view.to) - Math.max(start[i], view.from);
    }
    const values = shares.map((share) => make("td", share ? percent(share / length) : ""));
    return make("tr", [make("th", name, { scope: "row" }), ...values]);
  }));
}

const TIMES = "time of its threads";
const CALL = "one call";
const COLUMNS = [
  ["", "stage", (stage) => stage.path, (stage) => stage.label],
  ["", "elements", (stage) => stage.elements, count],
  ["", "rate", (stage) => stage.rate, rate],
  ["", "data", (stage) => stage.bytes, bytes],
  [TIMES, "busy", (stage) => stage.busy_seconds, seconds],
  [TIMES, "CPU", (stage) => stage.cpu_seconds, seconds],
  [TIMES, "no CPU free", (stage) => stage.ready_seconds, seconds],
  [TIMES, "GIL held", (stage) => stage.gil_seconds, seconds],
  [TIMES, "GIL wait", (stage) => stage.gil_wait_seconds, seconds],
  [TIMES, "blocked", (stage) => stage.blocked_seconds, seconds],
  [TIMES, "lock wait", (stage) => stage.lock_seconds, seconds],
  [TIMES, "worker wait", (stage) => stage.worker_seconds, seconds],
  [TIMES, "coroutines", (stage) => stage.ongoing_seconds, seconds],
  [TIMES, "input wait", (stage) => stage.wait_input_seconds, seconds],
  [TIMES, "room wait", (stage) => stage.wait_room_seconds, seconds],
  [TIMES, "memory wait", (stage) => stage.wait_memory_seconds, seconds],
  [CALL, "median", (stage) => stage.call_p50, seconds],
  [CALL, "90 %", (stage) => stage.call_p90, seconds],
  [CALL, "99 %", (stage) => stage.call_p99, seconds],
  [CALL, "longest", (stage) => stage.call_max, seconds],
  ["", "calls", (stage) => stage.parallelism || null, count],
  ["buffer", "filled", (stage) => (stage.buffer_limit ? stage.buffer_size : null), count],
  ["buffer", "limit", (stage) => stage.buffer_limit || null, count],
].filter(([, title, value]) => title === "stage" || data.stages.some(value)); // what none has is left out

function showStages() {
  const table = find("#stages table");
  const groups = [];
  for (const [group] of COLUMNS) {
    const last = groups[groups.length - 1];
    if (last && last[0] === group && group) last[1]++;
    else groups.push([group, 1]);
  }
  const above = groups.map(([group, span]) => make(group ? "th" : "td", group, { colspan: span, ...(group ? { scope: "colgroup" } : {}) }));
  const heads = COLUMNS.map(([, title]) => make("th", make("button", title, { type: "button" }), { scope: "col" }));
  table.tHead.append(make("tr", above, { class: "groups" }), make("tr", heads));
  const fill = (stages) => table.tBodies[0].replaceChildren(...stages.map((stage) => make("tr",
    COLUMNS.map(([, , value, text], i) => (i === 0
      ? make("th", make("span", stage.label, { class: "label" }), { scope: "row", title: `${stage.label}, stage ${stage.path}` })
      : make("td", text(value(stage))))),
    isSlow(stage) ? { class: "slow" } : {})));
  heads.forEach((head, i) => head.firstChild.addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") !== "descending" && i > 0;
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const value = COLUMNS[i][2];
    const order = (one, other) => (i === 0
      ? value(one).localeCompare(value(other), "en", { numeric: true })
      : (value(one) ?? -Infinity) - (value(other) ?? -Infinity));
    fill([...data.stages].sort((one, other) => (down ? order(other, one) : order(one, other))));
  }));
  fill(data.stages);
}

function showLegend() {
  for (const doing of DOINGS) {
    const swatch = make("span", [], { "data-doing": doing });
    find(".legend").append(make("li", [swatch, data.doings[doing]]));
  }
  const heads = [make("th", "thread", { scope: "col" }), ...DOINGS.map((doing) => make("th", data.doings[doing], { scope: "col" }))];
  find("#threads thead").append(make("tr", heads));
}

// Colours what stands for a doing, outside of the canvas.
function paint() {
  for (const element of document.querySelectorAll("[data-doing]")) {
    const colour = colours[element.dataset.doing];
    element.style.background = colour;
    element.style.color = inkOn(colour);
  }
}

readColours();
showHead();
showGraph();
showLegend();
showStages();
paint();
layOut();
listen();
readHash();
draw();
settle();
