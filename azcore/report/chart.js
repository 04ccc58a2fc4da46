// Draws one chart, in reports and on the page of runs. It inserts everything as text, never as HTML.
"use strict";
const SVG = "http://www.w3.org/2000/svg";

function element(name, attributes = {}, text = null, parent = null) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== null) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}

function shape(parent, name, attributes, text = null) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== null) made.textContent = text;
  parent.append(made);
  return made;
}

// -- numbers ---------------------------------------------------------------------------------

const minus = (text) => text.replace("-", "−");

function short(value) {  // for axes: 1.2k, 3M
  const size = Math.abs(value);
  for (const [unit, letter] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]])
    if (size >= unit) return minus(String(+(value / unit).toPrecision(4))) + letter;
  return minus(String(+value.toPrecision(4)));
}

function exact(value) {  // for the pointer: 1,234 and 0.1234
  const digits = Math.abs(value) >= 1000 ? 0 : Math.abs(value) >= 100 ? 1 : 3;
  return minus(value.toLocaleString("en", { maximumFractionDigits: digits }));
}

const whole = (value) => minus((Math.round(value) || 0).toLocaleString("en"));
const percent = (value) => `${+(100 * value).toFixed(1)} %`;
const signed = (value) => (value > 0 ? "+" : "") + minus(value.toFixed(2));

function ticks(low, high, wanted) {
  const rough = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999);
  const marks = [];
  for (let i = Math.ceil(low / step - 1e-6); i * step <= high + step * 1e-6; i++) marks.push(i * step + 0);  // + 0 makes 0 of −0
  return { step, marks };
}

// -- one chart -------------------------------------------------------------------------------
// spec: title, x [R], xName, xFormat, yName, yFormat, low and high (bounds, or null), height,
//       series [{label, y [R], colour, dashed, bandLow, bandHigh, of [R], dots}], lines [{label, value}],
//       (of: y is a share of so many; dots: "full" or "open", points with error bars instead of a curve)
//       heads [R] or null (title of a point), marker (an x) or null, pick(i) or null

function key(series, parent) {  // the mark of a series in legends
  const kind = series.dots ? "key dot" : series.dashed ? "key dashed" : "key";
  const fill = series.dots === "full" ? `;background:${series.colour}` : "";
  element("span", { class: kind, style: `border-color:${series.colour}${fill}` }, null, parent);
}

function draw(host, spec) {
  const width = host.clientWidth;
  if (!width) return;
  host.replaceChildren();
  const used = spec.x.map((x, i) => i)
    .filter((i) => spec.x[i] !== null && spec.series.some((s) => s.y[i] !== null));
  if (!used.length) {
    element("p", { class: "missing" }, "No numbers yet.", host);
    return;
  }
  if (spec.series.length > 1 || spec.series.some((series) => series.dots)) {
    const legend = element("ul", { class: "legend" }, null, host);
    for (const series of spec.series) {
      const item = element("li", {}, null, legend);
      key(series, item);
      item.append(series.label);
    }
  }

  // Scales.
  const values = spec.lines.map((line) => line.value);
  for (const series of spec.series)
    for (const list of [series.y, series.bandLow, series.bandHigh])
      if (list) for (const i of used) if (list[i] !== null) values.push(list[i]);
  let low = spec.low ?? Math.min(...values), high = spec.high ?? Math.max(...values);
  if (!(high > low)) { const room = Math.abs(high) * 0.1 || 1; high += room; if (spec.low === null) low -= room; }
  const height = spec.height, top = 26, bottom = 44, right = 14;
  const y = ticks(low, high, Math.max(3, (height - top - bottom) / 38));
  if (spec.high === null) high = Math.ceil(high / y.step - 1e-6) * y.step;
  if (spec.low === null) low = Math.floor(low / y.step + 1e-6) * y.step;
  y.marks = ticks(low, high, Math.round((high - low) / y.step)).marks;
  const labels = y.marks.map(spec.yFormat);
  const left = 14 + 7 * Math.max(...labels.map((label) => label.length));
  let first = Math.min(...used.map((i) => spec.x[i])), last = Math.max(...used.map((i) => spec.x[i]));
  if (!(last > first)) { first = Math.min(0, first); last = Math.max(first + 1, last); }  // one point: from the start to it
  if (spec.series.some((series) => series.dots)) { const room = (last - first) * 0.07; first -= room; last += room; }
  const px = (value) => left + (value - first) / (last - first) * (width - left - right);
  const py = (value) => top + (high - value) / (high - low) * (height - top - bottom);

  const seen = spec.series.map((series) => {
    const some = used.filter((i) => series.y[i] !== null);
    return some.length ? `${series.label} from ${spec.yFormat(series.y[some[0]])} to ${spec.yFormat(series.y[some.at(-1)])}` : "";
  }).filter(Boolean);
  const svg = shape(host, "svg", {
    height, viewBox: `0 0 ${width} ${height}`, tabindex: 0, role: "img",
    "aria-label": `${spec.title}, ${spec.yName}, over ${spec.xName}: ${seen.join("; ")}. Arrow keys read the values.`,
  });
  shape(svg, "text", { x: 0, y: 12 }, spec.yName);
  y.marks.forEach((mark, i) => {
    shape(svg, "line", { class: "gridline", x1: left, x2: width - right, y1: py(mark), y2: py(mark) });
    shape(svg, "text", { x: left - 7, y: py(mark) + 4, "text-anchor": "end" }, labels[i]);
  });
  shape(svg, "line", { class: "axisline", x1: left, x2: width - right, y1: height - bottom, y2: height - bottom });
  for (const mark of ticks(first, last, Math.max(2, (width - left) / 62)).marks) {
    const at = px(mark);
    shape(svg, "line", { class: "axisline", x1: at, x2: at, y1: height - bottom, y2: height - bottom + 5 });
    shape(svg, "text", { x: Math.min(at, width - 16), y: height - bottom + 18, "text-anchor": "middle" }, spec.xFormat(mark));
  }
  shape(svg, "text", { x: (left + width - right) / 2, y: height - 5, "text-anchor": "middle" }, spec.xName);

  // Curves.
  for (const line of spec.lines) {
    shape(svg, "line", { x1: left, x2: width - right, y1: py(line.value), y2: py(line.value), stroke: "var(--soft)", "stroke-dasharray": "3 4" });
    if (line.label) shape(svg, "text", { x: width - right, y: py(line.value) - 5, "text-anchor": "end" }, line.label);
  }
  for (const series of spec.series) {
    const points = used.filter((i) => series.y[i] !== null);
    if (series.dots) {
      for (const i of points) {
        const at = px(spec.x[i]);
        shape(svg, "line", { x1: at, x2: at, y1: py(series.bandLow[i]), y2: py(series.bandHigh[i]), stroke: series.colour, "stroke-width": 1.5, opacity: 0.6 });
        shape(svg, "circle", { cx: at, cy: py(series.y[i]), r: 4, stroke: series.colour, "stroke-width": 2, fill: series.dots === "full" ? series.colour : "var(--card)" });
      }
      continue;
    }
    if (series.bandLow) {
      const path = points.map((i) => `${px(spec.x[i])},${py(series.bandHigh[i])}`)
        .concat(points.slice().reverse().map((i) => `${px(spec.x[i])},${py(series.bandLow[i])}`));
      if (points.length > 1) shape(svg, "polygon", { class: "band", points: path.join(" "), fill: series.colour });
      else if (points.length) shape(svg, "line", { x1: px(spec.x[points[0]]), x2: px(spec.x[points[0]]), y1: py(series.bandLow[points[0]]), y2: py(series.bandHigh[points[0]]), stroke: series.colour, "stroke-width": 2 });
    }
    shape(svg, "polyline", {
      class: "curve", stroke: series.colour, points: points.map((i) => `${px(spec.x[i])},${py(series.y[i])}`).join(" "),
      ...(series.dashed ? { "stroke-dasharray": "5 5" } : {}),
    });
    if (points.length === 1 || (points.length <= 40 && !series.dashed))
      for (const i of points) shape(svg, "circle", { cx: px(spec.x[i]), cy: py(series.y[i]), r: points.length > 1 ? 2.6 : 4, fill: series.colour });
  }
  if (spec.marker !== null) {
    const at = px(Math.min(Math.max(spec.marker, first), last));
    shape(svg, "line", { x1: at, x2: at, y1: top, y2: height - bottom, stroke: "var(--s1)", "stroke-width": 2 });
  }

  // Values under the pointer, or at the position of the arrow keys.
  const cursor = shape(svg, "g", { visibility: "hidden" });
  const tip = element("div", { class: "tip", role: "status", hidden: "" }, null, host);
  let at = used.length - 1;
  function show(k) {
    at = k;
    const here = used[k], x = px(spec.x[here]);
    cursor.replaceChildren();
    cursor.setAttribute("visibility", "visible");
    shape(cursor, "line", { class: "cursor", x1: x, x2: x, y1: top, y2: height - bottom });
    tip.replaceChildren();
    tip.hidden = false;
    element("div", {}, spec.heads ? spec.heads[here] : `${exact(spec.x[here])} ${spec.xName}`, tip);
    for (const series of spec.series) {
      const points = used.filter((i) => series.y[i] !== null), i = nearest(x, points);
      if (!points.length || (series.dots && i !== here)) continue;
      shape(cursor, "circle", { cx: px(spec.x[i]), cy: py(series.y[i]), r: 4.5, fill: series.colour });
      const row = element("div", {}, null, tip);
      key(series, row);
      row.append(series.label);
      const band = series.bandLow ? ` (${spec.yExact(series.bandLow[i])} to ${spec.yExact(series.bandHigh[i])})` : "";
      const of = series.of ? `${whole(series.y[i] * series.of[i])} of ${whole(series.of[i])}, ` : "";
      const where = i === here ? "" : ` at ${exact(spec.x[i])}`;
      element("b", {}, of + spec.yExact(series.y[i]) + band + where, row);
    }
    const room = width - tip.offsetWidth;
    tip.style.left = `${Math.max(0, Math.min(x + 14, x + 14 > room ? x - 14 - tip.offsetWidth : room))}px`;
    tip.style.top = `${svg.getBoundingClientRect().top - host.getBoundingClientRect().top}px`;
  }
  function hide() { tip.hidden = true; cursor.setAttribute("visibility", "hidden"); }
  function nearest(x, points) {
    return points.reduce((best, i) => (Math.abs(px(spec.x[i]) - x) < Math.abs(px(spec.x[best]) - x) ? i : best), points[0]);
  }
  const under = (event) => nearest(event.clientX - svg.getBoundingClientRect().left, used);
  svg.addEventListener("pointermove", (event) => show(used.indexOf(under(event))));
  svg.addEventListener("pointerdown", (event) => show(used.indexOf(under(event))));
  svg.addEventListener("pointerleave", hide);
  svg.addEventListener("blur", hide);
  if (spec.pick) svg.addEventListener("click", (event) => spec.pick(under(event)));
  svg.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!move) return;
    event.preventDefault();
    event.stopPropagation();  // else the keys would also step through the game
    show(Math.max(0, Math.min(used.length - 1, at + move)));
  });
}

// -- curves over a run -----------------------------------------------------------------------

const AXES = { step: "optimizer steps", games: "games of self-play", evaluations: "evaluations of networks" };

function axis(kind, x) {
  if (kind !== "seconds") return { x, xName: AXES[kind], xFormat: short };
  const longest = Math.max(...x.filter((value) => value !== null), 0);
  const [unit, xName] = longest > 7200 ? [3600, "hours"] : longest > 120 ? [60, "minutes"] : [1, "seconds"];
  return { x: x.map((value) => (value === null ? null : value / unit)), xName, xFormat: short };
}

// Curves with different points, on the union of all x.
// chart: title, unit, percent, height, low and high (bounds, or none)
// curves: [{label, colour, dashed, x [R], y [R], band [low [R], high [R]] or none}]
function drawCurves(host, kind, chart, curves) {
  const x = [...new Set(curves.flatMap((curve) => curve.x.filter((value) => value !== null)))].sort((a, b) => a - b);
  const place = new Map(x.map((value, i) => [value, i]));
  const spread = (curve, list) => {
    const found = new Array(x.length).fill(null);
    curve.x.forEach((value, i) => { if (value !== null) found[place.get(value)] = list[i]; });
    return found;
  };
  const format = chart.percent ? percent : short;
  draw(host, {
    ...axis(kind, x), title: chart.title, yName: chart.unit, height: chart.height,
    yFormat: format, yExact: chart.percent ? percent : exact, low: chart.low ?? null, high: chart.high ?? null,
    lines: [], heads: null, marker: null, pick: null,
    series: curves.map((curve) => ({
      label: curve.label, colour: curve.colour, dashed: curve.dashed, y: spread(curve, curve.y),
      ...(curve.band ? { bandLow: spread(curve, curve.band[0]), bandHigh: spread(curve, curve.band[1]) } : {}),
    })),
  });
}
