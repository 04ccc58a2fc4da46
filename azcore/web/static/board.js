// The board: shows the picture that the server drew, and turns clicks into actions.
// An action is a path of clicks (azcore/game/board.py says which); no path begins another.

const SVG = 'http://www.w3.org/2000/svg'
const isFinger = () => matchMedia('(hover: none)').matches

function make(name, attributes = {}) {
  const element = document.createElementNS(SVG, name)
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value)
  return element
}

export class Board {
  // onAction(action) is called with each action that was made; ask(names) resolves to a choice.
  constructor(element, choices, onAction, ask) {
    Object.assign(this, { element, choices, onAction, ask, picked: [], position: null, sure: null })
    element.addEventListener('pointerdown', event => this.#press(event))
  }

  show(position) {
    // The same position comes again when something beside it has changed: what is picked stays so.
    if (!this.#isAt(position)) { this.picked = []; this.sure = null }
    this.position = position
    if (!this.#open().length) { this.picked = []; this.sure = null }
    this.element.innerHTML = position.svg
    this.svg = this.element.querySelector('svg')
    const box = this.svg.viewBox.baseVal
    this.element.style.setProperty('--aspect', box.width / box.height)
    this.marks = this.svg.appendChild(make('g'))
    this.layers = this.svg.querySelector('.az-layers') ?? this.svg.appendChild(make('g', { class: 'az-layers' }))
    this.line = this.svg.appendChild(make('g', { class: 'line-layer' }))
    this.targets = this.svg.appendChild(make('g'))
    for (const [name, [x, y, width, height]] of Object.entries(position.targets)) {
      const target = make('rect', { x, y, width, height, class: 'target' })
      target.dataset.click = name
      target.addEventListener('click', event => this.#clicked(name, event))
      target.addEventListener('keydown', event => {
        if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); this.click(name) }
      })
      this.targets.append(target)
    }
    this.#refresh()
  }

  overlay(markup) { this.layers.innerHTML = markup }
  pointAt(markup) { this.line.innerHTML = markup; this.#showLayers() }

  // What the search says would hide where a picked piece can go.
  #showLayers() {
    this.layers.style.visibility = this.line.childElementCount || this.picked.length ? 'hidden' : ''
  }

  putBack() { this.picked = []; this.sure = null; this.#refresh() }

  #isAt(position) {
    return this.position?.ply === position.ply && this.position.text === position.text
  }

  // The paths that begin with what is picked, as [action, path].
  #open(extra = []) {
    if (!this.position.mayMove) return []
    const begun = [...this.picked, ...extra]
    return Object.entries(this.position.paths).filter(([, path]) => begun.every((click, i) => path[i] === click))
  }

  #next() { return new Set(this.#open().map(([, path]) => path[this.picked.length])) }

  #clicked(name, event) {
    if (this.dropped) { this.dropped = false; return }
    const finger = event.pointerType === 'touch' || isFinger()
    if (finger && this.#isDone(name) && this.sure !== name && this.picked.length === 0) {
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
      const answer = await this.ask(next.map(click => [click, this.position.choices[click]]))
      if (!this.#isAt(shown)) return
      return answer === null ? this.putBack() : this.click(answer)
    }
    this.#refresh()
  }

  #act(action) {
    this.picked = []
    this.#refresh()
    this.onAction(Number(action))
  }

  #press(event) {
    const name = event.target.dataset?.click
    if (event.button !== 0 || event.pointerType === 'touch' || !name || this.picked.length) return
    const isPiece = name.startsWith('*') || this.position.own.includes(name)
    const goesOn = this.#open([name]).some(([, path]) => path.length > 1 && path[1] in this.position.targets)
    if (!isPiece || !goesOn) return
    const from = { x: event.clientX, y: event.clientY }
    let ghost = null
    const move = now => {
      if (!ghost) {
        if (Math.hypot(now.clientX - from.x, now.clientY - from.y) < 6) return
        this.picked = [name]
        this.#refresh()
        ghost = this.#ghost(name)
      }
      const scale = this.svg.viewBox.baseVal.width / this.svg.getBoundingClientRect().width
      ghost.setAttribute('transform', `translate(${(now.clientX - from.x) * scale} ${(now.clientY - from.y) * scale})`)
    }
    const stop = now => {
      removeEventListener('pointermove', move)
      removeEventListener('pointerup', stop)
      removeEventListener('pointercancel', stop)
      if (!ghost) return
      ghost.remove()
      const over = document.elementFromPoint(now.clientX, now.clientY)?.dataset?.click
      this.dropped = over === name       // the click that follows on the same place is no click
      if (over && over !== name && this.#next().has(over)) this.click(over)
      else this.putBack()
    }
    addEventListener('pointermove', move)
    addEventListener('pointerup', stop)
    addEventListener('pointercancel', stop)
  }

  // A copy of the piece that is dragged: whatever of the picture is used at that place.
  #ghost(name) {
    const [x, y, width, height] = this.position.targets[name]
    const ghost = make('g', { class: 'dragged' })
    for (const use of this.svg.querySelectorAll('.az-pieces > use, .az-hands use')) {
      if (Math.abs(use.x.baseVal.value - x - width / 2) < 2 && Math.abs(use.y.baseVal.value - y - height / 2) < 2)
        ghost.append(use.cloneNode())
    }
    return this.svg.appendChild(ghost)
  }

  #refresh() {
    const next = this.#next()
    this.marks.replaceChildren()
    for (const target of this.targets.children) {
      const name = target.dataset.click
      const can = next.has(name) || (this.picked.length > 0 && this.picked[0] === name)
      target.classList.toggle('can', can)
      target.classList.toggle('picked', this.picked.includes(name) || this.sure === name)
      if (can) {
        target.setAttribute('tabindex', '0')
        target.setAttribute('role', 'button')
        target.setAttribute('aria-label', name.startsWith('*') ? `piece in hand ${name.slice(1)}` : name)
      } else {
        for (const attribute of ['tabindex', 'role', 'aria-label']) target.removeAttribute(attribute)
      }
      if (this.picked.length && next.has(name)) {
        const [x, y, width, height] = this.position.targets[name]
        const taken = this.svg.querySelector(`[data-where="${CSS.escape(name)}"]`)
        this.marks.append(make('circle', { cx: x + width / 2, cy: y + height / 2, r: taken ? 42 : 15, class: taken ? 'dot ring' : 'dot' }))
      }
    }
    this.#showLayers()
    this.#offer(next)
  }

  // Buttons for actions that begin with no place: a pass, or every action of a game without a board.
  #offer(next) {
    const buttons = []
    const button = (text, act) => {
      const element = document.createElement('button')
      element.textContent = text
      element.addEventListener('click', act)
      buttons.push(element)
      return element
    }
    if (this.picked.length === 0) {
      for (const name of next)
        if (name in this.position.choices) button(this.position.choices[name], () => this.click(name)).dataset.choice = name
    }
    if (this.position.mayMove)
      for (const [action, text] of this.position.listed) button(text, () => this.onAction(action))
    if (this.sure) button(`Play ${this.sure}`, () => this.click(this.sure)).className = 'main'
    this.choices.replaceChildren(...buttons)
    this.choices.id = 'choices'
  }
}
