// Steps through the games. Their boards are films: pictures whose elements state at which
// positions they are visible, so this script shows and hides them, and draws no board.

function viewer(games) {
  const id = (name) => document.getElementById(name);
  const viewers = games.map((game, i) => {
    const board = id(`board-${i}`), film = board.querySelector("svg");
    const spansOf = (part) => part.dataset.on.split(" ").map((span) => span.split("-").map(Number));
    const scenes = film ? [...film.querySelectorAll("[data-on]")].map((part) => ({ part, spans: spansOf(part), on: null })) : [];
    if (film) film.querySelector("title").remove();  // it would show as a tooltip; the label is more useful
    return { board, film, scenes, ply: 0 };
  });
  const slider = id("ply"), buttons = [...document.querySelectorAll("[data-game]")];
  let number = games.length - 1, game, view;

  function choose(wanted) {
    number = wanted;
    game = games[number];
    view = viewers[number];
    viewers.forEach((one, i) => { one.board.hidden = i !== number; });
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", i === number));
    slider.max = game.plies.length;
    id("heat").parentElement.hidden = !game.has_heat;
    id("owner").parentElement.hidden = !game.has_owners;
    id("heat").closest("p").hidden = !(game.has_heat || game.has_owners);
    id("heat-name").textContent = game.counts_visits ? "visits" : "search's policy";
    const heads = id("top").tHead.rows[0].cells;
    id("top").caption.textContent = game.counts_visits ? "Most visited moves" : "Moves by improved policy";
    heads[1].textContent = game.counts_visits ? "Share of visits" : "Improved policy";
    heads[2].hidden = !game.counts_visits;
    layers();
    fit();
    go(view.ply);
  }

  function layers() {
    if (!view.film) return;
    for (const name of ["heat", "owner"])
      for (const group of view.film.querySelectorAll(`.az-${name}`)) group.style.display = id(name).checked ? "" : "none";
  }

  function fit() {  // fits the widest row of a text board to its frame, within limits
    if (view.film) return;
    const columns = game.boards.flatMap((text) => text.split("\n")).reduce((most, line) => Math.max(most, [...line].length), 1);
    const size = (view.board.clientWidth - 36) / (columns * 0.61);
    view.board.style.fontSize = `${Math.max(8, Math.min(22, size))}px`;
  }

  function course() {
    const seats = game.seats;
    draw(id("course"), {
      title: "Value over the game", x: game.plies.map((_, i) => i + 1), xName: "ply", xFormat: short,
      yName: `value for ${seats[0]}`, yFormat: signed, yExact: signed, low: -1, high: 1, height: 190,
      series: [{ label: "value", y: game.plies.map((p) => (p.seat === 0 ? p.value : -p.value)), colour: colour(0) }],
      lines: [{ label: "", value: 0 }], heads: game.plies.map((p, i) => `ply ${i + 1}: ${p.action}`),
      marker: view.ply + 1, pick: go,
    });
  }

  // The network's predictions for a position, in the view of the first player.
  function predict(found) {
    const network = game.network, seats = game.seats;
    id("network").hidden = !found;
    if (!found) return;
    id("network-note").textContent = `Network of step ${network.step.toLocaleString("en")}`;
    const bar = id("chances"), list = id("expected");
    bar.replaceChildren();
    list.replaceChildren();
    bar.hidden = !found.chances;
    const entry = (name, text) => {
      element("dt", {}, name, list);
      element("dd", {}, text, list);
    };
    if (found.chances) {
      const names = [`${seats[0]} wins`, "draw", `${seats[1]} wins`];
      const texts = found.chances.map((p, i) => `${names[i]} ${Math.round(100 * p)}\u00a0%`);
      found.chances.forEach((p, i) => element("span", { class: ["first", "drawn", "second"][i], style: `width:${100 * p}%`, title: texts[i] }, p < 0.12 ? "" : `${Math.round(100 * p)} %`, bar));
      bar.setAttribute("aria-label", texts.join(", "));
      entry("Result", texts.join(", "));
    }
    if (found.score !== undefined) {
      const ahead = found.score === 0 ? "even" : `${seats[found.score > 0 ? 0 : 1]} by ${Math.abs(found.score).toFixed(1)}`;
      entry("Expected score", ahead);
    }
    if (found.material !== undefined) {
      const lead = Math.round(100 * found.material);
      entry("Expected material lead", lead === 0 ? "even" : `${seats[lead > 0 ? 0 : 1]}, ${Math.abs(lead)}\u00a0%`);
    }
    if (found.plies_left !== undefined) entry("Plies left", `about ${found.plies_left}`);
  }

  function show(ply) {  // shows the board after so many plies; returns a description
    if (!view.film) {
      view.board.firstElementChild.textContent = game.boards[ply];
      return game.boards[ply];
    }
    const said = new Map();
    for (const scene of view.scenes) {
      const on = scene.spans.some(([first, last = first]) => first <= ply && ply <= last);
      if (on !== scene.on) scene.part.setAttribute("visibility", on ? "visible" : "hidden");
      scene.on = on;
      const { what, where } = scene.part.dataset;
      if (on && what) said.set(what, [...(said.get(what) || []), where]);
    }
    return [...said].sort().map(([what, places]) => `${what} ${places.join(", ")}`).join("; ") || "no pieces";
  }

  function table(now) {  // the moves of a ply, the most visited first
    const rows = id("top").tBodies[0];
    rows.replaceChildren();
    id("top").hidden = !now;
    id("key").hidden = !now;
    if (!now) return;
    const known = now.visits > 0, number = (value, format) => (value === null ? "–" : format(value));
    now.top.forEach(([text, visits, prior, value], i) => {
      const played = i === now.played;
      const row = element("tr", played ? { class: "played" } : {}, null, rows);
      element("td", {}, played ? `${text} ✓` : text, row);
      const bar = element("div", { class: "bar" }, null, element("td", {}, null, row));
      if (known) {
        element("i", { style: `width:${60 * visits / now.top[0][1]}%` }, null, bar);
        bar.append(visits < 0.005 * now.visits ? "< 1 %" : `${Math.round(100 * visits / now.visits)} %`);
      } else bar.append("–");
      element("td", game.counts_visits ? {} : { hidden: "" }, known ? visits.toLocaleString("en") : "–", row);
      element("td", {}, number(prior, (p) => (p < 0.005 ? "< 1 %" : `${Math.round(100 * p)} %`)), row);
      element("td", {}, number(value, signed), row);
    });
    const network = game.network;
    id("key").textContent = !network ? "P is unknown: this run has no saved network." : network.note
      || `P and Q by the network of step ${network.step.toLocaleString("en")}` + (game.counts_visits ? "; Q of the first move is the search's own." : ".");
  }

  function go(wanted) {
    const total = game.plies.length, ply = view.ply = Math.max(0, Math.min(total, wanted));
    const seats = game.seats, named = seats.map((name) => name[0].toUpperCase() + name.slice(1));
    const ends = { 1: `${named[0]} has won`, 0: "A draw", "-1": `${named[1]} has won` };
    const now = game.plies[ply], words = show(ply);
    slider.value = ply;
    slider.setAttribute("aria-valuetext", `after ${ply} of ${total} plies`);
    (view.film || view.board).setAttribute("aria-label", `Board after ${ply} plies: ${words}`);
    id("where").textContent = `Position ${ply} of ${total} · game ${game.index.toLocaleString("en")}, weights of step ${game.step.toLocaleString("en")}`;
    table(now);
    if (now) {
      id("move").textContent = `${named[now.seat]} plays ${now.action}`;
      id("why").textContent = `Why: ${now.why}`;
      id("value").textContent = `Value ${signed(now.value)} for ${seats[now.seat]}` + (now.visits > 0 && game.counts_visits ? `, after ${now.visits.toLocaleString("en")} visits` : "");
    } else {
      const cut = game.length > total;
      id("move").textContent = cut ? "The game continues" : ends[game.outcome] + (game.ended_by ? `: ${game.ended_by}` : "");
      id("why").textContent = "";
      id("value").textContent = cut ? `${game.length - total} further plies are not shown` : `After ${total} plies`;
    }
    predict(game.network && game.network.positions && game.network.positions[ply]);
    for (const button of document.querySelectorAll("[data-go]"))
      button.disabled = ["first", "back"].includes(button.dataset.go) ? ply === 0 : ply === total;
    course();
  }

  const moves = { first: () => 0, back: () => view.ply - 1, next: () => view.ply + 1, last: () => game.plies.length };
  const keys = { Home: "first", ArrowLeft: "back", ArrowRight: "next", End: "last" };
  for (const button of document.querySelectorAll("[data-go]"))
    button.addEventListener("click", () => go(moves[button.dataset.go]()));
  buttons.forEach((button, i) => button.addEventListener("click", () => choose(i)));
  for (const name of ["heat", "owner"]) id(name).addEventListener("change", layers);
  slider.addEventListener("input", () => go(+slider.value));
  document.addEventListener("keydown", (event) => {
    const inside = id("viewer").contains(event.target);
    const arrow = event.key.startsWith("Arrow");
    const writes = event.target.tagName === "INPUT" && event.target.type !== "checkbox";
    // Home and End scroll the page unless the game has the focus.
    if (!keys[event.key] || writes || event.ctrlKey || event.altKey || event.metaKey || (!arrow && !inside)) return;
    event.preventDefault();
    go(moves[keys[event.key]]());
  });
  choose(number);
  return () => { fit(); course(); };
}

const refit = data.games.length ? viewer(data.games) : () => {};
drawAll();
for (const input of document.querySelectorAll("input[name=axis]")) input.addEventListener("change", drawAll);
let before = window.innerWidth;
window.addEventListener("resize", () => {
  if (window.innerWidth === before) return;  // phones resize when their address bar hides
  before = window.innerWidth;
  drawAll();
  refit();
});
