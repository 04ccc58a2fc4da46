// The page that shows runs: their curves, updated while they are active, in shared charts.
// `element`, `short`, `drawCurves` and `together` are globals of the scripts of reports, chart.js and films.js.

import { $ } from './elements.js'

const COLOURS = ['#0b6bcb', '#d1491b', '#2b8a3e', '#8f3fbf', '#b58900', '#c2255c']
const SECONDS = 3        // between two looks
const MOST_SHOWN = COLOURS.length

let shown = new URLSearchParams(location.hash.slice(1)).getAll('run').slice(0, MOST_SHOWN)
let isChosen = shown.length > 0  // by the visitor, or the newest run by itself
let runs = []
let by = null  // the column that the list is sorted by; null: newest first
let isRising = false
const search = $('find').querySelector('input')
const curves = new Map()  // by run
const frames = new Map()  // by chart

async function read(address) {
  const answer = await fetch(address)
  if (!answer.ok) throw new Error(await answer.text())
  return answer.json()
}

function complain(words) {
  $('message').textContent = words
  $('message').hidden = !words
}

async function look() {
  try {
    runs = await read('/runs.json')
    const names = runs.map(run => run.name)
    shown = shown.filter(name => names.includes(name))
    if (!isChosen && names.length) shown = [names[0]]
    for (const name of shown) curves.set(name, await read(`/run.json?run=${encodeURIComponent(name)}`))
    complain('')
    show()
    await showGames()
  } catch (error) {
    complain(error instanceof TypeError ? 'The server does not respond. Trying again ...' : error.message)
  }
  $('watch').classList.remove('loading')
  setTimeout(look, 1000 * SECONDS)
}

export function time(seconds) {
  if (seconds < 10) return `${short(seconds)} s`
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
  return hours ? `${hours}:${String(minutes).padStart(2, '0')} h` : seconds >= 60 ? `${minutes}:${String(Math.floor(seconds % 60)).padStart(2, '0')} min` : `${Math.floor(seconds)} s`
}

const colour = name => COLOURS[shown.indexOf(name)]
const ago = age => age < 60 ? `${Math.round(age)} s ago` : age < 3600 ? `${Math.round(age / 60)} min ago` : age < 172800 ? `${Math.round(age / 3600)} h ago` : `${Math.round(age / 86400)} days ago`

// The state of a run, or its progress before the first numbers.
function stateOf(run) {
  if (!run.isActive) return `ended, ${ago(run.age)}`
  if (run.step !== null) return `running, ${ago(run.age)}`
  const [made, wanted, unit] = run.progress ?? []
  if (unit === undefined) return 'beginning'
  if (made >= wanted) return 'learning from its first games'
  return `playing its first games, ${made.toLocaleString('en')} of ${wanted.toLocaleString('en')} ${unit}`
}

function choose(name, on) {
  isChosen = true
  shown = shown.filter(other => other !== name)
  if (on) shown = [...shown, name].slice(-MOST_SHOWN)
  history.replaceState(null, '', `#${new URLSearchParams(shown.map(run => ['run', run]))}`)
  showGames().catch(error => complain(error.message))
  if (on && !curves.has(name)) read(`/run.json?run=${encodeURIComponent(name)}`).then(found => { curves.set(name, found); show() }).catch(error => complain(error.message))
  show()
}

const link = (text, address) => element('a', { href: address }, text)

// Runs with the words of the search box, in the order that a column's heading asks for; runs without a value come last.
function listed() {
  const words = search.value.toLowerCase().split(/\s+/)
  const found = runs.filter(run => words.every(word => [run.name, run.title, run.note].join(' ').toLowerCase().includes(word)))
  if (by === null) return found
  const order = (one, other) => typeof one === 'string' ? one.localeCompare(other, 'en', { numeric: true }) : one - other
  return found.sort(({ [by]: one }, { [by]: other }) => one === null || other === null ? (one === null) - (other === null) : (isRising ? 1 : -1) * order(one, other))
}

function sortBy(column) {
  isRising = by === column ? !isRising : ['name', 'title'].includes(column)
  by = column
  for (const heading of document.querySelectorAll('#runs th[data-by]')) {
    if (heading.dataset.by === by) heading.setAttribute('aria-sort', isRising ? 'ascending' : 'descending')
    else heading.removeAttribute('aria-sort')
  }
  showRuns()
}

for (const heading of document.querySelectorAll('#runs th[data-by]')) {
  const button = element('button', { type: 'button' }, heading.textContent)
  button.addEventListener('click', () => sortBy(heading.dataset.by))
  heading.replaceChildren(button)
}
search.addEventListener('input', showRuns)

function showRuns() {
  $('none').hidden = runs.length > 0
  $('find').hidden = runs.length < 2 && !search.value
  const body = $('runs').tBodies[0]
  const focused = document.activeElement?.dataset?.run
  body.replaceChildren(...listed().map(run => {
    const row = element('tr')
    const box = element('input')
    Object.assign(box, { type: 'checkbox', checked: shown.includes(run.name), ariaLabel: `Show ${run.name}` })
    box.dataset.run = run.name
    box.addEventListener('change', () => choose(run.name, box.checked))
    const first = row.insertCell()
    first.append(box)
    if (box.checked) element('span', { class: 'swatch', style: `background:${colour(run.name)}` }, null, first)
    const whole = value => value === null ? '–' : Math.round(value).toLocaleString('en')
    const texts = [run.name, run.title, run.seconds === null ? '–' : time(run.seconds), whole(run.step), whole(run.games), run.rating === null ? '–' : `${run.rating >= 0 ? '+' : '−'}${Math.abs(Math.round(run.rating))} Elo`, stateOf(run)]
    for (const text of texts) row.insertCell().textContent = text
    if (run.note) element('div', { class: 'note', translate: 'no' }, run.note, row.cells[2])
    const last = row.insertCell()
    last.append(link('report', `/report?run=${encodeURIComponent(run.name)}`))
    if (run.player) last.append(' · ', link('play', `/#${new URLSearchParams({ player: run.player, people: '0' })}`))
    return row
  }))
  if (focused !== undefined) body.querySelector(`[data-run="${CSS.escape(focused)}"]`)?.focus()
}

function showMembers() {
  const number = (value, digits) => value === null ? '–' : value.toLocaleString('en', { maximumFractionDigits: digits })
  const rows = shown.flatMap(name => (curves.get(name)?.members ?? []).map(member => [name, member]))
  $('members').hidden = !rows.length
  $('members').querySelector('tbody').replaceChildren(...rows.map(([name, member]) => {
    const row = element('tr')
    const texts = [name, member.member, number(member.games_per_s, 1), number(member.evaluations_per_s, 0), number(member.version_lag, 0), number(member.restarts, 0)]
    for (const text of texts) row.insertCell().textContent = text
    return row
  }))
}

function showSettings() {
  const known = shown.filter(name => curves.get(name)?.changed)
  $('settings').hidden = !known.length
  $('settings').querySelector('dl').replaceChildren(...known.flatMap(name => [element('dt', {}, name), element('dd', {}, curves.get(name).changed)]))
}

function frame(name, title, explanation, section) {
  if (frames.has(name)) return frames.get(name)
  let part = document.querySelector(`[data-section="${CSS.escape(section)}"]`)
  if (!part) {
    part = element('section', { 'data-section': section }, null, $('charts'))
    element('h2', {}, section, part)
  }
  const figure = element('figure', { 'data-chart': name }, null, part)
  element('figcaption', {}, title, figure)
  const plot = element('div', { class: 'plot' }, null, figure)
  const details = element('details', {}, null, figure)
  element('summary', {}, 'What is this?', details)
  const words = element('p', {}, explanation, details)
  frames.set(name, { part, figure, plot, words })
  return frames.get(name)
}

function show() {
  showRuns()
  showMembers()
  showSettings()
  const query = new URLSearchParams(shown.map(run => ['run', run]))
  $('compare').hidden = shown.length < 2 || shown.length > 4
  $('side-by-side').href = `/side-by-side?${query}`
  $('save').href = `/side-by-side?${query}&save=1`
  const axis = document.querySelector('input[name=axis]:checked').value
  const found = shown.filter(name => curves.has(name)).map(name => [name, curves.get(name)])
  const several = found.length > 1
  $('findings').hidden = !found.some(([, run]) => run.findings.length)
  $('findings').replaceChildren(...found.flatMap(([name, run]) => run.findings.map(text => element('li', {}, `${name}: ${text}`))))
  const seen = new Set()
  const put = (name, { title, explanation, section, ...chart }, curves) => {
    if (seen.has(name)) return
    seen.add(name)
    const { part, figure, plot, words } = frame(name, title, explanation, section)
    part.hidden = figure.hidden = false
    words.textContent = explanation
    if (!plot.querySelector('.tip:not([hidden]), svg:focus-visible')) drawCurves(plot, axis, { title, height: 210, ...chart }, curves)
  }
  if (found.length) {
    const chart = { title: 'Rating', section: 'How strong is it?', unit: 'Elo', explanation: `Strength from all matches; random play is 0. ${found[0][1].measured}` }
    put('rating', chart, found.map(([name, { rating }]) => ({ label: name, colour: colour(name), x: rating.x[axis], y: rating.value, band: [rating.low, rating.high] })))
  }
  for (const [, run] of found) {
    for (const chart of run.charts) {
      put(chart.name, { ...chart, low: chart.from_zero ? 0 : null }, found.flatMap(([name, other]) => chart.series.filter(series => other.columns[series.column]?.some(value => value !== null)).map((series, i) => ({
        label: `${name}, ${series.label}`,
        colour: several ? colour(name) : COLOURS[i],
        dashed: series.dashed || (several && i > 0),
        x: other.x[axis],
        y: other.columns[series.column],
      }))))
    }
  }
  for (const [name, { figure }] of frames) figure.hidden = !seen.has(name)
  for (const part of $('charts').children) part.hidden = !part.querySelector('figure:not([hidden])')
}

// -- games ---------------------------------------------------------------------------------------

let filmed = ''     // the run and how many games it had when its games were fetched
let control = null  // of the games

async function showGames() {
  const run = runs.find(one => one.name === shown[0])
  const now = run ? `${run.name} ${run.games}` : ''
  if (now === filmed) return
  const isSame = filmed.startsWith(`${run?.name} `)
  if (isSame && control?.isPlaying && !control.isAtEnd) return  // a newer game waits for its turn
  filmed = now
  const { definitions, games } = run ? await read(`/games.json?run=${encodeURIComponent(run.name)}`) : { games: [] }
  if (filmed !== now) return
  $('games').hidden = !games.length
  if (!games.length) return
  document.querySelector('#games h2').textContent = games.length > 1 ? `The first and the latest game of ${run.name}` : `The first game of ${run.name}`
  $('definitions').innerHTML = definitions
  const isActive = run.isActive && !matchMedia('(prefers-reduced-motion: reduce)').matches
  const plays = control && isSame ? control.isPlaying : isActive
  const ply = control && isSame && !plays ? control.ply : 0
  control?.play(false)
  control = together($('films'), games.map(game => {
    const film = element('div')
    film.innerHTML = game.svg
    const weights = game.step ? `weights of step ${game.step.toLocaleString('en')}` : 'untrained'
    return { ...game, element: film, title: game.why === 'first' ? `First game, ${weights}` : `Latest game, number ${(game.index + 1).toLocaleString('en')}, ${weights}` }
  }), ply)
  control.play(plays)
}

for (const input of document.querySelectorAll('input[name=axis]')) input.addEventListener('change', show)
addEventListener('resize', show)
look()
