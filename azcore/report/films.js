// Games side by side that step together. Each board is a film: a picture whose elements state
// at which positions they are visible, so this script shows and hides them, and draws no board.
// chart.js comes before it on the page.
"use strict";

class Film {  // game: seats, moves, players (a seat a ply), ended, and boards (texts) if it has no pictures
  constructor(element, game) {
    Object.assign(this, { element, game, svg: element.querySelector("svg") });
    const spansOf = (part) => part.dataset.on.split(" ").map((span) => span.split("-").map(Number));
    this.scenes = this.svg ? [...this.svg.querySelectorAll("[data-on]")].map((part) => ({ part, spans: spansOf(part) })) : [];
    if (!this.svg) this.text = element.appendChild(document.createElement("pre"));
    if (this.svg) this.svg.ariaLabel = this.svg.querySelector("title").textContent;  // a title would follow the pointer
    for (const part of this.svg ? this.svg.querySelectorAll(":scope > title, .az-heat") : []) part.remove();
  }

  get length() { return this.game.moves.length; }

  show(wanted) {  // the position after so many plies, or the last one; returns a description
    const ply = Math.min(wanted, this.length);
    if (this.text) this.text.textContent = this.game.boards[ply];
    for (const { part, spans } of this.scenes)
      part.setAttribute("visibility", spans.some(([first, last = first]) => first <= ply && ply <= last) ? "visible" : "hidden");
    const { seats, players, moves, ended, length } = this.game;
    const text = ply === 0 ? "The game begins" : `${ply}: ${seats[players[ply - 1]]} plays ${moves[ply - 1]}`;
    return ply < this.length ? text : length > ply ? `${text}; the rest is not shown` : `${text} – ${ended}`;
  }
}

// Puts films into a host with one slider for all. Each game has its film's element and a title.
function together(host, games, start = 0) {
  host.replaceChildren();
  host.classList.add("together");
  const row = element("div", { class: "films" }, null, host);
  const films = games.map((game) => {
    const figure = element("figure", {}, null, row);
    element("figcaption", {}, game.title, figure);
    figure.append(game.element);
    game.element.hidden = false;
    return { film: new Film(game.element, game), description: element("p", { class: "description" }, null, figure) };
  });
  const longest = Math.max(0, ...films.map(({ film }) => film.length));
  const bar = element("div", { class: "together-bar", role: "group", "aria-label": "Step through the games" }, null, host);
  const buttons = [["back", "‹", "Back by one ply"], ["play", "▶", "Play"], ["next", "›", "Forward by one ply"]].map(([name, sign, words]) => [name, element("button", { type: "button", "data-films": name, "aria-label": words }, sign, bar)]);
  const slider = element("input", { type: "range", min: 0, max: longest, value: 0, "aria-label": "Ply" }, null, bar);
  const count = element("span", { class: "count" }, null, bar);
  let ply = 0, timer = null;
  const control = {
    get ply() { return ply; },
    get isAtEnd() { return ply === longest; },
    get isPlaying() { return timer !== null; },
    go(wanted) {
      ply = Math.max(0, Math.min(longest, wanted));
      slider.value = ply;
      count.textContent = `${ply} of ${longest}`;
      for (const { film, description } of films) description.textContent = film.show(ply);
    },
    play(on) {
      clearInterval(timer);
      timer = on ? setInterval(() => { if (!host.isConnected) control.play(false); else control.go(ply < longest ? ply + 1 : 0); }, 700) : null;
      const [, button] = buttons[1];
      button.textContent = on ? "❚❚" : "▶";
      button.setAttribute("aria-label", on ? "Stop" : "Play");
    },
  };
  const acts = { back: () => control.go(ply - 1), next: () => control.go(ply + 1), play: () => control.play(timer === null) };
  for (const [name, button] of buttons) button.addEventListener("click", () => { if (name !== "play") control.play(false); acts[name](); });
  slider.addEventListener("input", () => { control.play(false); control.go(Number(slider.value)); });
  control.go(start);
  return control;
}
