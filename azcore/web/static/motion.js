// Short animations of pieces, by comparing two pictures of one board. Without them if the visitor prefers less motion.

const MILLISECONDS = 180
export const isStill = () => matchMedia('(prefers-reduced-motion: reduce)').matches

// What a picture shows where: each drawn piece, by its centre.
export function piecesOf(svg) {
  const at = piece => [piece.x.baseVal.value, piece.y.baseVal.value]
  const list = group => [...svg.querySelectorAll(`.az-${group} use`)].map(piece => ({ piece, at: at(piece), name: piece.getAttribute('href') }))
  return { board: new Map(list('pieces').map(each => [each.at.join(), each])), hands: list('hands'), shadows: list('shadows') }
}

const distance = (one, other) => Math.hypot(one.at[0] - other.at[0], one.at[1] - other.at[1])

// The pieces that moved, as pairs of before and after (before: null, if the piece is new), and those that are gone.
// moves: whether pieces of this game move at all; if so, a piece that changes as it moves is still the same.
export function compare(before, after, moves) {
  const isNew = (each, others) => others.get(each.at.join())?.name !== each.name
  const left = new Set([...before.board.values()].filter(each => isNew(each, after.board)))
  const came = [...after.board.values()].filter(each => isNew(each, before.board))
  const pairs = came.map(each => {
    const nearest = [...left].filter(other => other.name === each.name).sort((a, b) => distance(a, each) - distance(b, each))[0]
    left.delete(nearest)
    return [nearest ?? before.hands.find(other => other.name === each.name) ?? null, each]
  })
  for (const pair of pairs) {
    if (pair[0] || !moves) continue
    const others = [...left].filter(other => distance(other, pair[1]))
    if (others.length === 1) { pair[0] = others[0]; left.delete(others[0]) }
  }
  return { pairs, gone: [...left] }
}

// Moves an element from `by` (dx, dy) to its place; elapsed: milliseconds of the way already shown.
export function glide(element, [dx, dy], elapsed = 0) {
  const moved = element.animate([{ transform: `translate(${dx}px, ${dy}px)` }, { transform: 'none' }], { duration: MILLISECONDS, easing: 'ease-out' })
  moved.currentTime = elapsed
  return moved
}

// Animates what compare() found. own: the centre of the piece that the visitor has seen arrive already,
// and the animation that still shows it, if any. host: a group for pieces that fade.
export function animate({ pairs, gone }, after, own, host) {
  if (isStill()) return
  for (const [from, to] of pairs) {
    const isOwn = to.at.join() === own?.at
    if (isOwn && !own.moving) continue
    const elements = [to.piece, ...after.shadows.filter(shadow => !distance(shadow, to)).map(({ piece }) => piece)]
    for (const element of elements) {
      if (from) glide(element, [from.at[0] - to.at[0], from.at[1] - to.at[1]], isOwn ? own.moving.currentTime : 0)
      else {
        element.style.transformOrigin = `${to.at[0]}px ${to.at[1]}px`
        element.animate([{ transform: 'scale(1.25)', opacity: 0.3 }, { transform: 'none', opacity: 1 }], { duration: MILLISECONDS, easing: 'ease-out' })
      }
    }
  }
  for (const { piece } of gone) {
    const fading = host.appendChild(piece.cloneNode())
    fading.animate([{ opacity: 1 }, { opacity: 0 }], { duration: 1.5 * MILLISECONDS }).onfinish = () => fading.remove()
  }
}
