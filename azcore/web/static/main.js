// The page: the first view, the connection to the room, and what each control does.
import { Board } from './board.js'
import { clearThought, showBar, showGraph, showMoves, showThought } from './panels.js'

const $ = id => document.getElementById(id)
const GROUPS = { shipped: 'Trained networks', runs: 'Your runs', search: 'Search alone, without a network' }
const STRENGTHS = [[1, null], [16, null], [50, null], [200, null], [800, null], [3200, null], [null, 1], [null, 3], [null, 10]]
const LAYERS = { visits: 'visits', prior: 'policy of the network', line: 'expected line', owner: 'ownership', none: 'nothing' }

let players = []
let socket = null
let opened = null     // what the server said of the game
let position = null   // and of the position
let view = { flip: false, letters: false, layer: 'visits' }
let wanted = null     // the game to open as soon as there is a connection
let isLeaving = false

const board = new Board($('board'), $('choices'), action => tell({ do: 'play', action, ply: position.ply }), ask)

// -- connection ----------------------------------------------------------------------------------

function tell(order) {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(order))
}

// Opens a game, with all that this page has chosen besides.
function enter(game) {
  tell({ ...view, ...strength(), on: $('analyse').checked, ...game, do: 'open' })
}

function connect() {
  socket = new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/room`)
  socket.onopen = () => {
    complain('')
    enter(wanted)
  }
  socket.onmessage = event => {
    const message = JSON.parse(event.data)
    HEAR[message.what]?.(message)
  }
  socket.onclose = event => {
    if (isLeaving || !wanted) return
    complain(event.reason || 'The server does not answer. Trying again ...')
    setTimeout(() => { if (wanted && socket.readyState === WebSocket.CLOSED) { wanted = kept() ?? wanted; connect() } }, 1500)
  }
}

// The game as the page knows it: enough to open it again, here or from a link.
function kept() {
  if (!opened || !position) return null
  return { player: opened.player, start: position.start, moves: position.texts.slice(0, position.ply), people: position.people }
}

const HEAR = {
  busy(message) { $('status').textContent = message.says },
  error(message) { complain(message.says) },
  opened(message) {
    opened = message
    $('game-title').textContent = `${message.title} · ${message.who}`
    document.title = `${message.title} – azcore`
    $('who').textContent = [message.settings, message.who].filter(Boolean).join(' · ')
    options($('people'), [['0', message.seats[0]], ['1', message.seats[1]], ['01', 'both sides'], ['', 'none, watch']], null)
    options($('layer'), Object.entries(LAYERS).filter(([name]) => message.hasBoard && (name !== 'owner' || message.predicts.includes('ownership'))), view.layer)
    showOpponents(message)
    $('files').replaceChildren(...message.formats.map(name => {
      const button = document.createElement('button')
      button.textContent = `Save as ${name.toUpperCase()}`
      button.addEventListener('click', () => tell({ do: 'save', format: name }))
      return button
    }))
  },
  position(message) {
    const isNew = position === null || message.ply === 0
    const moved = position === null || message.text !== position.text || message.ply !== position.ply
    position = message
    board.show(message)
    if (moved) clearThought()
    $('people').value = message.people.join('')
    $('status').textContent = statusOf(message)
    showMoves(message.moves, message.ply, go)
    showGraph(message.values, message.ply, go)
    const value = message.values[message.ply]
    if (value !== null || isNew) showBar(value ?? 0, null, opened)
    $('resign').disabled = Boolean(message.over)
    $('undo').disabled = message.ply === 0
    for (const id of ['first', 'back']) $(id).disabled = message.ply === 0
    for (const id of ['forth', 'end']) $(id).disabled = message.ply === message.moves.length
    history.replaceState(null, '', link())
    complain('')
  },
  thought(message) {
    if (message.ply !== position?.ply) return
    position.values[message.ply] = message.value
    showBar(message.value, message.chances, opened)
    showGraph(position.values, position.ply, go)
    showThought(message, opened.seats, action => action === null ? board.pointAt('') : tell({ do: 'point', action }),
      action => { if (position.mayMove) tell({ do: 'play', action, ply: position.ply }) })
    board.overlay(message.overlay)
  },
  line(message) { if (message.ply === position.ply) board.pointAt(message.overlay) },
  file(message) {
    const anchor = document.createElement('a')
    anchor.href = URL.createObjectURL(new Blob([message.text], { type: 'text/plain' }))
    anchor.download = message.name
    anchor.click()
    setTimeout(() => URL.revokeObjectURL(anchor.href), 1000)
  },
}

const capital = text => text.charAt(0).toUpperCase() + text.slice(1)

function statusOf(message) {
  const note = message.note ? ` (${message.note})` : ''
  if (message.over) return `${capital(message.over)}${note}`
  const name = capital(opened.seats[message.toMove])
  return (message.engine ? `${name}: azcore is thinking ...` : `${name} to move`) + note
}

// -- a run as it was -----------------------------------------------------------------------------

const checkpointsOf = run => players.filter(player => player.run === run)
const duration = seconds => seconds < 60 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`

// When a checkpoint was made, in words.
function moment({ step, seconds }) {
  const steps = `step ${step.toLocaleString('en')}`
  if (step === 0) return 'before it learned anything'
  return seconds === null ? `at ${steps}` : `after ${duration(seconds)}, ${steps}`
}

// A slider over the checkpoints of a run; onMove is told while it moves, onChoose once it rests.
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
  // A run is one opponent: the slider says at which time.
  const listed = same.filter(player => !player.run || (player.run === chosen?.run ? player === chosen : player === checkpointsOf(player.run).at(-1)))
  options($('opponent'), listed.map(player => [player.name, player.run || player.player]), message.player)
  $('as-it-was').hidden = members.length < 2
  if (members.length < 2) return
  slider($('moment'), members, message.player, member => { $('moment-text').textContent = moment(member) }, member => open({ ...kept(), player: member.name }))
}

// -- controls ------------------------------------------------------------------------------------

function options(select, pairs, chosen) {
  select.replaceChildren(...pairs.map(([value, text]) => new Option(text, value, false, value === chosen)))
}

function strength() {
  const [simulations, seconds] = JSON.parse($('strength').value)
  return { simulations, seconds }
}

function go(ply) { tell({ do: 'jump', ply }) }
const step = by => { const ply = position.ply + by; if (ply >= 0 && ply <= position.moves.length) go(ply) }
const look = () => tell({ do: 'look', ...view })

function ask(answers) {
  const form = $('ask').querySelector('form')
  form.replaceChildren(...answers.map(([value, words]) => {
    const button = document.createElement('button')
    Object.assign(button, { value, textContent: words })
    return button
  }))
  $('ask').returnValue = ''
  $('ask').showModal()
  return new Promise(resolve => {
    $('ask').onclose = () => resolve($('ask').returnValue || null)
  })
}

function complain(words) {
  $('message').textContent = words
  $('message').hidden = !words
}

const ACTS = {
  first: () => go(0), back: () => step(-1), forth: () => step(1), end: () => go(position.moves.length),
  undo: () => tell({ do: 'undo' }), hint: () => tell({ do: 'hint' }), resign: () => tell({ do: 'resign' }),
  flip: () => { view.flip = !view.flip; look() },
  new: () => open({ player: opened.player, people: position.people }),
  load: () => tell({ do: 'load', text: $('paste').value }),
  'copy-text': () => copy(position.text, $('copy-text')),
  share: () => copy(link(), $('share')),
  inside: () => { isLeaving = true; location.href = link().replace('/#', '/inside#') },
  sees: () => { isLeaving = true; location.href = link().replace('/#', '/sees#') },
  home: () => { isLeaving = true; location.href = '/' },
}
for (const [id, act] of Object.entries(ACTS)) $(id).addEventListener('click', act)

$('letters').addEventListener('change', () => { view.letters = $('letters').checked; look() })
$('layer').addEventListener('change', () => { view.layer = $('layer').value; look() })
$('analyse').addEventListener('change', () => tell({ do: 'analyse', on: $('analyse').checked }))
$('people').addEventListener('change', () => tell({ do: 'seats', people: [...$('people').value].map(Number) }))
$('strength').addEventListener('change', () => tell({ do: 'strength', ...strength() }))
$('opponent').addEventListener('change', () => open({ ...kept(), player: $('opponent').value }))

const KEYS = {
  ArrowLeft: ACTS.back, ArrowRight: ACTS.forth, Home: ACTS.first, End: ACTS.end,
  u: ACTS.undo, h: ACTS.hint, f: ACTS.flip, n: ACTS.new, i: ACTS.inside, s: ACTS.sees,
  a: () => $('analyse').click(),
  p: () => document.querySelector('[data-choice=pass]')?.click(),
  Escape: () => board.putBack(),
}
addEventListener('keydown', event => {
  const typing = /^(TEXTAREA|SELECT|INPUT)$/.test(event.target.tagName)
  if (typing || event.ctrlKey || event.metaKey || event.altKey || !position || $('ask').open) return
  const act = KEYS[event.key]
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
    button.textContent = 'Copy it from the box'
  }
  setTimeout(() => { button.textContent = words }, 1500)
}

// -- links and the first view --------------------------------------------------------------------

function link() {
  const game = new URLSearchParams()
  const { player, start, moves, people } = kept()
  game.set('player', player)
  if (start) game.set('start', start)
  if (moves.length) game.set('moves', moves.join(' '))
  game.set('people', people.join(''))
  return `${location.origin}/#${game}`
}

function linked() {
  const game = new URLSearchParams(location.hash.slice(1))
  if (!game.get('player')) return null
  return {
    player: game.get('player'),
    start: game.get('start'),
    moves: game.get('moves')?.split(' ') ?? [],
    people: [...(game.get('people') ?? '0')].map(Number),
  }
}

function open(game) {
  wanted = game
  $('start').hidden = true
  $('table').hidden = false
  $('home').hidden = false
  if (socket?.readyState === WebSocket.OPEN) enter(game)
  else if (!socket || socket.readyState === WebSocket.CLOSED) connect()
}

function element(name, text) {
  const made = document.createElement(name)
  made.textContent = text
  return made
}

// A run and the times of its life at which one can meet it.
function runCard(run) {
  const members = checkpointsOf(run)
  const card = document.createElement('div')
  card.className = 'card run'
  card.dataset.run = run
  const when = element('span', '')
  const range = document.createElement('input')
  Object.assign(range, { type: 'range', ariaLabel: `Time in the run ${run}`, hidden: members.length < 2 })
  const play = element('button', 'Play')
  play.className = 'main'
  play.addEventListener('click', () => open({ player: play.dataset.player, people: [0], moves: [] }))
  card.append(element('b', members[0].title), element('span', run), range, when, play)
  slider(range, members, members.at(-1).name, member => {
    when.textContent = `As it was ${moment(member)}`
    play.dataset.player = member.name
  })
  return card
}

function showPlayers() {
  $('start').hidden = false
  const parts = []
  for (const [group, words] of Object.entries(GROUPS)) {
    const members = players.filter(player => player.group === group)
    if (!members.length) continue
    const title = document.createElement('h2')
    title.textContent = words
    const cards = document.createElement('div')
    cards.className = 'cards'
    const runs = new Set(members.map(player => player.run))
    if (group === 'runs') for (const run of runs) cards.append(runCard(run))
    else for (const player of members) {
      const card = document.createElement('button')
      card.className = 'card'
      card.dataset.player = player.name
      card.append(element('b', player.title), element('span', player.player))
      card.addEventListener('click', () => open({ player: player.name, people: [0], moves: [] }))
      cards.append(card)
    }
    parts.push(title, cards)
  }
  $('players').replaceChildren(...parts)
}

options($('strength'), STRENGTHS.map(pair => [JSON.stringify(pair), pair[0] ? `${pair[0].toLocaleString('en')} simulations` : `${pair[1]} s a move`]), '[200,null]')
addEventListener('hashchange', () => { const game = linked(); if (game) open(game) })
if (!linked()) {
  $('start').hidden = false
  $('players').textContent = 'Looking for networks and runs ...'
}
try {
  players = await (await fetch('/players.json')).json()
  const game = linked()
  if (game) open(game)
  else showPlayers()
} catch {
  complain('The server does not answer. Is it running?')
}
