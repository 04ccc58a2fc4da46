// The page: turns, clicks and the list of moves. worker.mjs has the rules and the engine.

import { Board } from './board.js'

const $ = id => document.getElementById(id)
const STRENGTHS = [1, 20, 100, 200, 400, 800, 1600]

let game = null, worker = null, waiting = new Map(), lastId = 0
let moves = []       // actions and their clicks
let position = null
let turn = 0         // counts changes of the game, to recognise the answer of an old search
let flip = false
const board = new Board($('board'), $('choices'), act, ask)

function tell(what, request = {}) {
  const id = ++lastId
  worker.postMessage({ id, what, ...request })
  return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }))
}

function fail(error) {
  $('message').textContent = error.message
  $('message').hidden = false
}

function hire() {
  worker = new Worker('worker.mjs', { type: 'module' })
  worker.onmessage = ({ data: { id, answer, error } }) => {
    const { resolve, reject } = waiting.get(id)
    waiting.delete(id)
    error === undefined ? resolve(answer) : reject(new Error(error))
  }
  worker.onerror = event => fail(new Error(event.message ?? 'cannot load the engine'))
}

async function open(folder) {
  hire()
  game = await tell('open', { folder })
  $('game-title').textContent = describe(game)
  $('people').replaceChildren(...[...game.seats, 'both', 'nobody'].map((name, i) => new Option(name, ['0', '1', '01', ''][i])))
  const strengths = [...new Set([...STRENGTHS, game.simulations])].sort((a, b) => a - b)
  $('strength').replaceChildren(...strengths.map(count => new Option(count, count, false, count === game.simulations)))
  $('start').hidden = true
  $('table').hidden = false
  await show()
}

const describe = ({ title, settings }) => settings ? `${title}, ${settings}` : title

async function show() {
  const mine = ++turn
  const actions = moves.map(move => move.action)
  const found = await tell('position', { actions, last: moves.at(-1)?.clicks, flip })
  if (mine !== turn) return
  const isPerson = $('people').value.includes(found.toMove)
  position = { ...found, mayMove: isPerson && !found.over }
  if (!position.mayMove) position.listed = []
  board.show(position)
  $('status').textContent = found.over ? `Game over: ${found.over}` : isPerson ? 'Your move' : 'Thinking'
  $('moves').replaceChildren(...moves.map(({ text }, i) => Object.assign(document.createElement('li'), { textContent: `${i + 1}. ${text}` })))
  if (isPerson || found.over) return
  const { found: edges, seconds } = await tell('think', { actions, simulations: Number($('strength').value) })
  if (mine !== turn) return
  const [best] = edges, visits = edges.reduce((sum, edge) => sum + edge.visits, 0)
  $('thought').textContent = `${words(best.action)}: value ${best.q.toFixed(2)}, ${Math.round(visits / seconds)} simulations per second`
  play(best.action)
}

// Describes an action by its clicks.
function words(action) {
  const listed = position.listed.find(([other]) => other === action)
  const clicks = position.paths[action]
  if (!clicks) return listed?.[1] ?? `action ${action}`
  return clicks.map(click => position.choices[click]?.[0] ?? click).join(' ')
}

function play(action) {
  moves.push({ action, player: position.toMove, clicks: position.paths[action], text: words(action) })
  show().catch(fail)
}

function act(action) {
  if (!position.mayMove) return false
  play(action)
  return true
}

// Asks which of several actions the player means.
function ask(answers) {
  const dialog = $('ask')
  const buttons = answers.map(([value, text]) => Object.assign(document.createElement('button'), { value, textContent: text }))
  dialog.querySelector('form').replaceChildren(...buttons)
  dialog.returnValue = ''
  dialog.showModal()
  return new Promise(resolve => dialog.addEventListener('close', () => resolve(dialog.returnValue || null), { once: true }))
}

$('undo').onclick = () => {
  const people = $('people').value
  let taken
  do taken = moves.pop()
  while (moves.length && people && !people.includes(taken.player))
  show().catch(fail)
}
$('new').onclick = () => { moves = []; show().catch(fail) }
$('flip').onclick = () => { flip = !flip; show().catch(fail) }
$('people').onchange = () => { flip = $('people').value === '1'; show().catch(fail) }

async function begin() {
  const asked = new URLSearchParams(location.search).get('game')
  const games = await (await fetch('games.json')).json()
  const found = games.find(each => each.folder === asked) ?? (games.length === 1 ? games[0] : null)
  if (found) return open(found.folder)
  $('start').hidden = false
  $('games').replaceChildren(...games.map(each => {
    const link = Object.assign(document.createElement('a'), { className: 'card button', href: `?game=${encodeURIComponent(each.folder)}` })
    link.append(Object.assign(document.createElement('b'), { textContent: describe(each) }))
    link.append(Object.assign(document.createElement('span'), { textContent: each.network ? 'with a network' : 'search without a network' }))
    return link
  }))
}

begin().catch(fail)
