// Plays the games of a file with the page's own code, and prints each position's data; run by Node.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Rules } from './static/rules.mjs'
import { View } from './static/view.mjs'

const [folder] = process.argv.slice(2)
const facts = JSON.parse(readFileSync(`${folder}/game.json`))
const games = JSON.parse(readFileSync(`${folder}/games.json`))
const rules = new Rules(facts, new WebAssembly.Module(readFileSync(`${folder}/rules.wasm`)))
const view = facts.look && new View(facts, rules)

function position(state) {
  rules.put(state)
  const isOver = rules.isTerminal()
  const found = {
    player: rules.player(),
    legal: isOver ? [] : rules.legal(),
    outcome: isOver ? rules.outcome() : null,
    planes: createHash('sha256').update(rules.observe()).digest('hex'),
  }
  if (!view) return found
  const { pieces, hands } = view.read()
  const clicks = view.paths(state).map(({ action, path }) => [action, path])
  return { ...found, pieces, hands, clicks: Object.fromEntries(clicks) }
}

for (const actions of games) {
  let state = rules.initial
  const found = [position(state)]
  for (const action of actions) {
    rules.put(state)
    rules.step(action)
    state = rules.get()
    found.push(position(state))
  }
  console.log(JSON.stringify(found))
}
