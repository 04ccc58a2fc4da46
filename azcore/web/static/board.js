// The board: shows the picture that the server drew, and turns clicks into actions.
// An action is a path of clicks (see azcore/game/board.py); no path is a prefix of another.

import { element as html, shape } from './elements.js'
import { animate, compare, glide, isStill, piecesOf } from './motion.js'
import { Sketch } from './sketch.js'
import { sound } from './sounds.js'

const FINGER = 44  // pixels across a place that a finger hits reliably
const SLANT = 50 / 87  // of a column of hexagons: to the right, for each unit down
const isFinger = () => matchMedia('(hover: none)').matches

const hexagon = (x, y, width, height) => `M${x + width / 2} ${y}l${width / 2} ${height / 4}v${height / 2}l${-width / 2} ${height / 4}l${-width / 2} ${-height / 4}v${-height / 2}z`

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }

export class Board {
  // onAction(action) is called for each action, and returns whether it was sent;
  // ask(answers, words, box) shows a choice at a box of the screen, and resolves to the answer.
  constructor(element, choices, onAction, ask) {
    Object.assign(this, { element, choices, onAction, ask, picked: [], position: null, sure: null, cursor: null, isSent: false, sent: null, paths: {}, premove: null, sketch: new Sketch() })
    element.addEventListener('pointerdown', event => event.button === 2 ? this.#draw(event) : this.#press(event))
    element.addEventListener('contextmenu', event => event.preventDefault())
    // A finger on a piece drags it and does not scroll.
    element.addEventListener('touchmove', event => { if (this.isHeld) event.preventDefault() }, { passive: false })
    // A click does not focus the board, so that the arrow keys step through the game.
    element.addEventListener('mousedown', event => {
      event.preventDefault()
      if (element.contains(document.activeElement)) document.activeElement.blur()
    })
    element.addEventListener('keydown', event => this.#key(event))
  }

  show(position) {
    const before = this.position, isSame = this.#isAt(position)
    // The engine has answered: a selection made meanwhile stays.
    const isAnswer = before && this.#isWaiting() && position.mayMove && position.texts.length === before.texts.length + 1 &&
      position.ply === before.ply + 1 && before.texts.every((text, i) => position.texts[i] === text)
    // An update of the same position keeps the selection.
    if (!isSame && !isAnswer) { this.picked = []; this.sure = null }
    if (!isSame) this.sketch.clear()
    const premove = isAnswer ? this.premove : null
    if (!isSame) this.premove = null
    const hadFocus = this.element.contains(document.activeElement)
    const seen = before && !isSame ? piecesOf(this.svg) : null
    const own = this.isSent ? this.sent : null
    this.position = position
    if (!this.#isWaiting()) this.premove = null
    this.isSent = false
    this.sent = null
    this.paths = position.mayMove ? position.paths : this.#isWaiting() ? this.#imagined() : {}
    if (!this.#open().length) { this.picked = []; this.sure = null }
    this.element.innerHTML = position.svg
    this.svg = this.element.querySelector('svg')
    this.svg.setAttribute('role', 'group')  // a picture has no parts for those who listen
    const box = this.svg.viewBox.baseVal
    this.element.parentElement.style.setProperty('--aspect', box.width / box.height)
    if (position.loose) shape(this.svg, 'defs', {}).innerHTML = position.loose.definitions
    this.marks = shape(this.svg, 'g', {})
    this.layers = this.svg.querySelector('.az-layers') ?? shape(this.svg, 'g', { class: 'az-layers' })
    this.line = shape(this.svg, 'g', { class: 'line-layer' })
    this.gone = shape(this.svg, 'g', { class: 'gone' })
    this.ghost = shape(this.svg, 'g', { class: 'ghost' })
    this.later = shape(this.svg, 'g', { class: 'ghost' })
    this.sketch.putOn(this.svg, place => this.#centre(place))
    this.targets = shape(this.svg, 'g', {})
    for (const [name, [x, y, width, height]] of Object.entries(position.targets)) {
      const target = position.kind === 'hexagons' && !name.startsWith('*')
        ? shape(null, 'path', { d: hexagon(x, y, width, height), class: 'target', role: 'button' })
        : shape(null, 'rect', { x, y, width, height, class: 'target', role: 'button' })
      target.dataset.click = name
      target.addEventListener('click', event => this.#clicked(name, event))
      target.addEventListener('focus', () => this.#goTo(name))
      target.addEventListener('pointerenter', event => this.#hover(event.pointerType === 'mouse' ? name : null))
      target.addEventListener('pointerleave', () => this.#hover(null))
      this.targets.append(target)
    }
    if (!(this.cursor in position.targets)) this.cursor = Object.keys(position.targets)[0] ?? null
    this.#refresh()
    if (hadFocus) this.#target(this.cursor)?.focus()
    if (seen && Math.abs(position.ply - before.ply) === 1) this.#move(seen, before, own)
    if (premove && this.#open().some(([, path]) => premove.every((click, i) => path[i] === click)))
      for (const click of premove) this.click(click)
  }

  // Shows how the pieces came to where they are.
  #move(seen, before, own) {
    const after = piecesOf(this.svg), goesOn = this.position.ply > before.ply
    const changes = compare(seen, after, this.#areMoved(before) || this.#areMoved(this.position))
    animate(changes, after, own, this.gone)
    if (!goesOn) return
    if (this.position.over) sound('end')
    else if (!own) sound(changes.gone.length ? 'take' : 'move')
  }

  // Whether pieces of this game move, and are not only put down.
  #areMoved({ paths, own }) { return Object.values(paths).some(path => path.length > 1 && own.includes(path[0])) }

  // -- premoves: a move that is entered while the engine thinks, and played after its answer ------

  #isWaiting() { return this.position.engine === true && this.position.people.length === 1 && !this.position.over }

  // What the visitor might do after the engine's move: with any own piece to any place, or on any empty place.
  #imagined() {
    const { targets, words, own } = this.position
    const places = Object.keys(targets).filter(name => !name.startsWith('*'))
    const paths = !this.#areMoved(this.position) ? places.filter(place => !(place in words) && this.#put(place)).map(place => [place])
      : places.filter(place => place in words && !own.includes(place)).flatMap(from => places.filter(to => to !== from).map(to => [from, to]))
    return { ...paths }
  }

  #draw(event) {
    const from = event.target.dataset?.click
    const wasSet = this.premove || this.picked.length
    this.putBack()
    if (!from || from.startsWith('*') || wasSet) return
    addEventListener('pointerup', now => {
      if (now.button !== 2) return
      const to = document.elementFromPoint(now.clientX, now.clientY)?.dataset?.click
      if (to in this.position.targets && from in this.position.targets && !to.startsWith('*')) this.sketch.toggle(from, to)
    }, { once: true })
  }

  // Remove what was drawn before the server confirmed it.
  settle() { if (this.isSent) this.show(this.position) }

  #target(name) { return name === null ? null : this.targets.querySelector(`[data-click="${CSS.escape(name)}"]`) }

  // The board is one tab stop; from there, arrow keys move across it as it is drawn.
  #goTo(name) {
    this.#target(this.cursor)?.setAttribute('tabindex', '-1')
    this.cursor = name
    this.#target(name).setAttribute('tabindex', '0')
  }

  #key(event) {
    const name = event.target.dataset?.click
    if (!name || event.ctrlKey || event.metaKey || event.altKey) return
    if (event.key === 'Enter' || event.key === ' ') this.click(name)
    else if (event.key in ARROWS) {
      const [right, down] = ARROWS[event.key]
      // Columns of hexagons slant; the arrows follow them.
      const slant = this.position.kind === 'hexagons' ? SLANT : 0
      const middle = other => { const [x, y] = this.#centre(other); return [x - slant * y, y] }
      const [x0, y0] = middle(name)
      let best = null, least = Infinity
      for (const other of Object.keys(this.position.targets)) {
        const [x, y] = middle(other)
        const along = (x - x0) * right + (y - y0) * down
        const beside = Math.abs((x - x0) * down) + Math.abs((y - y0) * right)
        if (along > 1 && along + 3 * beside < least) [best, least] = [other, along + 3 * beside]
      }
      if (best !== null) this.#target(best).focus()
    } else return
    event.preventDefault()
    event.stopPropagation()
  }

  // The piece that a click would put down.
  #hover(name) {
    if (this.isSent) return  // what was played stays
    this.ghost.replaceChildren()
    if (name === null || !this.position.mayMove || !this.#put(name) || this.picked.length || !this.#isDone(name)) return
    this.ghost.append(this.#loose(name))
  }

  #centre(name) {
    const [x, y, width, height] = this.position.targets[name]
    return [x + width / 2, y + height / 2]
  }

  // The definition of the piece that a click puts down; a place of another shape has another.
  #put(name) {
    const [, , width, height] = this.position.targets[name]
    return this.position.loose?.put[`${width}x${height}`]
  }

  #loose(name) {
    const [x, y] = this.#centre(name)
    return shape(null, 'use', { href: `#${this.#put(name)}`, x, y })
  }

  // Show an action at once, before the server has drawn it.
  #foresee(path) {
    const places = path.filter(click => click in this.position.targets)
    const end = places[Math.min(places.length - 1, 1)]
    this.ghost.replaceChildren()
    this.sent = end === undefined ? null : { at: this.#centre(end).join(), moving: null }
    sound(places.length > 1 && end in this.position.words ? 'take' : 'move')
    if (path.length === 1 && places.length && this.#put(path[0])) {
      const piece = this.#loose(path[0])
      piece.classList.add('sent')
      this.ghost.append(piece)
    } else if (places.length > 1) {
      const [x0, y0, x1, y1] = places.slice(0, 2).flatMap(place => this.#centre(place))
      const pieces = this.#drawnAt(places[0]), copies = this.#copies(places[0], x1 - x0, y1 - y0)
      if (!places[0].startsWith('*')) for (const piece of pieces) piece.style.visibility = 'hidden'
      for (const taken of this.#drawnAt(places[1])) taken.style.visibility = 'hidden'
      for (const moved of copies) {
        moved.setAttribute('class', 'sent')
        this.ghost.append(moved)
        if (!this.isCarried && !isStill()) this.sent.moving = glide(moved, [x0 - x1, y0 - y1])
      }
    }
  }

  overlay(markup) { this.layers.innerHTML = markup }
  pointAt(markup) { this.line.innerHTML = markup; this.#showLayers() }

  // Search overlays would hide the selected piece's targets.
  #showLayers() {
    this.layers.style.visibility = this.line.childElementCount || this.picked.length ? 'hidden' : ''
  }

  putBack() { this.picked = []; this.sure = this.premove = null; this.#refresh() }

  #isAt(position) {
    return this.position?.ply === position.ply && this.position.text === position.text
  }

  // The paths that begin with the current selection, as [action, path].
  #open(extra = []) {
    if (this.isSent) return []
    const begun = [...this.picked, ...extra]
    return Object.entries(this.paths).filter(([, path]) => begun.every((click, i) => path[i] === click))
  }

  #next() { return new Set(this.#open().map(([, path]) => path[this.picked.length])) }

  #clicked(name, event) {
    if (this.dropped) { this.dropped = false; return }
    const finger = event.pointerType === 'touch' || isFinger()
    const { width, height } = event.currentTarget.getBoundingClientRect()
    const isSmall = Math.min(width, height) < FINGER
    if (finger && isSmall && this.#isDone(name) && this.sure !== name && this.picked.length === 0) {
      this.sure = name          // a fat finger: the second tap on the same place makes the action
      this.#refresh()
      return
    }
    this.click(name)
  }

  #isDone(name) {
    const open = this.#open([name])
    return open.length === 1 && open[0][1].length === this.picked.length + 1
  }

  async click(name) {
    this.premove = null
    if (!this.#next().has(name)) {
      const again = this.picked.length === 1 && this.picked[0] === name
      this.picked = []
      if (again || !this.#next().has(name)) { this.sure = null; return this.#refresh() }
    }
    this.picked.push(name)
    this.sure = null
    const open = this.#open()
    if (open.length === 1 && open[0][1].length === this.picked.length) return this.#act(open[0][0])
    const next = [...this.#next()]
    if (this.picked.length && next.length && next.every(click => click in this.position.choices)) {
      const shown = this.position
      this.#refresh()
      const box = this.#target(name)?.getBoundingClientRect()
      const answer = await this.ask(next.map(click => [click, ...this.position.choices[click]]), '', box)
      if (!this.#isAt(shown)) return
      return answer === null ? this.putBack() : this.click(answer)
    }
    this.#refresh()
  }

  #act(action) {
    const path = this.paths[action]
    this.picked = []
    if (!this.position.mayMove) this.premove = path
    this.#refresh()
    if (this.premove) return
    if (!this.onAction(Number(action))) return
    this.#foresee(path)
    this.isSent = true
    this.#refresh()
  }

  #press(event) {
    const name = event.target.dataset?.click
    if (event.button !== 0) return
    this.dropped = false
    this.sketch.clear()
    if (!name || this.picked.length || !this.#canBeDragged(name)) return
    this.isHeld = true
    const from = { x: event.clientX, y: event.clientY, pointerId: event.pointerId }
    let ghost = null
    const move = now => {
      if (now.pointerId !== from.pointerId) return
      if (!ghost) {
        if (Math.hypot(now.clientX - from.x, now.clientY - from.y) < 6) return
        this.picked = [name]
        this.#refresh()
        ghost = this.#ghost(name)
      }
      if (!ghost.isConnected) this.svg.append(ghost)  // the engine has answered meanwhile
      const scale = this.svg.viewBox.baseVal.width / this.svg.getBoundingClientRect().width
      ghost.setAttribute('transform', `translate(${(now.clientX - from.x) * scale} ${(now.clientY - from.y) * scale})`)
    }
    const stop = now => {
      if (now.pointerId !== from.pointerId) return
      this.isHeld = false
      removeEventListener('pointermove', move)
      removeEventListener('pointerup', stop)
      removeEventListener('pointercancel', stop)
      if (!ghost) return
      ghost.remove()
      if (now.type === 'pointercancel') return this.putBack()
      const over = document.elementFromPoint(now.clientX, now.clientY)?.dataset?.click
      this.dropped = over === name       // the click that follows on the same place is no click
      this.isCarried = true
      if (over && over !== name && this.#next().has(over)) this.click(over)
      else this.putBack()
      this.isCarried = false
    }
    addEventListener('pointermove', move)
    addEventListener('pointerup', stop)
    addEventListener('pointercancel', stop)
  }

  #canBeDragged(name) {
    const isPiece = name.startsWith('*') || name in this.position.words
    return isPiece && this.#open([name]).some(([, path]) => path.length > 1 && path[1] in this.position.targets)
  }

  // A copy of the dragged piece: every element drawn at its place.
  #ghost(name) {
    const ghost = shape(null, 'g', { class: 'dragged' })
    ghost.append(...this.#drawnAt(name).map(piece => piece.cloneNode()))
    return this.svg.appendChild(ghost)
  }

  // Copies of what is drawn at a place, at another.
  #copies(name, dx, dy) {
    return this.#drawnAt(name).map(piece => {
      const copy = piece.cloneNode()
      copy.setAttribute('x', piece.x.baseVal.value + dx)
      copy.setAttribute('y', piece.y.baseVal.value + dy)
      return copy
    })
  }

  #drawnAt(name) {
    const [x, y, width, height] = this.position.targets[name]
    return [...this.svg.querySelectorAll('.az-pieces > use, .az-hands use')].filter(piece =>
      Math.abs(piece.x.baseVal.value - x - width / 2) < 2 && Math.abs(piece.y.baseVal.value - y - height / 2) < 2)
  }

  #refresh() {
    const next = this.#next()
    this.marks.replaceChildren()
    for (const target of this.targets.children) {
      const name = target.dataset.click
      const can = next.has(name) || (this.picked.length > 0 && this.picked[0] === name)
      target.classList.toggle('can', can && this.position.mayMove)
      target.classList.toggle('later', can && !this.position.mayMove)
      target.classList.toggle('picked', this.picked.includes(name) || this.sure === name)
      target.classList.toggle('premove', this.premove?.includes(name) ?? false)
      target.setAttribute('tabindex', name === this.cursor ? '0' : '-1')
      target.setAttribute('aria-disabled', String(!can))
      target.setAttribute('aria-pressed', String(this.picked.includes(name) || (this.premove?.includes(name) ?? false)))
      target.setAttribute('aria-label', name.startsWith('*') ? `piece in hand ${name.slice(1)}` : `${name}, ${this.position.words[name] ?? 'empty'}`)
      if (this.picked.length && next.has(name) && this.position.mayMove) {
        const [cx, cy] = this.#centre(name), taken = name in this.position.words
        this.marks.append(shape(null, 'circle', { cx, cy, r: taken ? 42 : 15, class: taken ? 'dot ring' : 'dot' }))
      }
    }
    this.later.replaceChildren()
    if (this.premove?.length > 1) {
      const [[x0, y0], [x1, y1]] = this.premove.map(place => this.#centre(place))
      this.later.append(...this.#copies(this.premove[0], x1 - x0, y1 - y0))
    }
    this.#showLayers()
    this.#offer(next)
  }

  // Buttons for actions whose path begins with no place: a pass, or all actions of a game without a board.
  #offer(next) {
    const buttons = []
    const button = (text, act) => {
      const made = html('button', { textContent: text })
      made.addEventListener('click', act)
      buttons.push(made)
      return made
    }
    // Disabled buttons keep their place, so that nothing jumps.
    const may = this.position.mayMove && !this.isSent
    for (const name of new Set(Object.values(this.position.paths).map(path => path[0]))) {
      if (!(name in this.position.choices)) continue
      const element = button(this.position.choices[name][0], () => this.click(name))
      element.dataset.choice = name
      element.disabled = !may || this.picked.length > 0
    }
    if (may)
      for (const [action, text] of this.position.listed) button(text, () => { if (this.onAction(action)) { this.isSent = true; this.#refresh() } })
    if (this.sure) button(`Play ${this.sure}`, () => this.click(this.sure)).className = 'main'
    this.choices.replaceChildren(...buttons)
    this.choices.classList.toggle('many', buttons.length > 4)
  }
}
