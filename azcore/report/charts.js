// The charts of a run's report; games.js follows in the same script, and steps through the games.
const data = JSON.parse(document.getElementById("data").textContent);
const colour = (i) => `var(--s${i % 3})`;

function drawAll() {
  const kind = document.querySelector("input[name=axis]:checked").value;
  for (const chart of data.charts) {
    const host = document.querySelector(`[data-chart="${chart.name}"]`);
    if (!host) continue;
    const series = chart.series.map((s, i) => ({
      label: s.label, dashed: s.dashed, y: data.columns[s.column], of: s.of && data.columns[s.of],
      bandLow: s.of && data.columns[`${s.column}.low`], bandHigh: s.of && data.columns[`${s.column}.high`],
      colour: s.dashed ? "var(--soft)" : colour(i),
    })).filter((s) => s.y.some((value) => value !== null));
    const format = chart.percent ? percent : short;
    draw(host, {
      ...axis(kind, data.x[kind]), title: chart.title, yName: chart.unit, series, height: 230,
      lines: chart.lines.map((line) => ({ ...line, label: `${line.label} ${format(line.value)}` })),
      yFormat: format, yExact: chart.percent ? percent : exact, low: chart.from_zero ? 0 : null,
      high: chart.percent && chart.to_hundred ? 1 : null, heads: null, marker: null, pick: null,
    });
  }
  drawRating(document.querySelector('[data-chart="rating"]'), kind);
  drawGate(document.querySelector('[data-chart="gate"]'), kind);
}

function drawRating(host, kind) {
  if (!host) return;
  const rating = data.rating;
  draw(host, {
    ...axis(kind, rating.x[kind]), title: "Rating", yName: "Elo", height: 320, low: null, high: null,
    yFormat: whole, yExact: whole, heads: rating.names, marker: null, pick: null,
    lines: rating.lines.map((line) => ({ ...line, label: `${line.label} ${whole(line.value)}` })),
    series: [{ label: "rating", y: rating.value, bandLow: rating.low, bandHigh: rating.high, colour: colour(0) }],
  });
}

function drawGate(host, kind) {
  if (!host) return;
  const gate = data.gate;
  const those = (promoted) => gate.value.map((value, i) => (gate.promoted[i] === promoted ? value : null));
  const ends = { bandLow: gate.low, bandHigh: gate.high };
  draw(host, {
    ...axis(kind, gate.x[kind]), title: "Candidates against the best player", yName: "% of points", height: 260,
    low: 0, high: 1, yFormat: percent, yExact: percent, heads: gate.names, marker: null, pick: null,
    lines: gate.threshold === null ? [] : [{ label: `> ${percent(gate.threshold)}`, value: gate.threshold }],
    series: [
      { label: "became the best player", y: those(true), colour: colour(0), dots: "full", ...ends },
      { label: "did not pass", y: those(false), colour: "var(--soft)", dots: "open", ...ends },
    ].filter((series) => series.y.some((value) => value !== null)),
  });
}
