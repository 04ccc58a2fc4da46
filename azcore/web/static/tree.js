// The tree of a game's lines, and its picture: the page keeps the tree, the server has one line at a time.
// A line is { ply, moves, resigned }: it shares its first plies with the line before it, and continues with moves, as texts.

import { shape } from './elements.js'

export const MOST = 2000  // moves outside the main line; the server reads no more

export class Tree {
  constructor(lines = []) {
    this.root = { ply: 0, parent: null, children: [], value: null, resigned: null, mistakes: null }
    this.leaf = this.root  // the end of the current line
    let path = [this.root]
    for (const { ply, texts, moves, actions, movers, resigned } of lines) {
      path = path.slice(0, ply + 1)
      texts.forEach((text, i) => path.push(this.#child(path.at(-1), { text, move: moves[i], action: actions[i], seat: movers[i] })))
      path.at(-1).resigned = resigned
    }
  }

  #child(parent, move) {
    let node = parent.children.find(child => child.text === move.text)
    if (!node) {
      node = { ...move, ply: parent.ply + 1, parent, children: [], value: null, resigned: null, mistakes: null }
      parent.children.push(node)
    }
    return node
  }

  // Follows the line that the server shows, and gives it the values that the page knows.
  follow({ texts, moves, actions, movers, values, resigned, isOver }, wasTakenBack) {
    const before = this.leaf
    let node = this.root
    values.forEach((value, i) => {
      if (i) node = this.#child(node, { text: texts[i - 1], move: moves[i - 1], action: actions[i - 1], seat: movers[i - 1] })
      if (value !== null && !(isOver && i === texts.length)) node.value = value  // a result is not a search's
      values[i] = value ?? node.value
    })
    this.leaf = node
    node.resigned = resigned
    if (wasTakenBack) for (let gone = before; gone !== node && gone.parent && !gone.children.length; gone = gone.parent) this.#drop(gone)
  }

  #drop(node) { node.parent.children = node.parent.children.filter(child => child !== node) }

  // Whether there are as many moves outside the main line as the page keeps.
  get isFull() {
    let count = -this.end(this.root).ply
    for (const waiting = [this.root]; waiting.length;) {
      const { children } = waiting.pop()
      count += children.length
      waiting.push(...children)
    }
    return count >= MOST
  }

  path(node) {
    const found = []
    for (; node.parent; node = node.parent) found.unshift(node)
    return found
  }

  // The node of the current line at a ply.
  at(ply) {
    let node = this.leaf
    while (node.ply > ply) node = node.parent
    return node
  }

  // The end of the first line through a node.
  end(node) {
    while (node.children.length) node = node.children[0]
    return node
  }

  get leaves() {
    const found = []
    for (const waiting = [this.root]; waiting.length;) {
      const node = waiting.pop()
      if (!node.children.length) found.push(node)
      waiting.push(...[...node.children].reverse())
    }
    return found
  }

  // All lines, the main one first, after the current one; none if there is only that one.
  get lines() {
    const { leaves } = this
    if (leaves.length < 2 && leaves[0] === this.leaf) return []
    let before = this.path(this.leaf)
    return leaves.map(leaf => {
      const path = this.path(leaf)
      let ply = path.findIndex((node, i) => node !== before[i])
      if (ply < 0) ply = path.length
      before = path
      return { ply, moves: path.slice(ply).map(node => node.text), resigned: leaf.resigned }
    })
  }

  // Whether it has every move of another one, given as a current line and lines.
  holds({ moves, lines }) {
    let line = moves
    const reaches = texts => {
      let node = this.root
      return texts.every(text => (node = node.children.find(child => child.text === text)))
    }
    return reaches(moves) && lines.every(({ ply, moves: rest }) => reaches(line = [...line.slice(0, ply), ...rest]))
  }

  // Makes the line through a node the first at each fork.
  promote(node) {
    for (; node.parent; node = node.parent) {
      this.#drop(node)
      node.parent.children.unshift(node)
    }
  }

  // Where the line of a node leaves the others; null on the main line.
  fork(node) {
    while (node.parent && node.parent.children[0] === node) node = node.parent
    return node.parent && node
  }

  // Removes a variation; returns the node before it.
  remove(node) {
    this.#drop(node)
    return node.parent
  }
}

// Rows for the lines: the main one in row 0, each other below the line that it leaves.
function rowsOf(tree) {
  const rows = new Map([[tree.root, 0]]), from = [0]  // of each row, the first column in use
  for (const leaf of tree.leaves) {
    const line = [leaf]
    while (line[0].parent && !rows.has(line[0].parent)) line.unshift(line[0].parent)
    const { parent } = line[0]
    let row = parent ? rows.get(parent) : 0
    if (parent && parent.children[0] !== line[0]) do row++; while (from[row] <= leaf.ply + 1)
    from[row] = line[0].ply
    for (const node of line) rows.set(node, row)
  }
  return rows
}

const STEP = 24, EDGE = 14, SIZE = 7  // pixels: between moves, around the picture, radius

// Draws the tree into a host, which is hidden if there is only one line.
export class Picture {
  // go(node) shows another position.
  constructor(host, go) {
    Object.assign(this, { host, go, rows: new Map() })
    host.addEventListener('click', event => {
      const node = this.drawn?.[event.target.dataset.node]
      if (node) go(node)
    })
  }

  show(tree, ply, colours) {
    const { host } = this
    host.parentElement.hidden = tree.leaves.length < 2
    if (host.parentElement.hidden) { this.rows = new Map(); return }
    const rows = this.rows = rowsOf(tree)
    this.drawn = [...rows.keys()]
    this.now = tree.at(ply)
    const line = new Set([tree.root, ...tree.path(tree.leaf)])
    const x = node => EDGE + STEP * node.ply, y = node => EDGE + STEP * rows.get(node)
    const width = 2 * EDGE + STEP * Math.max(...this.drawn.map(node => node.ply)), height = 2 * EDGE + STEP * Math.max(...rows.values())
    const svg = shape(null, 'svg', { width, height, viewBox: `0 0 ${width} ${height}` })
    const order = [...this.drawn].sort((one, other) => line.has(one) - line.has(other))
    for (const node of order) {
      if (!node.parent) continue
      const [x0, y0, x1, y1] = [x(node.parent), y(node.parent), x(node), y(node)]
      shape(svg, 'path', { class: line.has(node) ? 'on' : '', d: y0 === y1 ? `M${x0} ${y0}H${x1}` : `M${x0} ${y0}V${y1 - STEP / 2}L${x1} ${y1}` })
    }
    this.drawn.forEach((node, i) => {
      const at = { cx: x(node), cy: y(node) }
      if (node === this.now) shape(svg, 'circle', { ...at, r: SIZE + 3, class: 'now' })
      shape(svg, 'circle', { ...at, r: node.parent ? SIZE : SIZE / 2, class: line.has(node) ? 'on' : '', ...node.parent ? { fill: colours[node.seat] } : {} })
      const target = shape(svg, 'rect', { x: at.cx - STEP / 2, y: at.cy - STEP / 2, width: STEP, height: STEP, class: 'node', 'data-node': i })
      shape(target, 'title', {}, node.parent ? `${node.ply} ${node.move}` : 'Start')
    })
    const { scrollLeft, scrollTop } = host
    host.replaceChildren(svg)
    host.scrollTo(scrollLeft, scrollTop)
    const [left, top] = [x(this.now), y(this.now)]
    if (left < host.scrollLeft + STEP || left > host.scrollLeft + host.clientWidth - STEP) host.scrollLeft = left - host.clientWidth / 2
    if (top < host.scrollTop + STEP || top > host.scrollTop + host.clientHeight - STEP) host.scrollTop = top - host.clientHeight / 2
  }

  // The node in the row above (-1) or below (1) that is closest to the one shown; null: there is no such row.
  beside(by) {
    const row = this.rows.get(this.now) + by
    const far = node => Math.abs(node.ply - this.now.ply)
    const members = [...this.rows.keys()].filter(node => this.rows.get(node) === row)
    return members.sort((one, other) => far(one) - far(other))[0] ?? null
  }
}
