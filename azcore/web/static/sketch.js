// Arrows and circles that the visitor draws on the board with the right mouse button.

import { shape } from './elements.js'

export class Sketch {
  constructor() { this.shapes = new Map() }  // pairs of places, by their names

  // A right click draws a circle, dragging an arrow; the same again removes it.
  toggle(from, to) {
    const name = JSON.stringify([from, to])
    if (!this.shapes.delete(name)) this.shapes.set(name, [from, to])
    this.#draw()
  }

  clear() { this.shapes.clear(); this.#draw() }

  // Draws on this picture from now on; centre(place) is a point of it.
  putOn(svg, centre) {
    this.group = shape(svg, 'g', { class: 'sketch' })
    this.centre = centre
    this.#draw()
  }

  #draw() {
    this.group?.replaceChildren(...[...this.shapes.values()].map(([from, to]) => {
      const [[x0, y0], [x1, y1]] = [this.centre(from), this.centre(to)]
      if (from === to) return shape(null, 'circle', { cx: x0, cy: y0, r: 43 })
      const length = Math.hypot(x1 - x0, y1 - y0), [x, y] = [(x1 - x0) / length, (y1 - y0) / length]
      const [neckX, neckY] = [x1 - 34 * x, y1 - 34 * y]
      const arrow = shape(null, 'g', {})
      arrow.append(
        shape(null, 'path', { d: `M${x0 + 25 * x} ${y0 + 25 * y}L${neckX} ${neckY}` }),
        shape(null, 'path', { class: 'head', d: `M${x1} ${y1}L${neckX - 22 * y} ${neckY + 22 * x}L${neckX + 22 * y} ${neckY - 22 * x}Z` }))
      return arrow
    }))
  }
}
