// The panels next to the board: the evaluation bar, the table of actions, the graph and the moves.

import { $, element } from './elements.js'

export const percent = part => `${(100 * part).toFixed(part < 0.1 ? 1 : 0)}%`
export const signed = number => (number > 0 ? '+' : number < 0 ? '−' : '') + Math.abs(number).toFixed(2)
const points = number => (number > 0 ? '+' : number < 0 ? '−' : '') + Math.abs(number).toFixed(1)

// value: of seat 0, -1 to +1; the game's seats with their colours; chances: win, draw and loss of seat 0, if the network predicts them.
// over: how the game ended, if it is over.
export function showBar(value, chances, { seats, colours }, over = '') {
  const bar = $('bar')
  const [win, draw] = chances ?? [(1 + value) / 2, 0]
  const upright = bar.clientHeight > bar.clientWidth
  const [first, middle] = bar.querySelectorAll('span')
  bar.style.setProperty('--first', colours[0])
  bar.style.setProperty('--second', colours[1])
  first.style.cssText = upright ? `height:${100 * win}%` : `width:${100 * win}%`
  middle.style.cssText = upright ? `bottom:${100 * win}%;height:${100 * draw}%` : `left:${100 * win}%;width:${100 * draw}%`
  const share = (1 + value) / 2
  const [name, part] = share >= 0.5 ? [seats[0], share] : [seats[1], 1 - share]
  bar.querySelector('b').textContent = !over ? `${name} ${Math.round(100 * part)}%` : value === 0 ? 'draw' : `${name} wins`
  bar.setAttribute('aria-label', over ? `The game is over: ${over}` : `Evaluation: ${name} scores ${Math.round(100 * part)} percent`)
}

// The pieces that each seat has taken from the other: [definition, count, name] of each kind; null: the game has none.
export function showTaken(taken, seats) {
  for (const seat of [0, 1]) {
    const row = $(`taken-${seat}`), kinds = taken?.[seat] ?? []
    row.hidden = !taken
    row.innerHTML = kinds.map(([piece, count]) => drawing(piece) + drawing(piece, 'same').repeat(count - 1)).join('')
    row.setAttribute('aria-label', `${seats[seat]} has taken ${kinds.map(([, count, name]) => `${count} × ${name}`).join(', ') || 'nothing'}`)
  }
}

const drawing = (piece, kind = '') => `<svg viewBox="-50 -50 100 100" class="${kind}" aria-hidden="true"><use href="#${piece}"/></svg>`

export function showThought(thought, seats, onPoint, onPlay) {
  const parts = [`${thought.simulations.toLocaleString('en')} simulations, ${thought.seconds} s`]
  parts.push(`value ${signed(thought.value)} for ${seats[0]}`)
  if (thought.network !== undefined) parts.push(`network alone ${signed(thought.network)}`)
  if (thought.chances) parts.push(`win ${percent(thought.chances[0])}, draw ${percent(thought.chances[1])}, loss ${percent(thought.chances[2])}`)
  if (thought.score !== undefined) parts.push(`expected score ${thought.score >= 0 ? seats[0] : seats[1]} +${Math.abs(thought.score)}`)
  if (thought.material !== undefined) parts.push(`expected material lead ${thought.material >= 0 ? seats[0] : seats[1]} ${percent(Math.abs(thought.material))}`)
  if (thought.plies_left !== undefined) parts.push(`about ${thought.plies_left} plies left`)
  if (thought.full) parts.push('the tree is full')
  $('thought').textContent = parts.join(' · ')
  const body = $('rows').tBodies[0]
  const hasPoints = thought.rows.some(row => row.points !== null)
  $('points').hidden = !hasPoints
  body.replaceChildren(...thought.rows.map(row => {
    const line = element('tr', { tabIndex: 0 })
    const cells = [row.text, row.visits.toLocaleString('en'), percent(row.prior), row.value === null ? '' : signed(row.value), ...hasPoints ? [row.points === null ? '' : points(row.points)] : [], row.line.slice(1).join(' ')]
    for (const text of cells) line.insertCell().textContent = text
    const share = element('span', { className: 'share' })
    share.style.setProperty('--part', row.share)
    line.cells[1].prepend(share)
    for (const event of ['mouseenter', 'focus']) line.addEventListener(event, () => onPoint(row.action))
    for (const event of ['mouseleave', 'blur']) line.addEventListener(event, () => onPoint(null))
    line.addEventListener('click', () => onPlay(row.action))
    line.addEventListener('keydown', event => { if (event.key === 'Enter') onPlay(row.action) })
    return line
  }))
}

export function clearThought() {
  $('thought').textContent = ''
  $('rows').tBodies[0].replaceChildren()
}

export function showGraph(values, ply, onGo, mistakes = []) {
  const graph = $('graph')
  const last = Math.max(1, values.length - 1)
  const at = i => `${(400 * i / last).toFixed(1)},${(45 - 42 * values[i]).toFixed(1)}`
  const known = [...values.keys()].filter(i => values[i] !== null)
  const points = known.map(at).join(' ')
  const x = 400 * ply / last
  graph.innerHTML = '<line class="zero" x1="0" x2="400" y1="45" y2="45"/>' +
    (known.length > 1 ? `<polygon class="area" points="${400 * known[0] / last},45 ${points} ${400 * known.at(-1) / last},45"/><polyline class="curve" points="${points}"/>` : '') +
    mistakes.filter(mistake => values[mistake.ply + 1] !== null).map(mistake => `<rect class="mistake" x="${400 * (mistake.ply + 1) / last - 2}" width="4" y="0" height="90" opacity=".35"/>`).join('') +
    `<line class="now" x1="${x}" x2="${x}" y1="0" y2="90"/>`
  graph.onclick = event => {
    const box = graph.getBoundingClientRect()
    onGo(Math.max(0, Math.min(values.length - 1, Math.round(last * (event.clientX - box.left) / box.width))))
  }
}

// The number of an action; if pairs share a number, the second of a pair has none.
export function numberOf(i, movers, isByPair, isAlone) {
  if (!isByPair) return String(i + 1)
  const pair = ((i + (movers[0] ?? 0)) >> 1) + 1
  return movers[i] === 0 ? `${pair}.` : isAlone ? `${pair}…` : ''
}

export function showMoves({ moves, movers, ply }, { formats }, onGo) {
  const list = $('moves')
  const isByPair = formats.includes('pgn')  // which numbers moves so
  list.replaceChildren(...moves.map((text, i) => {
    const number = numberOf(i, movers, isByPair, i === 0)
    const button = element('button', {}, ...number ? [element('small', {}, number)] : [], text)
    if (i + 1 === ply) button.setAttribute('aria-current', 'true')
    button.addEventListener('click', () => onGo(i + 1))
    return element('li', {}, button)
  }))
  const now = list.querySelector('[aria-current]')
  if (now) list.scrollTop = now.offsetTop - list.offsetTop - list.clientHeight / 2
}
