// One chart: several curves with different points, drawn as SVG.
// spec: title, unit, xName, percent, fromZero, curves [{label, colour, dashed, points [[x, y, low?, high?]]}]

const SVG = 'http://www.w3.org/2000/svg'
const HEIGHT = 210, TOP = 22, BOTTOM = 30, RIGHT = 12

function shape(parent, name, attributes, text) {
  const made = document.createElementNS(SVG, name)
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value)
  if (text !== undefined) made.textContent = text
  return parent.appendChild(made)
}

export function short(value) {
  const size = Math.abs(value)
  for (const [unit, letter] of [[1e9, 'G'], [1e6, 'M'], [1e3, 'k']]) {
    if (size >= unit) return `${value < 0 ? '−' : ''}${+(size / unit).toPrecision(3)}${letter}`
  }
  return `${value < 0 ? '−' : ''}${+size.toPrecision(3)}`.replace('e-', 'e−')
}

export function time(seconds) {
  if (seconds < 10) return `${short(seconds)} s`
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
  return hours ? `${hours}:${String(minutes).padStart(2, '0')} h` : seconds >= 60 ? `${minutes}:${String(Math.floor(seconds % 60)).padStart(2, '0')} min` : `${Math.floor(seconds)} s`
}

function ticks(low, high, wanted) {
  const rough = (high - low) / wanted, power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 2.5, 5, 10].map(times => times * power).find(size => size >= rough * 0.999)
  const marks = []
  for (let i = Math.ceil(low / step - 1e-6); i * step <= high + step * 1e-6; i++) marks.push(i * step + 0)
  return { step, marks }
}

export function draw(host, spec) {
  const width = host.clientWidth || 320
  const curves = spec.curves.filter(curve => curve.points.length)
  host.replaceChildren()
  if (!curves.length) {
    host.textContent = 'No numbers yet.'
    return
  }
  const xs = curves.flatMap(curve => curve.points.map(point => point[0]))
  const ys = curves.flatMap(curve => curve.points.flatMap(point => point.slice(1)))
  let [first, last] = [Math.min(...xs), Math.max(...xs)]
  let [low, high] = [spec.fromZero ? Math.min(0, ...ys) : Math.min(...ys), Math.max(...ys)]
  if (!(last > first)) { first = Math.min(0, first); last = Math.max(first + 1, last) }  // one point: from the beginning to it
  if (!(high > low)) { const room = Math.abs(high) * 0.1 || 1; high += room; if (!spec.fromZero) low -= room }
  const { step } = ticks(low, high, 4)
  low = Math.floor(low / step + 1e-6) * step
  high = Math.ceil(high / step - 1e-6) * step
  const marks = ticks(low, high, Math.round((high - low) / step)).marks
  const format = value => spec.percent ? `${+(100 * value).toFixed(1)}%` : short(value)
  const left = 12 + 7.2 * Math.max(...marks.map(mark => format(mark).length))
  const x = value => left + (value - first) / (last - first) * (width - left - RIGHT)
  const y = value => TOP + (high - value) / (high - low) * (HEIGHT - TOP - BOTTOM)
  const ends = curves.map(curve => `${curve.label} ${format(curve.points.at(-1)[1])}`).join('; ')
  const svg = shape(host, 'svg', { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, role: 'img', 'aria-label': `${spec.title} over ${spec.xName}, at the end: ${ends}` })
  shape(svg, 'text', { x: 0, y: 11, class: 'soft' }, spec.unit)
  for (const mark of marks) {
    shape(svg, 'line', { class: 'grid', x1: left, x2: width - RIGHT, y1: y(mark), y2: y(mark) })
    shape(svg, 'text', { class: 'soft', x: left - 6, y: y(mark) + 4, 'text-anchor': 'end' }, format(mark))
  }
  const formatX = spec.xName === 'time' ? time : short
  for (const mark of [first, (first + last) / 2, last]) {
    shape(svg, 'text', { class: 'soft', x: x(mark), y: HEIGHT - 10, 'text-anchor': mark === last ? 'end' : mark === first ? 'start' : 'middle' }, formatX(mark))
  }
  for (const { colour, points } of curves) {
    if (points[0].length < 4) continue
    const band = [...points.map(([a, , , up]) => `${x(a)},${y(up)}`), ...[...points].reverse().map(([a, , down]) => `${x(a)},${y(down)}`)]
    shape(svg, 'polygon', { points: band.join(' '), fill: colour, opacity: 0.14 })
  }
  for (const { colour, dashed, points } of curves) {
    const line = points.map(point => `${x(point[0])},${y(point[1])}`).join(' ')
    if (points.length > 1) shape(svg, 'polyline', { points: line, fill: 'none', stroke: colour, 'stroke-width': dashed ? 1.3 : 2, 'stroke-dasharray': dashed ? '5 4' : 'none' })
    if (!dashed) shape(svg, 'circle', { cx: x(points.at(-1)[0]), cy: y(points.at(-1)[1]), r: 3.2, fill: colour })
  }
  read(host, svg, curves, { x, y, format, formatX, left, width, xName: spec.xName })
}

// The values under the pointer.
function read(host, svg, curves, { x, y, format, formatX, left, width, xName }) {
  const note = host.appendChild(document.createElement('div'))
  note.className = 'note'
  note.hidden = true
  const cross = shape(svg, 'line', { class: 'cross', y1: TOP, y2: HEIGHT - BOTTOM, visibility: 'hidden' })
  svg.addEventListener('pointermove', event => {
    const at = event.clientX - svg.getBoundingClientRect().left
    if (at < left - 8) return
    const near = curves.map(curve => ({ curve, point: curve.points.reduce((best, point) => Math.abs(x(point[0]) - at) < Math.abs(x(best[0]) - at) ? point : best) }))
    const place = x(near[0].point[0])
    for (const name of ['x1', 'x2']) cross.setAttribute(name, place)
    cross.setAttribute('visibility', 'visible')
    note.replaceChildren(...near.map(({ curve, point }) => {
      const row = document.createElement('p')
      const key = document.createElement('i')
      key.style.background = curve.colour
      row.append(key, `${curve.label}: ${format(point[1])} at ${xName} ${formatX(point[0])}`)
      return row
    }))
    note.hidden = false
    note.style.left = place > width / 2 ? '' : `${place + 10}px`
    note.style.right = place > width / 2 ? `${width - place + 10}px` : ''
  })
  svg.addEventListener('pointerleave', () => { note.hidden = true; cross.setAttribute('visibility', 'hidden') })
}
