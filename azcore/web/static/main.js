// The page: the first view, the connection to the room, and what each control does.
import { Board } from './board.js'
import { $, element, options } from './elements.js'
import { Connection, complain, gameIn, hashOf } from './room.js'
import { Review } from './review.js'
import { MOST, Picture, Tree } from './tree.js'
import { clearThought, showBar, showGraph, showMoves, showTaken, showThought } from './panels.js'

const NUMBERS = ['1', '16', '50', '200', '800', '3200', '1s', '3s', '10s']  // simulations or seconds: strengths besides the levels
const YOU = 'you'  // the value of a seat without the engine
const LAYERS = { visits: 'visits', prior: 'policy of the network', line: 'expected line', owner: 'ownership', none: 'nothing' }

const KEPT = 'azcore-game'  // of this browser's storage: the game to continue
const SLOW = 1500           // ms of waiting, after which the page counts the seconds

let players = []
let levels = {}       // name, title and description of each, with a network and without
let strengths = ['medium', 'medium']  // of the seats, where the engine has them
let room = null
let opened = null     // what the server said of the game
let position = null   // and of the position
let view = { flip: false, letters: false, layer: 'visits' }
let isTurned = null   // by the visitor; null: the board faces the player, where its pieces go somewhere
let wanted = null     // the game to open as soon as there is a connection
let isOpening = false // until the server has opened it or refused
let isNewTree = false // until the position after it
let aim = null        // the ply to go to, until it is shown
let waits = null      // what the page is waiting for, as text, and since when

let tree = new Tree() // of all lines; the server has the current one
const picture = new Picture($('variations'), visit)
const board = new Board($('board'), $('choices'), act, ask)

// -- connection ----------------------------------------------------------------------------------

const tell = request => room?.tell(request)

const review = new Review({
  tell, go,
  show(shown) {
    board.show({ ...shown, mayMove: false })
    showTaken(shown.taken, opened.seats)
    $('status').textContent = capital(shown.over || `${opened.seats[shown.toMove]} to move`)
    clearThought()
  },
  changed() {
    tree.leaf.mistakes = review.kept
    history.replaceState({ values: valuesOf(position), mistakes: review.kept }, '', link())
    showGraph(position.values, position.ply, go, review.mistakes)
  },
})

function act(action) {
  if (review.puzzle) return review.takes(action)
  const here = tree.at(position.ply), known = here.children.find(child => child.action === action)
  if (known) return visit(known)
  if (tree.isFull && (here.children.length || tree.fork(here))) {
    complain(`The variations have ${MOST.toLocaleString('en')} moves, the most that the page keeps. Delete one before you add more.`)
    return false
  }
  return tell({ do: 'play', action, ply: position.ply, text: position.text })
}

// Opens a game with all choices made on this page.
function enter(game) {
  isOpening = true
  wait('Opening the game')
  tell({ ...view, strengths, on: $('analyse').checked, ...game, do: 'open' })
}

// The page's own copy of the game: enough to reopen it, here or from a link.
function kept() {
  if (!opened || !position) return null
  return {
    player: opened.player, start: position.start, moves: position.texts, ply: position.ply,
    people: position.people, resigned: position.resigned, lines: tree.lines,
  }
}

// Shows any position of the tree.
function visit(node) { return tree.at(node.ply) === node ? go(node.ply) : turnTo(node) }

// Makes the first line through a position the current one.
function turnTo(node) {
  const leaf = tree.end(node)
  const isSent = tell({ do: 'jump', ply: node.ply, moves: tree.path(leaf).map(each => each.text), resigned: leaf.resigned })
  if (isSent) aim = node.ply
  return isSent
}

// Shows what the page waits for, and the seconds if it takes long.
function wait(words) {
  waits = words && { words, since: performance.now() }
  tick()
}

function tick() {
  if (!waits) return
  const waited = performance.now() - waits.since
  const seconds = waited > SLOW ? ` ${Math.round(waited / 1000)} s; the first time takes up to a minute` : ''
  $('status').textContent = `${waits.words} ...${seconds}`
}
setInterval(tick, 500)

const HEAR = {
  busy(message) { wait(capital(message.message)) },
  warm() {
    opened.warm = true
    if (position) showStatus()
  },
  error(message) {
    wait(null)
    aim = null
    board.settle()
    if (isOpening && !opened) return turnAway(message.message)
    if (isOpening) showOpponents(opened)
    isOpening = false
    if (position) showStatus()
    complain(message.message)
  },
  opened(message) {
    isOpening = false
    opened = message
    $('game-title').textContent = `${message.title} · ${message.who}`
    $('game-title').hidden = false
    document.title = `${message.title} – azcore`
    $('who').textContent = [message.settings, message.who].filter(Boolean).join(' · ')
    showSeats(message)
    options($('layer'), Object.entries(LAYERS).filter(([name]) => message.hasBoard && (name !== 'owner' || message.predicts.includes('ownership'))), view.layer)
    showOpponents(message)
    $('files').replaceChildren(...message.formats.map(name => {
      const button = element('button', {}, `Save as ${name.toUpperCase()}`)
      button.addEventListener('click', () => tell({ do: 'save', format: name, lines: tree.lines }))
      return button
    }))
  },
  tree(message) {
    tree = new Tree(message.lines)
    isNewTree = true
  },
  position(message) {
    complain('')
    const before = position
    const isTakenBack = !isNewTree && before && message.texts.length < before.texts.length && message.texts.every((text, i) => text === before.texts[i])
    isNewTree = false
    const moved = before === null || message.text !== before.text || message.ply !== before.ply
    wait(null)
    position = message
    if (aim === message.ply) aim = null
    tree.follow(message, isTakenBack)
    recall()
    board.show(message)
    showTaken(message.taken, opened.seats)
    if (moved) clearThought()
    face(message)
    strengths = message.strengths
    sit(message)
    $('pause').hidden = message.people.length > 0 || message.isOver
    $('pause').textContent = message.paused ? 'Resume' : 'Pause'
    showStatus()
    showMoves(message, opened, go)
    showTree()
    review.follow(message, before, opened)
    if (tree.leaf.mistakes) review.restore(tree.leaf.mistakes)
    if (history.state?.mistakes && isSame(gameIn(location.hash) ?? { moves: [] }, kept())) review.restore(history.state.mistakes)
    showGraph(message.values, message.ply, go, review.mistakes)
    const value = message.values[message.ply]
    if (value !== null || !before || moved && message.ply === 0) showBar(value ?? 0, null, opened, message.over)
    const isAtEnd = message.ply === message.moves.length
    $('resign').disabled = Boolean(message.over) || message.isOver
    $('hint').disabled = Boolean(message.over) || message.engine
    $('undo').disabled = !isAtEnd || message.moves.length === 0 && message.resigned === null
    for (const id of ['first', 'back']) $(id).disabled = message.ply === 0
    for (const id of ['forth', 'end']) $(id).disabled = isAtEnd
    remember(before)
    if (tree.leaf.children.length) turnTo(tree.leaf)  // moves were taken back, but other lines continue from here
  },
  thought(message) {
    if (message.ply !== position?.ply) return
    position.values[message.ply] = tree.at(message.ply).value = message.value
    showBar(message.value, message.chances, opened)
    showGraph(position.values, position.ply, go, review.mistakes)
    if (review.puzzle || review.why || !message.asked) return
    showThought(message, opened.seats, action => action === null ? board.pointAt('') : tell({ do: 'point', action }),
      action => { if (position.mayMove) act(action) })
    board.overlay(message.overlay)
  },
  reviewed(message) {
    if (message.of !== position.moves.length) return
    message.values.forEach((value, ply) => { position.values[ply] = tree.at(ply).value = value })
    review.reviewed(message)
    showGraph(position.values, position.ply, go, review.mistakes)
  },
  tried(message) {
    board.settle()
    review.tried(message)
  },
  why(message) { review.heard(message) },
  line(message) { if (message.ply === position.ply) board.pointAt(message.overlay) },
  file(message) {
    const anchor = element('a', { href: URL.createObjectURL(new Blob([message.text], { type: 'text/plain' })), download: message.name })
    anchor.click()
    setTimeout(() => URL.revokeObjectURL(anchor.href), 1000)
    if (message.note) complain(`${capital(message.note)}.`)
  },
}

// A broken link: show the first view and the reason.
function turnAway(why) {
  isOpening = false
  wanted = null
  $('table').hidden = $('home').hidden = $('game-title').hidden = true
  showPlayers()
  complain(`${capital(why)}. Choose another game.`)
}

// -- nothing is lost -----------------------------------------------------------------------------

const isSame = (one, other) => one.start === other.start && one.moves.join(' ') === other.moves.join(' ')

// The URL always holds the game. When moves are dropped, the old game stays one step back in the history.
function remember(before) {
  const game = kept(), known = gameIn(location.hash)
  const state = { values: valuesOf(position), mistakes: review.kept }
  const isNew = !before && !known  // from the first view, to which Back leads
  const isLost = before && known && (before.start !== game.start || !tree.holds(known))
  history[isNew || isLost ? 'pushState' : 'replaceState'](state, '', link())
  if (isLost && game.moves.some((text, i) => before.texts[i] !== text))
    complain('Your earlier moves are saved.', ['Restore them', () => history.back()])
  try {
    const words = { title: opened.title, who: opened.who, moves: game.moves.length, over: position.isOver }
    if (game.moves.length) localStorage.setItem(KEPT, JSON.stringify({ hash: location.hash, ...words }))
  } catch { /* a browser that stores nothing */ }
}

// Values found by searches; a game's result applies to its end alone.
const valuesOf = shown => shown.values.map((value, ply) => shown.isOver && ply === shown.moves.length ? null : value)

// Values of positions that the server no longer has, for example after a restart.
function recall() {
  const texts = gameIn(location.hash)?.moves, values = history.state?.values
  if (!texts || !values) return
  for (let ply = 0; ply < position.values.length && (ply === 0 || texts[ply - 1] === position.texts[ply - 1]); ply++)
    position.values[ply] ??= tree.at(ply).value ??= values[ply] ?? null
}

function link() {
  return location.origin + '/' + hashOf({ ...kept(), ...view, flip: isTurned ?? undefined, strengths, on: $('analyse').checked })
}

// Sets the controls from a URL.
function choose(game) {
  for (const name of Object.keys(view)) if (game[name] !== undefined) view[name] = game[name]
  if (game.flip !== undefined) isTurned = game.flip
  $('letters').checked = view.letters
  if (game.on !== undefined) $('analyse').checked = game.on
  if (game.strengths) strengths = game.strengths
}

// Shows a board with movable pieces from the player's side.
function face(message) {
  const paths = Object.values(message.paths)
  if (isTurned !== null || !paths.length) return
  const goSomewhere = paths.some(path => path.length > 1 && message.own.includes(path[0]))
  const flip = goSomewhere && message.people.length === 1 && message.people[0] === 1
  if (flip === view.flip) return
  view.flip = flip
  tell({ do: 'look', ...view })
}

const capital = text => text.charAt(0).toUpperCase() + text.slice(1)

function showStatus() { $('status').textContent = statusOf(position) }

function statusOf(message) {
  const note = message.note ? ` (${message.note})` : ''
  if (message.over) return `${capital(message.over)}${note}`
  const name = opened.seats[message.toMove]
  const last = message.ply ? `${capital(opened.seats[message.movers[message.ply - 1]])} played ${message.moves[message.ply - 1]}. ` : ''
  if (!message.people.length && message.paused) return `${last}The game is paused${note}`
  const cold = opened.warm === false ? ' (it is warming up; its first move takes up to a minute)' : ''
  const now = message.engine ? `azcore thinks for ${name} ...${cold}` : `${message.people.length === 1 && message.mayMove ? `Your move, ${name}` : `${capital(name)} to move`}${cold && message.people.length === 1 ? '. The engine is warming up' : ''}`
  return `${last}${now}${note}`
}

// -- a run as it was -----------------------------------------------------------------------------

const checkpointsOf = run => players.filter(player => player.run === run)
const duration = seconds => seconds < 60 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`

// Describes when a run wrote a checkpoint.
function moment({ step, seconds }) {
  const steps = `step ${step.toLocaleString('en')}`
  if (step === 0) return 'before training'
  return seconds === null ? `at ${steps}` : `after ${duration(seconds)}, ${steps}`
}

// A slider over a run's checkpoints; onMove is called while it moves, onChoose when it stops.
function slider(range, members, chosen, onMove, onChoose = () => {}) {
  Object.assign(range, { min: 0, max: members.length - 1, value: members.findIndex(member => member.name === chosen) })
  const tell = () => {
    range.setAttribute('aria-valuetext', moment(members[range.value]))
    onMove(members[range.value])
  }
  range.oninput = tell
  range.onchange = () => onChoose(members[range.value])
  tell()
}

function showOpponents(message) {
  const same = players.filter(player => player.title === message.title)
  const chosen = players.find(player => player.name === message.player)
  const members = chosen?.run ? checkpointsOf(chosen.run) : []
  // A run is one opponent; the slider selects the time.
  const listed = same.filter(player => !player.run || (player.run === chosen?.run ? player === chosen : player === checkpointsOf(player.run).at(-1)))
  options($('opponent'), listed.map(player => [player.name, player.run || player.player]), message.player)
  $('as-it-was').hidden = members.length < 2
  if (members.length < 2) return
  slider($('moment'), members, message.player, member => { $('moment-text').textContent = moment(member) }, member => open({ ...kept(), player: member.name }))
}

// -- controls ------------------------------------------------------------------------------------

const numberWords = text => text.endsWith('s') ? `${text.slice(0, -1)} s a move` : `${Number(text).toLocaleString('en')} ${text === '1' ? 'simulation' : 'simulations'}`

// Who plays each seat: the visitor, or the engine at a level or with a number.
const SEATS = [$('seat-0'), $('seat-1')]

function showSeats({ seats, levels }) {
  SEATS.forEach((select, seat) => {
    $(`seat-${seat}-name`).textContent = capital(seats[seat])
    const group = (label, pairs) => element('optgroup', { label }, ...pairs.map(([value, text]) => new Option(text, value)))
    select.replaceChildren(new Option('You', YOU), group('Levels', levels.map(([name, title, what]) => [name, `${title} · ${what}`])), group('By number', NUMBERS.map(text => [text, numberWords(text)])))
  })
}

function sit({ people, strengths }) {
  SEATS.forEach((select, seat) => {
    const value = people.includes(seat) ? YOU : strengths[seat]
    if (![...select.options].some(option => option.value === value)) select.lastChild.append(new Option(numberWords(value), value))
    select.value = value
  })
}

function takeSeats() {
  const people = [0, 1].filter(seat => SEATS[seat].value === YOU)
  if (people.join() !== position.people.join()) isTurned = null
  strengths = SEATS.map((select, seat) => select.value === YOU ? strengths[seat] : select.value)
  tell({ do: 'seats', people, strengths })
}

function go(ply) {
  const wanted = Math.max(0, Math.min(position.moves.length, ply))
  const isSent = tell({ do: 'jump', ply: wanted })
  if (isSent) aim = wanted
  return isSent
}
const step = by => review.step(by) || go((aim ?? position.ply) + by)  // keys come faster than positions
function look() {
  tell({ do: 'look', ...view })
  history.replaceState(history.state, '', link())
}

// One key must not discard a game.
async function begin() {
  const hasBegun = position.moves.length > 0 && !position.isOver
  if (hasBegun && await ask([['new', 'Start a new game'], ['', 'Keep this one']], 'This game is not over.') !== 'new') return
  open({ player: opened.player, people: position.people })
}

// answers: value, text and perhaps the piece to draw; box: where on the screen to ask.
function ask(answers, words = '', box = null) {
  const dialog = $('ask'), form = dialog.querySelector('form')
  form.replaceChildren(...words ? [element('p', {}, words)] : [], ...answers.map(([value, text, piece]) => {
    const button = element('button', {}, piece ? '' : text)
    button.value = value
    if (piece) {
      button.ariaLabel = button.title = text
      button.innerHTML = `<svg viewBox="-50 -50 100 100" aria-hidden="true"><use href="#${piece}"/></svg>`
    }
    return button
  }))
  dialog.classList.toggle('pieces', answers.every(answer => answer[2]))
  dialog.returnValue = ''
  dialog.style.cssText = box ? `margin:0;--side:${box.width}px` : ''
  dialog.showModal()
  if (box) {
    const { offsetWidth: width, offsetHeight: height } = dialog
    const isAbove = box.top + box.height / 2 < innerHeight / 2  // the list goes into the board
    dialog.style.left = `${Math.max(4, Math.min(innerWidth - width - 4, box.left + (box.width - width) / 2))}px`
    dialog.style.top = `${Math.max(4, Math.min(innerHeight - height - 4, isAbove ? box.top : box.bottom - height))}px`
  }
  return new Promise(resolve => {
    dialog.onclose = () => resolve(dialog.returnValue || null)
  })
}

const ACTS = {
  promote() {
    tree.promote(tree.leaf)
    showTree()
    history.replaceState(history.state, '', link())
  },
  remove() {
    const fork = tree.fork(tree.leaf)
    if (turnTo(fork.parent)) tree.remove(fork)
  },
  first: () => go(0), back: () => step(-1), forth: () => step(1), end: () => go(position.moves.length),
  undo: () => tell({ do: 'undo' }), hint: () => tell({ do: 'hint' }), resign: () => tell({ do: 'resign' }),
  flip: () => { isTurned = view.flip = !view.flip; look() },
  pause: () => tell({ do: 'pause', on: !position.paused }),
  new: begin,
  load: () => tell({ do: 'load', text: $('paste').value }),
  'copy-text': () => copy(position.text, $('copy-text')),
  share: () => copy(link(), $('share')),
  inside: () => { location.href = link().replace('/#', '/inside#') },
  sees: () => { location.href = link().replace('/#', '/sees#') },
  home: () => { location.href = '/' },
}
for (const [id, act] of Object.entries(ACTS)) $(id).addEventListener('click', act)

$('letters').addEventListener('change', () => { view.letters = $('letters').checked; look() })
$('layer').addEventListener('change', () => { view.layer = $('layer').value; look() })
$('analyse').addEventListener('change', () => {
  tell({ do: 'analyse', on: $('analyse').checked })
  history.replaceState(history.state, '', link())
})
for (const select of SEATS) select.addEventListener('change', takeSeats)
$('opponent').addEventListener('change', () => open({ ...kept(), player: $('opponent').value }))

function showTree() {
  picture.show(tree, position.ply, opened.colours)
  for (const id of ['promote', 'remove']) $(id).disabled = !tree.fork(tree.leaf)
}

const KEYS = {
  ArrowLeft: ACTS.back, ArrowRight: ACTS.forth, Home: ACTS.first, End: ACTS.end,
  u: ACTS.undo, h: ACTS.hint, f: ACTS.flip, n: ACTS.new, i: ACTS.inside, s: ACTS.sees,
  a: () => $('analyse').click(),
  ' ': () => $('pause').hidden || ACTS.pause(),
  p: () => document.querySelector('[data-choice=pass]')?.click(),
  Escape: () => { board.putBack(); review.leave() },
}
// ↑ and ↓ go to the variation above or below, where there is one.
function lane(key) {
  const node = key === 'ArrowUp' ? picture.beside(-1) : key === 'ArrowDown' ? picture.beside(1) : null
  return node && (() => visit(node))
}
addEventListener('keydown', event => {
  const typing = event.target.matches('textarea, select, input:not([type=checkbox])')
  if (typing || event.ctrlKey || event.metaKey || event.altKey || !position || $('ask').open) return
  const act = KEYS[event.key] ?? lane(event.key)
  if (event.key === ' ' && ($('pause').hidden || event.target.matches('button, summary, input'))) return
  if (act) { event.preventDefault(); act() }
})

async function copy(text, button) {
  const words = button.textContent
  try {
    await navigator.clipboard.writeText(text)
    button.textContent = 'Copied'
  } catch {
    $('paste').value = text
    $('paste').select()
    button.textContent = 'Copy it from the text box'
  }
  setTimeout(() => { button.textContent = words }, 1500)
}

// -- links and the first view --------------------------------------------------------------------

function open(game) {
  wanted = game
  choose(game)
  $('start').hidden = true
  $('table').hidden = false
  $('home').hidden = false
  if (room?.isOpen) enter(game)
  else room ??= new Connection('/room', () => enter(kept() ?? wanted), message => HEAR[message.what]?.(message))
}

// A run as an opponent, at any of its checkpoints.
function runCard(run) {
  const members = checkpointsOf(run)
  const when = element('span')
  const range = element('input', { type: 'range', ariaLabel: `Time in the run ${run}`, hidden: members.length < 2 })
  const play = element('button', { className: 'main' }, 'Play')
  play.addEventListener('click', () => open({ player: play.dataset.player, people: [0], moves: [] }))
  const card = element('div', { className: 'card run' }, element('b', {}, members[0].title), element('span', {}, run), range, when, play)
  card.dataset.run = run
  slider(range, members, members.at(-1).name, member => {
    when.textContent = `As it was ${moment(member)}`
    play.dataset.player = member.name
  })
  return card
}

// The last game in this browser.
function continued() {
  let game = null
  try { game = JSON.parse(localStorage.getItem(KEPT)) } catch { /* nothing is stored, or nothing that can be read */ }
  if (!game?.hash || game.over) return []
  const card = element('a', { className: 'card continue', href: `/${game.hash}` },
    element('b', {}, 'Continue your game'), element('span', {}, `${game.title} · ${game.who} · after ${game.moves} ${game.moves === 1 ? 'move' : 'moves'}`))
  card.addEventListener('click', event => { event.preventDefault(); open(gameIn(game.hash)) })
  return [card]
}

// A game and its opponent: the initial position, the rules in a sentence, and the strength.
function gameCard(player) {
  const picture = element('img', { src: `/board.svg?player=${encodeURIComponent(player.name)}`, alt: '', loading: 'lazy' })
  picture.addEventListener('error', () => picture.remove())
  const level = element('select')
  const words = Object.fromEntries(levels[player.group].map(([name, , what]) => [name, [what, player.claims[name]].filter(Boolean).map(capital).join('. ')]))
  options(level, levels[player.group], strengths[1])
  const claim = element('span')
  level.onchange = () => { claim.textContent = words[level.value] ?? '' }
  level.onchange()
  const play = element('button', { className: 'main', ariaLabel: `Play ${player.title}` }, 'Play')
  play.dataset.player = player.name
  play.addEventListener('click', () => open({ player: player.name, people: [0], moves: [], strengths: [level.value, level.value] }))
  return element('div', { className: 'card game' }, picture,
    element('h2', {}, player.title), element('p', {}, player.summary), element('label', {}, 'Opponent ', level), claim, play)
}

const cards = members => element('div', { className: 'cards' }, ...members)

function showPlayers() {
  $('start').hidden = false
  const of = group => players.filter(player => player.group === group)
  const runs = [...new Set(of('runs').map(player => player.run))]
  const more = element('details', { id: 'more-games', open: !of('shipped').length },
    element('summary', {}, 'More: search without a network'), cards(of('search').map(gameCard)))
  $('players').replaceChildren(
    ...continued(), cards(of('shipped').map(gameCard)),
    ...runs.length ? [element('h2', {}, 'Your runs'), cards(runs.map(runCard))] : [], more)
}

addEventListener('hashchange', () => {
  const game = gameIn(location.hash)
  if (game) open(game)
  else location.reload()  // back to the first view
})
if (!gameIn(location.hash)) {
  $('start').hidden = false
  $('players').textContent = 'Looking for networks and runs ...'
}
try {
  ({ players, levels } = await (await fetch('/players.json')).json())
  const game = gameIn(location.hash)
  if (game) open(game)
  else showPlayers()
} catch {
  complain('The server does not respond. Is it running?')
}
