// The page that shows one search: its steps, tree, and nodes, and the settings to change.
import { $, element, options, shape } from './elements.js'
import { showFormula } from './formula.js'
import { Connection, complain, positionHere } from './room.js'
import { KNOWN, animate, tell as tellStory } from './story.js'

const TOTALS = [16, 50, 100, 200, 400, 1000]
const RULES = { puct: 'PUCT', gumbel: 'Gumbel' }
const number = (value, digits = 3) => (value < 0 ? '−' : '') + Math.abs(value).toFixed(digits)
// The word for a value, as a player would say it.
const describe = value => value > 0.6 ? 'winning' : value > 0.15 ? 'better' : value >= -0.15 ? 'even' : value >= -0.6 ? 'worse' : 'losing'
const isForPupils = () => $('audience').value === 'pupil'
const judged = value => isForPupils() ? `“${describe(value)}”` : signed(value)
const capital = text => text.charAt(0).toUpperCase() + text.slice(1)
const signed = value => (value > 0 ? '+' : '') + number(value)
const ALPHAZERO = ['Silver et al. 2018, the search of AlphaZero', 'https://doi.org/10.1126/science.aar6404']
const GUMBEL = ['Danihelka et al. 2022, planning with Gumbel', 'https://openreview.net/forum?id=bERaNdoegnO']
// Names of the two terms of a score, by rule, and its paper.
const TERMS = {
  puct: { paper: ALPHAZERO, names: ['Q', 'U'] },
  considered: { paper: GUMBEL, names: ['g + log P', 'σ(Q)'] },
  improved: { paper: GUMBEL, names: ['π′', '−N(a)/N'] },
}

let room = null
let shown = null    // what the server said last
let position = null // player, start, moves
let aim = null      // the simulation to go to, until it is shown
let asked = null    // the aim sent to the server and not answered yet

const tell = request => room.tell(request)

function open(at) {
  aim = null  // of another search
  const wanted = {
    rule: $('rule').value || 'puct', simulations: Number($('simulations').value), network: $('network').value,
    exploration: $('exploration').value, noise: $('noise').value, turns: !$('unturned').checked,
  }
  tell({ do: 'open', ...position, ...wanted, at: Math.min(at, wanted.simulations) })
}

function hear(message) {
  if (message.what === 'error') complain(message.message)
  else show(message)
  if (aim === asked) aim = null
  asked = null
  ask()
}

function cells(row, texts) { for (const text of texts) row.insertCell().textContent = text }

// -- showing -------------------------------------------------------------------------------------

function show(message) {
  complain('')
  const isNext = shown && message.at === shown.at + 1
  shown = message
  $('game-title').textContent = message.title
  options($('rule'), message.rules.map(rule => [rule, RULES[rule]]), message.rule)
  $('at').max = message.of
  $('at').value = message.at
  $('count').textContent = `${message.at} of ${message.of}`
  for (const id of ['begin', 'less']) $(id).disabled = message.at === 0
  for (const id of ['more', 'ten', 'all']) $(id).disabled = message.at === message.of
  $('own').querySelector('button').disabled = message.at === message.of
  showStory(message)
  showNode(message)
  showTree(message)
  showRivals(message)
  if (isNext && message.last) animate(message, label, judged)
}

function showStory({ last, at, rule, isOwn, turns, hasNetwork }) {
  $('walk').hidden = !last
  if (!last) {
    const begun = hasNetwork ? 'The network has evaluated the root.' : 'There is no network: every position has value 0, and all moves have equal priors.'
    tellStory(['No simulation has run yet.', begun, ''], [])
    return
  }
  const way = last.steps.map(step => step.text).join(', ')
  const judge = last.over ? 'The game is over there; its result is' : isOwn ? 'Your value is' : hasNetwork ? 'The network evaluates the new position as' : 'Without a network the new position has the value'
  tellStory([
    `From the root, simulation ${at} takes the move with the highest sum of value so far and curiosity: ${way}.${rule === 'gumbel' ? ' At this root, curiosity is the prior and luck.' : ''}`,
    `${judge} ${judged(last.value)} for ${last.seat}.`,
    'Each move on the way has one more visit. ' + (turns ? 'The backup adds the value to it, in the view of the player who chose it.'
      : 'The backup does not flip the sign: it adds the value of the first player to every move.'),
  ], last.steps)
  const body = $('walk').tBodies[0]
  body.replaceChildren()
  for (const step of [...last.steps].reverse()) {
    const row = body.insertRow()
    cells(row, [step.text, step.seat, `${step.before[0]} → ${step.after[0]}`, `${number(step.before[1])} → ${number(step.after[1])}`, signed(step.gain)])
  }
}

function showNode({ node }) {
  $('picture').innerHTML = shown.svg
  $('where').textContent = node.path.length ? `After ${node.texts.join(', ')}` : 'At the root'
  const judge = node.over ? `Over: ${node.over}.` : `${capital(node.seat)} to move. ${shown.hasNetwork ? 'The network evaluates it as' : 'Without a network its value is'} ${judged(node.value)}; ` +
    (node.visits > 1 ? `the mean of all ${node.visits} values below is ${judged(node.mean)}.` : 'no simulation has passed through it.')
  $('said').textContent = judge
  const { paper, names } = TERMS[node.rule]
  const chosen = node.edges.find(edge => edge.next)
  showFormula($('formula'), $('meaning'), node.over ? null : node.rule)
  ;[$('paper').textContent, $('paper').href] = paper
  $('filled').textContent = !chosen ? '' : node.rule === 'puct'
    ? `${chosen.text}: ${number(chosen.terms[0])} + ${number(node.rate)} · ${number(chosen.p)} · √${node.under} / (1 + ${chosen.n}) = ${number(chosen.score)}, the highest`
    : `${chosen.text}: ${number(chosen.terms[0])} ${chosen.terms[1] < 0 ? '−' : '+'} ${number(Math.abs(chosen.terms[1]))} = ${number(chosen.score)}, the highest`
  $('heads').replaceChildren(...(isForPupils() ? ['Move', 'Visits', `For ${node.seat}`] : ['Move', 'N', 'W', 'Q', 'P', ...(node.rule === 'puct' ? ['U'] : names), 'Score']).map(text => {
    const className = !names.includes(text) ? '' : names[KNOWN[node.rule]] === text ? 'known' : 'curious'
    return element('th', { scope: 'col', textContent: text, className })
  }))
  const body = $('edges').tBodies[0]
  body.replaceChildren()
  for (const edge of node.edges) {
    const row = body.insertRow()
    row.dataset.action = edge.action
    row.className = edge.next ? 'next' : edge.eligible ? '' : 'out'
    const terms = node.rule === 'puct' ? [edge.terms[1]] : edge.terms
    if (isForPupils()) cells(row, [(edge.next ? '▸ ' : '') + edge.text, edge.n, edge.n ? describe(edge.q) : 'not tried'])
    else cells(row, [(edge.next ? '▸ ' : '') + edge.text, edge.n, number(edge.w, 2), edge.n ? number(edge.q) : `(${number(edge.q)})`, number(edge.p), ...terms.map(term => number(term)), number(edge.score)])
    if (edge.n) {
      row.tabIndex = 0
      const look = () => tell({ do: 'look', path: [...node.path, edge.action] })
      row.addEventListener('click', look)
      row.addEventListener('keydown', event => { if (event.key === 'Enter') look() })
    }
  }
  $('hidden').textContent = [
    !isForPupils() && node.edges.some(edge => !edge.n) ? 'Q in brackets: assumed, since the move has no visits.' : '',
    node.hidden ? `${node.hidden} more moves with smaller P are not listed.` : '',
  ].filter(Boolean).join(' ')
}

function showRivals({ rivals }) {
  $('rivals').replaceChildren(...Object.entries(rivals).map(([rule, found]) => {
    const table = element('table')
    cells(table.createTHead().insertRow(), ['Move', isForPupils() ? 'Visits' : 'N', rule === 'puct' ? 'Share' : 'π′'])
    const body = table.createTBody()
    const rows = found.rows.toSorted((one, other) => other[2] - one[2])
    for (const [text, visits, share] of rows) cells(body.insertRow(), [(text === found.best ? '▸ ' : '') + text, visits, `${(100 * share).toFixed(1)}%`])
    const part = element('div', {}, element('p', {}, `${RULES[rule]} would play ${found.best}, value ${judged(found.value)}`), table)
    const [most] = rows[0]
    if (most !== found.best) {  // by Gumbel's rule alone: PUCT plays the most visited move
      part.append(element('p', {}, `Of the moves with most visits, ${found.best} has the highest g + log P + σ(Q). π′, the network's training target, compares all moves and omits the noise g; it prefers ${most}.`))
    }
    return part
  }))
}

// -- the tree ------------------------------------------------------------------------------------

const WIDE = 132, HIGH = 27, BOX = [112, 22]

const label = (n, q) => isForPupils() ? n : `${n}  ${number(q, 2)}`

function showTree({ tree, node: here, of }) {
  const svg = shape(null, 'svg', {})
  let line = 0, deepest = 0
  const nodes = []
  const place = (node, depth) => {
    deepest = Math.max(deepest, depth)
    const below = node.below.map(child => place(child, depth + 1))
    const y = below.length ? (below[0].y + below.at(-1).y) / 2 : HIGH * line++
    const placed = { node, x: depth * WIDE + 4, y: y, below }
    nodes.push(placed)
    return placed
  }
  const root = place(tree, 0)
  for (const { x, y, below } of nodes) {
    for (const child of below) {
      const [x0, y0, x1, y1] = [x + BOX[0], y + BOX[1] / 2 + 4, child.x, child.y + BOX[1] / 2 + 4]
      shape(svg, 'path', { class: `branch${child.node.lit ? ' lit' : ''}`, d: `M${x0} ${y0}C${x0 + 12} ${y0} ${x1 - 12} ${y1} ${x1} ${y1}`, 'stroke-width': 1 + 5 * child.node.n / Math.max(1, tree.n) })
    }
  }
  for (const { node, x, y } of nodes.sort((a, b) => a.x - b.x || a.y - b.y)) {
    const isHere = node.path.join() === here.path.join()
    const group = shape(svg, 'g', { class: `node${node.lit ? ' lit' : ''}${isHere ? ' here' : ''}`, transform: `translate(${x} ${y + 4})`, tabindex: 0, role: 'button' })
    group.dataset.path = node.path.join(' ')
    const name = node.path.length ? node.text : 'root'
    group.setAttribute('aria-description', isForPupils() ? 'visits' : 'visits and Q')
    shape(group, 'rect', { class: 'frame', width: BOX[0], height: BOX[1], rx: 5 })
    shape(group, 'rect', { class: 'fill', width: BOX[0] * node.n / Math.max(1, tree.n), height: BOX[1], rx: 5 })
    shape(group, 'text', { x: 6, y: 15, 'font-weight': 650 }, name + (node.over ? ' ∎' : ''))
    shape(group, 'text', { x: BOX[0] - 5, y: 15, 'text-anchor': 'end', class: 'soft' }, label(node.n, node.q))
    if (node.hidden && !node.below.length) shape(svg, 'text', { x: x + BOX[0] + 4, y: y + 19, class: 'soft' }, '…')
    const look = () => tell({ do: 'look', path: node.path })
    group.addEventListener('click', look)
    group.addEventListener('keydown', event => { if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); look() } })
  }
  const [width, height] = [(deepest + 1) * WIDE, Math.max(1, line) * HIGH + 8]
  for (const [key, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` })) svg.setAttribute(key, value)
  const host = $('tree'), { scrollTop, scrollLeft } = host
  host.replaceChildren(svg)
  Object.assign(host, { scrollTop, scrollLeft })
  const leaf = nodes.filter(({ node }) => node.lit).at(-1)  // nodes are sorted by depth
  const isSeen = leaf.y >= host.scrollTop && leaf.y + HIGH <= host.scrollTop + host.clientHeight
  if (!isSeen) host.scrollTop = leaf.y - host.clientHeight / 2
  if (leaf.x < host.scrollLeft || leaf.x + WIDE > host.scrollLeft + host.clientWidth) host.scrollLeft = leaf.x + WIDE - host.clientWidth
}

// -- controls ------------------------------------------------------------------------------------

// One jump at a time: a slider sends them faster than a search can restart.
const ask = () => { if (aim !== null && asked === null) { asked = aim; tell({ do: 'jump', at: aim }) } }
const go = at => { if (shown) { aim = Math.max(0, Math.min(shown.of, at)); ask() } }
const here = () => aim ?? shown?.at ?? 0
const ACTS = {
  begin: () => go(0), less: () => go(here() - 1), more: () => go(here() + 1), ten: () => go(here() + 10), all: () => go(shown.of),
}
for (const [id, act] of Object.entries(ACTS)) $(id).addEventListener('click', act)
$('at').addEventListener('input', () => go(Number($('at').value)))
for (const id of ['rule', 'simulations', 'network', 'exploration', 'noise', 'unturned']) $(id).addEventListener('change', () => open(shown?.at ?? 0))
$('audience').addEventListener('change', () => {
  document.body.classList.toggle('pupil', isForPupils())
  history.replaceState(null, '', `?for=${$('audience').value}${location.hash}`)
  if (shown) show(shown)
})
$('own').addEventListener('submit', event => {
  event.preventDefault()
  tell({ do: 'value', value: Number($('own-value').value) })
})
const KEYS = { ArrowLeft: ACTS.less, ArrowRight: ACTS.more, Home: ACTS.begin, End: ACTS.all }
addEventListener('keydown', event => {
  const typing = /^(TEXTAREA|SELECT|INPUT)$/.test(event.target.tagName)
  if (typing || event.ctrlKey || event.metaKey || event.altKey || !shown) return
  if (KEYS[event.key]) { event.preventDefault(); KEYS[event.key]() }
})

$('audience').value = new URLSearchParams(location.search).get('for') === 'pupil' ? 'pupil' : 'student'
document.body.classList.toggle('pupil', isForPupils())
options($('simulations'), TOTALS.map(total => [String(total), String(total)]), '50')
try {
  position = await positionHere()
  room = new Connection('/inside/room', () => { aim = asked = null; open(shown?.at ?? 0) }, hear)
} catch {
  complain('The server does not respond. Is it running?')
}
