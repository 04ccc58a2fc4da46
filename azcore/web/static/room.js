// What pages with a room share: the connection, error messages, and the game in a URL.

import { $, element } from './elements.js'

const BEAT = 1000         // ms between two questions whether the server is there
const PATIENCE = 2400     // ms without an answer, after which it is said
const AGAIN = 1500        // ms until a lost connection is tried again
const LOST = 'The server does not respond. Your game is safe on this page; trying again ...'

// A message above everything, visible at any scroll position, perhaps with a button that helps.
export function complain(words, button = null) {
  const message = $('message')
  message.replaceChildren(words)
  if (button) {
    const made = element('button', {}, button[0])
    made.addEventListener('click', () => { complain(''); button[1]() })
    message.append(' ', made)
  }
  message.hidden = !words
}

// A web socket that reconnects. open() is called after each connection, hear(message) for each message.
export class Connection {
  constructor(path, open, hear) {
    Object.assign(this, { path, open, hear, asked: null, isAway: false, isLeaving: false })
    addEventListener('pagehide', () => { this.isLeaving = true })
    addEventListener('pageshow', () => { this.isLeaving = false })
    setInterval(() => this.#beat(), BEAT / 4)
    this.#connect()
  }

  get isOpen() { return this.socket.readyState === WebSocket.OPEN }

  // Returns whether the request was sent; if not, the page shows the reason.
  tell(request) {
    if (this.isOpen) this.socket.send(JSON.stringify(request))
    else if (this.isAway) complain(this.why)
    return this.isOpen
  }

  #connect() {
    this.socket = new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}${this.path}`)
    this.sent = this.asked = null
    this.socket.onopen = () => { this.#isBack(); this.open() }
    this.socket.onmessage = event => {
      this.asked = null
      this.#isBack()
      const message = JSON.parse(event.data)
      if (message.what !== 'alive') this.hear(message)
    }
    this.socket.onclose = event => {
      setTimeout(() => this.#connect(), AGAIN)
      if (!this.isLeaving) this.#lost(event.reason ? `${event.reason}. Trying again ...` : LOST)
    }
  }

  // A suspended server keeps its sockets open: only a missing response reveals it.
  #beat() {
    const now = performance.now()
    if (document.hidden || !this.isOpen) { this.asked = null; return }
    if (this.asked !== null) {
      if (now - this.asked > PATIENCE) this.#lost(LOST)
    } else if (this.sent === null || now - this.sent > BEAT) {
      this.asked = this.sent = now
      this.tell({ do: 'alive' })
    }
  }

  #lost(why) {
    this.isAway = true
    this.why = why
    document.body.classList.add('away')
    complain(why)
  }

  #isBack() {
    if (!this.isAway) return
    this.isAway = false
    document.body.classList.remove('away')
    complain('')
  }
}

const number = text => text === null || text === '' || !Number.isFinite(Number(text)) ? undefined : Number(text)

// A line of the tree in a URL: the plies that it shares with the line before it, perhaps the seat that resigned, and moves.
function lineIn(text) {
  const [where, ...moves] = text.split(' '), [ply, resigned] = where.split('!')
  return { ply: number(ply), moves, resigned: number(resigned ?? null) ?? null }
}
const lineOf = ({ ply, moves, resigned }) => [resigned === null ? ply : `${ply}!${resigned}`, ...moves].join(' ')

// The game in a URL, in the server's form, with this visitor's choices; null: none.
export function gameIn(hash) {
  const held = new URLSearchParams(hash.slice(1))
  if (!held.get('player')) return null
  const moves = held.get('moves')?.split(' ') ?? []
  const [first, second = first] = held.get('strength')?.split(',') ?? []
  return {
    player: held.get('player'), start: held.get('start'), moves, ply: number(held.get('ply')) ?? moves.length,
    people: [...(held.get('people') ?? '0')].map(Number), resigned: number(held.get('resigned')) ?? null,
    ...(first ? { strengths: [first, second] } : {}),
    lines: held.getAll('line').map(lineIn),
    ...(held.has('flip') ? { flip: held.get('flip') === '1' } : {}),
    letters: held.has('letters'), layer: held.get('layer') ?? 'visits', on: held.has('analysis'),
  }
}

// The inverse: a URL for the game, without default values.
export function hashOf(game) {
  const held = new URLSearchParams({ player: game.player })
  const put = (name, value, usual) => { if (value !== usual && value !== undefined && value !== null && value !== '') held.set(name, value) }
  put('start', game.start)
  put('moves', game.moves.join(' '))
  put('ply', game.ply, game.moves.length)
  held.set('people', game.people.join(''))
  put('resigned', game.resigned)
  for (const line of game.lines ?? []) held.append('line', lineOf(line))
  put('strength', [...new Set(game.strengths)].join(','))
  put('flip', game.flip === undefined ? undefined : Number(game.flip))
  put('letters', game.letters ? 1 : 0, 0)
  put('layer', game.layer, 'visits')
  put('analysis', game.on ? 1 : 0, 0)
  return `#${held}`
}

// The position in a URL, for pages that show one; the first player if it holds no game.
export async function positionHere() {
  const game = gameIn(location.hash) ?? { player: (await (await fetch('/players.json')).json()).players[0].name, start: null, moves: [], ply: 0, people: [0] }
  $('back-to-game').href = `/${gameIn(location.hash) ? location.hash : hashOf(game)}`
  return { player: game.player, start: game.start, moves: game.moves.slice(0, game.ply) }
}
