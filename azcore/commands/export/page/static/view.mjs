// A position in the form that board.js draws: pieces read from the network's planes,
// as the export derived them, and clicks from the changes that an action makes on the board.

const HAND = '*'

export class View {
  constructor(facts, rules) {
    Object.assign(this, { facts, rules, look: facts.look })
  }

  // Pieces by place as 'seat role', and the hands of both seats; of the last position put.
  read() {
    const mover = this.rules.player(), { cells, pieces, hands } = this.look.planes[mover]
    const seen = this.rules.observe(), area = cells.length
    const found = { mover, pieces: {}, hands: [{}, {}] }
    for (const [plane, seat, role] of pieces)
      this.look.places.forEach((place, i) => { if (seen[plane * area + cells[i]]) found.pieces[place] = `${seat} ${role}` })
    for (const [plane, seat, role] of hands)
      if (seen[plane * area]) found.hands[seat][role] = seen[plane * area]
    return found
  }

  // The clicks for each action of a position, without the answer to a question, and the role that moves in;
  // clicks are null if the changes on the board do not determine them.
  #changes(state, before, actions) {
    return actions.map(action => {
      this.rules.put(state)
      this.rules.step(action)
      const after = this.read(), own = `${before.mover} `
      const isOwn = piece => piece?.startsWith(own)
      const left = this.look.places.filter(place => isOwn(before.pieces[place]) && !isOwn(after.pieces[place]))
      const came = this.look.places.filter(place => isOwn(after.pieces[place]) && after.pieces[place] !== before.pieces[place])
      const role = came.length === 1 ? after.pieces[came[0]].slice(own.length) : null
      const [had, has] = [before, after].map(position => position.hands[before.mover])
      const dropped = Object.keys(had).find(held => (has[held] ?? 0) < had[held])
      const known = this.look.exceptions[before.mover][action]
      if (came.length !== 1 || left.length > 1) {
        const path = this.look.leaders.map(leader => [left.filter(place => before.pieces[place] === own + leader),
          came.filter(place => after.pieces[place] === own + leader)].flat()).find(places => places.length === 2)
        return { action, path: known ?? path ?? null, role }
      }
      return { action, path: [...left, ...dropped === undefined ? [] : [HAND + dropped], ...came], role }
    })
  }

  paths(state) {
    this.rules.put(state)
    if (this.rules.isTerminal()) return []
    return this.#changes(state, this.read(), this.rules.legal())
  }

  // state: of the position; last: the clicks that led to it; flip: seen from the second seat.
  position(state, last, ply, flip) {
    const { look } = this, side = look.sides[Number(flip)]
    const changes = this.paths(state)
    this.rules.put(state)
    const isOver = this.rules.isTerminal(), now = this.read()
    const shown = { ply, kind: look.kind, text: `${flip} ${ply}`, toMove: now.mover, paths: {}, choices: {}, listed: [], targets: {}, words: {}, own: [] }
    const layer = { shadows: '', pieces: '', hands: '' }
    const put = (seat, role, [x, y], where) => {
      const [piece, shadow] = side.names[seat][role]
      if (shadow) layer.shadows += use(shadow, x, y)
      layer[where] += use(piece, x, y)
    }
    Object.assign(shown.targets, side.boxes)
    const centre = place => { const [x, y, width, height] = side.boxes[place]; return [x + width / 2, y + height / 2] }
    for (const [place, piece] of Object.entries(now.pieces)) {
      const [seat, role] = piece.split(' ')
      put(seat, role, centre(place), 'pieces')
      shown.words[place] = `${this.facts.seats[seat]} ${look.roles[role]}`
      if (Number(seat) === now.mover) shown.own.push(place)
    }
    now.hands.forEach((hand, seat) => Object.entries(hand).forEach(([role, count]) => {
      const [x, y] = side.hands[seat][role]
      put(seat, role, [x, y], 'hands')
      if (count > 1) layer.hands += `<text x="${x + 34}" y="${y + 44}" font-size="32" font-weight="700" text-anchor="middle" fill="currentColor">${count}</text>`
      if (seat === now.mover) shown.targets[HAND + role] = [x - 50, y - 50, 100, 100]
    }))
    const end = last?.findLast(click => click in side.boxes)
    const [x, y] = end === undefined ? [] : centre(end)
    const ring = end === undefined ? '' : `<circle class="last" cx="${x}" cy="${y}" r="45"/>`
    const groups = Object.entries(layer).map(([name, drawn]) => `<g class="az-${name}">${drawn}</g>`)
    shown.svg = side.svg.replace('</svg>', `${groups.join('')}${ring}</svg>`)

    const sharing = grouped(changes)
    for (const same of sharing.values())
      for (const { action, path, role } of same) {
        const asks = same.length > 1
        if (path === null || asks && (role === null || same.filter(other => other.role === role).length > 1)) {
          shown.listed.push([action, `Action ${action}`])
          continue
        }
        shown.paths[action] = asks ? [...path, `=${role}`] : path
        if (asks) shown.choices[`=${role}`] = [look.roles[role]]
        for (const click of path) if (click in look.choices) shown.choices[click] = [look.choices[click]]
      }
    const first = changes.find(({ path, role }) => role !== null && path?.length === 1)
    const [, , width, height] = first ? side.boxes[first.path[0]] : []
    shown.loose = { definitions: '', put: first ? { [`${width}x${height}`]: side.names[now.mover][first.role][0] } : {} }
    if (isOver) {
      const outcome = this.rules.outcome()
      shown.over = outcome === 0 ? 'a draw' : `${this.facts.seats[outcome > 0 ? 0 : 1]} wins`
    }
    return shown
  }
}

const use = (name, x, y) => `<use href="#${name}" x="${x}" y="${y}"/>`

function grouped(changes) {
  const groups = new Map()
  for (const change of changes) {
    const key = String(change.path)
    groups.has(key) ? groups.get(key).push(change) : groups.set(key, [change])
  }
  return groups
}
