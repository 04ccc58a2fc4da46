// The review of a game: its mistakes, the better line, and the position as a puzzle.

import { $, element } from './elements.js'
import { numberOf } from './panels.js'

const percent = part => `${Math.round(100 * part)}%`

function button(text, act, title = '') {
  const made = element('button', { title }, text)
  made.addEventListener('click', act)
  return made
}

export class Review {
  // tell(request) and go(ply) reach the server; show(shown) draws a position outside the game;
  // changed() is called when there is more to save.
  constructor({ tell, go, show, changed }) {
    Object.assign(this, { tell, go, show, changed, mistakes: [], at: null, of: 0, isDone: false, puzzle: null, why: null })
    $('review').addEventListener('click', () => this.#toggle())
  }

  // Follows the game that the server shows; keeps the part of the review that still applies.
  follow(position, before, { seats, formats }) {
    Object.assign(this, { position, names: seats, isByPair: formats.includes('pgn') })
    if (before) {
      const same = position.texts.findIndex((text, i) => before.texts[i] !== text)
      const shared = same < 0 ? position.texts.length : same
      const isSame = before.start === position.start && shared === Math.max(position.texts.length, before.texts.length)
      if (!isSame) {
        this.mistakes = before.start === position.start ? this.mistakes.filter(mistake => mistake.ply < shared) : []
        this.at = null
        this.isDone = false
      }
    }
    if (this.puzzle?.ply !== position.ply) this.puzzle = null
    this.why = null
    this.#draw()
  }

  // The mistakes of a review that ended before a reload.
  restore(mistakes) {
    if (this.isDone || this.at !== null) return
    Object.assign(this, { mistakes, isDone: true })
    this.#draw()
  }

  get kept() { return this.isDone ? this.mistakes : null }

  reviewed({ ply, of, mistakes }) {
    Object.assign(this, { at: ply === of ? null : ply, of, mistakes, isDone: ply === of })
    if (this.isDone) this.changed()
    this.#draw()
  }

  // Whether a click on the board answers the puzzle, and is not a move of the game.
  takes(action) {
    if (!this.puzzle) return false
    const { ply, chance } = this.puzzle
    this.#show('Checking your move ...')
    return this.tell({ do: 'try', ply, action, chance })
  }

  tried({ ply, text, loss }) {
    if (this.puzzle?.ply !== ply) return
    const { played, better } = this.puzzle
    const verdict = text === better ? `${text} is the move.`
      : loss <= 0.1 ? `${text} is good too${loss > 0.02 ? `: it loses ${percent(loss)} of the winning chance` : ''}.`
        : `${text} loses ${percent(loss)} of the winning chance${text === played ? ', and was the move played' : ''}. Try again.`
    this.#show(verdict)
  }

  // Steps through the better line; returns whether there is one.
  step(by) {
    if (!this.why) return false
    const { mistake, step } = this.why
    this.#look(mistake, Math.max(0, Math.min(mistake.line.length, step + by)))
    return true
  }

  leave() {
    const was = this.puzzle ?? this.why
    this.puzzle = this.why = null
    if (was) this.go(this.position.ply)
  }

  heard(message) {
    if (!this.why) return
    this.show(message)
    const { mistake, step } = this.why
    this.#show(step ? `Instead of ${mistake.played}: ${message.texts.join(' ')}` : `Before ${mistake.played}`)
  }

  #toggle() {
    const goesOn = this.at !== null
    if (goesOn) this.at = null
    else Object.assign(this, { mistakes: [], at: 0, of: this.position.moves.length, isDone: false })
    this.tell({ do: 'review', on: !goesOn })
    this.#draw()
  }

  #look(mistake, step) {
    this.puzzle = null
    this.why = { mistake, step }
    this.tell({ do: 'why', ply: mistake.ply, actions: mistake.line.slice(0, step) })
    this.#draw()
  }

  #try(mistake) {
    this.go(mistake.ply)
    this.puzzle = mistake
    this.why = null
    this.#draw()
    this.#show(`Find a better move for ${this.names[mistake.seat]} than ${mistake.played}.`)
  }

  #show(words) { $('lesson').querySelector('p').textContent = words }

  #draw() {
    const { position, mistakes } = this
    $('review').textContent = this.at === null ? 'Review game' : `Stop the review, ${this.at} of ${this.of}`
    $('review').disabled = !position.moves.length
    $('reviewed').textContent = this.isDone ? mistakes.length === 1 ? 'One move loses more than a tenth of the winning chance.' : mistakes.length ? `${mistakes.length} moves lose more than a tenth of the winning chance each.` : 'No move loses more than a tenth of the winning chance.' : ''
    $('mistakes').replaceChildren(...mistakes.map(mistake => {
      const points = mistake.points > 0.05 ? `, ${mistake.points} points` : ''
      const words = `${this.names[mistake.seat]} loses ${percent(mistake.chance - mistake.left)}${points}; better ${mistake.better}`
      const move = button(`${numberOf(mistake.ply, position.movers, this.isByPair, true)} ${mistake.played}`, () => this.go(mistake.ply + 1))
      move.className = 'move'
      return element('li', {}, move, words, ' ', button('See why', () => this.#look(mistake, 1), 'The better line, move by move'), button('Try again', () => this.#try(mistake), 'The position as a puzzle'))
    }))
    const lesson = $('lesson')
    lesson.hidden = !this.puzzle && !this.why
    if (lesson.hidden) return
    const words = lesson.querySelector('p')
    const steps = this.why ? [button('‹', () => this.step(-1)), button('›', () => this.step(1))] : [button('See why', () => this.#look(this.puzzle, 1))]
    lesson.replaceChildren(words, ...steps, button('Back to the game', () => this.leave()))
  }
}
