// What the network sees of a position: the server draws the planes, this page shows them.
import { Connection, complain, positionHere } from './room.js'

const $ = id => document.getElementById(id)
const percent = part => `${(100 * part).toFixed(part < 0.1 ? 1 : 0)}%`
const signed = number => (number > 0 ? '+' : number < 0 ? '−' : '') + Math.abs(number).toFixed(2)
const OPEN = 2  // parts that are open at first; older positions are closed

let room = null
let closed = null  // the parts that the visitor has closed or opened

function hear(message) {
  complain(message.what === 'error' ? message.message : '')
  if (message.what === 'sees') show(message)
}

function make(name, text, parent) {
  const made = document.createElement(name)
  made.textContent = text
  parent?.append(made)
  return made
}

function drawn({ number, name, svg }) {
  const figure = document.createElement('figure')
  figure.dataset.plane = number
  figure.innerHTML = svg
  const caption = make('figcaption', '', figure)
  make('small', number, caption)
  caption.append(name)
  return figure
}

function part(section, i) {
  const details = document.createElement('details')
  details.open = closed?.get(section.name) ?? i < OPEN
  make('summary', section.name, details)
  const planes = make('div', '', details)
  planes.className = 'planes'
  planes.append(...section.planes.map(drawn))
  if (section.zeros.length) make('p', `Zeros: ${section.zeros.join(', ')}.`, details)
  return details
}

function show(message) {
  $('game-title').textContent = message.title
  $('picture').innerHTML = message.svg
  $('said').textContent = `${message.seat[0].toUpperCase()}${message.seat.slice(1)} is to move; the planes show the board from that side.`
  $('lead').textContent = `${message.shape}, in the network's order. The stronger the colour, the larger the number.`
  $('turning').hidden = message.symmetries.length < 2
  $('symmetry').replaceChildren(...message.symmetries.map((name, i) => new Option(name, i, false, i === message.symmetry)))
  $('views-part').hidden = !message.views.length
  $('views').tBodies[0].replaceChildren(...message.views.map((view, i) => {
    const row = document.createElement('tr')
    row.className = i === message.symmetry ? 'here' : ''
    for (const text of [view.name, signed(view.value), view.best, percent(view.share)]) make('td', text, row)
    return row
  }))
  const before = [...$('sections').querySelectorAll('details')]
  if (before.length) closed = new Map(before.map(details => [details.firstChild.textContent, details.open]))
  $('sections').replaceChildren(...message.sections.map(part))
  $('sees').classList.remove('loading')
}

$('symmetry').addEventListener('change', () => room.tell({ do: 'turn', symmetry: Number($('symmetry').value) }))

try {
  const position = await positionHere()
  room = new Connection('/sees/room', () => room.tell({ ...position, symmetry: Number($('symmetry').value || 0), do: 'open' }), hear)
} catch {
  complain('The server does not respond. Is it running?')
}
