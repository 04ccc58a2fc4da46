// The page of several runs: their charts on shared axes, and their games in step.

const data = JSON.parse(document.getElementById("data").textContent);
const several = new Set(data.runs.map((run) => run.title)).size < data.runs.length;
const labels = data.runs.map((run) => (several ? `${run.title}, ${run.name}` : run.title));

// A run's rating as a share of its own range, from its first to its highest.
function share(values) {
  const first = values[0], range = Math.max(...values) - first;
  return values.map((value) => (range > 0 ? (value - first) / range : null));
}

const CHARTS = [
  { title: "Rating above random play", unit: "Elo", explanation: "From each run's matches; random play of its own game is 0. The band is a 95 % interval.", of: (run) => run.rating.value, band: (run) => [run.rating.low, run.rating.high], x: (run) => run.rating.x },
  { title: "Rating as a share of its own range", unit: "% of the way", explanation: "The same curve scaled from its first point, 0 %, to its highest, 100 %: which run was faster.", percent: true, of: (run) => share(run.rating.value), x: (run) => run.rating.x },
  { title: "Policy accuracy", unit: "% of positions", explanation: "How often the network's top move is also the search's most visited one.", percent: true, of: (run) => run.curves.accuracy },
  { title: "Explained variance of results", unit: "% of the variance", explanation: "How much of the result the network predicts: 0 % is no better than the mean, 100 % is certain and correct.", percent: true, of: (run) => run.curves.foreseen },
  { title: "Length of games", unit: "plies", explanation: "Moves of both players in an average game of self-play.", of: (run) => run.curves.length, low: 0 },
  { title: "Wins of the first player", unit: "% of games", explanation: "The first mover's wins in self-play; the next chart has draws.", percent: true, of: (run) => run.curves.first, low: 0, high: 1 },
  { title: "Draws", unit: "% of games", explanation: "Self-play games that end in a draw.", percent: true, of: (run) => run.curves.draws, low: 0, high: 1 },
  { title: "Evaluations per second", unit: "per second", explanation: "Positions that the network evaluates per second of self-play, on the run's machine.", of: (run) => run.curves.speed, low: 0 },
];

function drawCharts() {
  const kind = document.querySelector("input[name=axis]:checked").value;
  for (const [number, chart] of CHARTS.entries()) {
    const figure = document.getElementById(`chart-${number}`);
    const curves = data.runs.map((run, i) => ({
      label: labels[i], colour: `var(--s${i})`, dashed: i % 2 === 1,
      x: (chart.x ? chart.x(run) : run.x)[kind], y: chart.of(run), band: chart.band && chart.band(run),
    })).filter((curve) => curve.y.some((value) => value !== null));
    figure.hidden = !curves.length;
    if (curves.length) drawCurves(figure.querySelector(".plot"), kind, { ...chart, height: 250 }, curves);
  }
}

for (const [number, chart] of CHARTS.entries()) {
  const figure = element("figure", { class: "card", id: `chart-${number}` }, null, document.getElementById("charts"));
  const caption = element("figcaption", {}, null, figure);
  element("h3", {}, chart.title, caption);
  element("p", {}, chart.explanation, caption);
  element("div", { class: "plot" }, null, figure);
}

// What a run's network knew at the time of the game shown.
function showKnown(run, i, share) {
  const game = run.games[Math.round(share * (run.games.length - 1))];
  if (!game || !run.known.length) return;
  const distance = (known) => Math.abs(known.step - game.step);
  const { texts } = run.known.reduce((best, known) => (distance(known) < distance(best) ? known : best));
  for (const cell of document.querySelectorAll(`#known td:nth-child(${i + 2}) [data-known]`)) cell.textContent = texts[cell.dataset.known] ?? "–";
}

// One slider for all runs: from the first game of each to its latest.
const moment = document.getElementById("moment");
const moments = Math.max(0, ...data.runs.map((run) => run.games.length));
let control = null;
function showGames(plays) {
  const share = moments > 1 ? Number(moment.value) / (moments - 1) : 0;
  const host = document.getElementById("films");
  if (control) control.play(false);
  for (const film of host.querySelectorAll("[id^=film-]")) document.getElementById("store").append(film);
  const games = data.runs.flatMap((run, i) => {
    const place = Math.round(share * (run.games.length - 1));
    const game = run.games[place];
    if (!game) return [];
    const when = game.step === 0 ? "untrained" : `after ${game.trained ?? "the last generation"}, step ${game.step.toLocaleString("en")}`;
    return [{ ...game, element: document.getElementById(`film-${i}-${place}`), title: `${labels[i]}, ${when}` }];
  });
  data.runs.forEach((run, i) => showKnown(run, i, share));
  host.closest("section").hidden = !games.length;
  if (!games.length) return;
  control = together(host, games);
  control.play(plays);
}

document.getElementById("print-sheet").addEventListener("click", () => {
  document.body.classList.add("only-sheet");
  const whole = () => document.body.classList.remove("only-sheet");
  window.addEventListener("afterprint", whole, { once: true }); // print() may return before
  window.print();
});
moment.max = Math.max(0, moments - 1);
moment.value = moment.max;
moment.closest("label").hidden = moments < 2;
moment.addEventListener("input", () => showGames(control.isPlaying));
for (const input of document.querySelectorAll("input[name=axis]")) input.addEventListener("change", drawCharts);
document.getElementById("known").hidden = !data.runs.some((run) => run.known.length);
showGames(!matchMedia("(prefers-reduced-motion: reduce)").matches);
drawCharts();
let before = window.innerWidth;
window.addEventListener("resize", () => {
  if (window.innerWidth === before) return;  // phones resize when their address bar hides
  before = window.innerWidth;
  drawCharts();
});
