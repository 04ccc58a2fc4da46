// One simulation in three steps: choose, ask the network, carry the answer back; in words, in two colours, and
// animated along the tree.

import { $, element, shape } from './elements.js'
import { isStill } from './motion.js'

const LONGEST = 2400  // ms for the way down the tree, and as many for the way back
const ASKING = 900    // ms
const WIDE = 132, HIGH = 40  // of a node and the space around it
// Which of the two terms of a score is the value so far; the other is curiosity.
export const KNOWN = { puct: 0, considered: 1, improved: 0 }

// Scrolls the tree, and not the page, to a node at (x, y).
function follow({ x, y }) {
  const host = $('tree'), [right, bottom] = [x + WIDE - host.clientWidth, y + HIGH - host.clientHeight]
  host.scrollLeft = Math.min(x, Math.max(host.scrollLeft, right))
  host.scrollTop = Math.min(y, Math.max(host.scrollTop, bottom))
}

const placeOf = node => { const { e, f } = node.transform.baseVal.consolidate().matrix; return { x: e, y: f } }
const sleep = time => new Promise(resolve => setTimeout(resolve, time))
let telling = 0  // counts animations, so that a new one ends the old one

// A choice of a node: its best moves, each with a bar for each term. The second bar begins where the first one ends.
function bars({ choices, rule, seat }) {
  const ends = choices.flatMap(({ terms }) => [0, terms[KNOWN[rule]], terms[0] + terms[1]])
  const low = Math.min(...ends), whole = Math.max(...ends) - low || 1
  const bar = (kind, from, to) => {
    const made = element('i', { className: kind })
    made.style.cssText = `left:${100 * (Math.min(from, to) - low) / whole}%;width:${100 * Math.abs(to - from) / whole}%`
    return made
  }
  return element('div', { className: 'choice' }, element('b', { textContent: `For ${seat}` }), ...choices.map(({ text, terms }, i) => {
    const known = terms[KNOWN[rule]]
    return element('div', { className: i ? '' : 'taken' }, element('span', { textContent: text }),
      element('span', { className: 'terms', title: `value so far ${known.toFixed(3)}, curiosity ${(terms[0] + terms[1] - known).toFixed(3)}` },
        bar('known', 0, known), bar('curious', known, terms[0] + terms[1])))
  }))
}

// words: of the three steps; steps: of the simulation, from the root.
export function tell(words, steps) {
  telling++
  const parts = [...$('story').children]
  parts.forEach((part, i) => {
    part.classList.remove('now')
    part.querySelector('p').textContent = words[i]
  })
  $('compared').replaceChildren(...steps.map(bars))
}

// Animates the last simulation along the drawn tree. say(n, q) is the label of a node.
export async function animate({ last, tree }, say, signed) {
  if (isStill()) return
  const mine = telling, svg = $('tree').querySelector('svg')
  const parts = [...$('story').children]
  const nodes = [[], ...last.path.map((_, i) => last.path.slice(0, i + 1))].map(path => svg.querySelector(`.node[data-path="${path.join(' ')}"]`))
  const labels = nodes.map(node => node.querySelector('.soft'))
  const after = labels.map(label => label.textContent)
  const rootGain = last.steps[0].gain
  const before = [say(tree.n - 1, tree.n > 1 ? (tree.n * tree.q - rootGain) / (tree.n - 1) : 0),
    ...last.steps.map(({ before: [n, w] }) => say(n, n ? w / n : 0))]
  const pace = Math.min(700, LONGEST / last.path.length)
  const enter = i => parts.forEach((part, at) => part.classList.toggle('now', at === i))
  const rest = async time => { await sleep(time); return mine === telling }

  labels.forEach((label, i) => { label.textContent = before[i] })
  const isNew = last.steps.at(-1).before[0] === 0
  nodes.at(-1).classList.toggle('new', isNew)
  enter(0)
  for (const [i, node] of nodes.entries()) {
    node.classList.add('chosen')
    follow(placeOf(node))
    const choice = $('compared').children[i]
    if (choice) $('compared').scrollTop = choice.offsetTop
    if (!await rest(pace)) return
  }
  nodes.at(-1).classList.remove('new')
  enter(1)
  nodes.at(-1).classList.add('asked')
  if (!await rest(ASKING)) return
  enter(2)
  nodes.at(-1).classList.remove('asked')
  const carrier = shape(svg, 'g', { class: 'carrier' })
  carrier.innerHTML = '<rect x="-34" y="-11" width="68" height="22" rx="11"/><text text-anchor="middle" y="4.5"></text>'
  const at = node => { const { x, y } = placeOf(node); return `translate(${x + 56}px, ${y + 11}px)` }
  for (let i = nodes.length - 1; i >= 0; i--) {
    // The value of a move is in the view of the player who chose it; that of the root, of the player to move there.
    follow(placeOf(nodes[i]))
    const gain = i ? last.steps[i - 1].gain : rootGain
    carrier.querySelector('text').textContent = signed(gain)
    carrier.animate([{ transform: at(nodes[i + 1] ?? nodes[i]) }, { transform: at(nodes[i]) }], { duration: 0.7 * pace, fill: 'forwards', easing: 'ease-in-out' })
    if (!await rest(0.7 * pace)) return
    labels[i].textContent = after[i]
    nodes[i].classList.replace('chosen', 'updated')
    if (!await rest(0.3 * pace)) return
  }
  carrier.remove()
  enter(-1)
  nodes.forEach(node => node.classList.remove('updated'))
}
