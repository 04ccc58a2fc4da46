// What the network sees of a position: the server draws the planes, this page shows them.
import { $, element } from './elements.js'
import { percent, signed } from './panels.js'
import { Connection, complain, positionHere } from './room.js'

const OPEN = 2  // parts that are open at first; older positions are closed

let room = null
let closed = null  // the parts that the visitor has closed or opened

function hear(message) {
  complain(message.what === 'error' ? message.message : '')
  if (message.what === 'sees') show(message)
}

function drawn({ number, name, svg }) {
  const figure = element('figure', { innerHTML: svg }, element('figcaption', {}, element('small', {}, number), name))
  figure.dataset.plane = number
  return figure
}

function part(section, i) {
  const zeros = section.zeros.length ? [element('p', {}, `Zeros: ${section.zeros.join(', ')}.`)] : []
  return element('details', { open: closed?.get(section.name) ?? i < OPEN },
    element('summary', {}, section.name), element('div', { className: 'planes' }, ...section.planes.map(drawn)), ...zeros)
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
    const cells = [view.name, signed(view.value), view.best, percent(view.share)].map(text => element('td', {}, text))
    return element('tr', { className: i === message.symmetry ? 'here' : '' }, ...cells)
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
