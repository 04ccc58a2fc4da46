// The rules and the engine, in a worker, so that the page stays responsive. Each request has an id and gets one answer.

import { Rules } from './rules.mjs'
import { Search } from './search.mjs'
import { View } from './view.mjs'

let facts, rules, view, search

async function open({ folder }) {
  facts = await (await fetch(`games/${folder}/game.json`)).json()
  rules = new Rules(facts, await WebAssembly.compile(await (await fetch(`games/${folder}/rules.wasm`)).arrayBuffer()))
  view = new View(facts, rules)
  search = new Search(rules, facts.search, facts.network ? await network(`games/${folder}/network.onnx`) : uniform())
  const { title, settings, seats } = facts
  return { title, settings, seats, simulations: facts.search.simulations }
}

// A constant evaluation: search then sees only ends of games.
function uniform() {
  const nothing = { logits: new Float32Array(facts.numActions), value: 0 }
  return () => nothing
}

async function network(path) {
  const { env, InferenceSession, Tensor } = await import('./runtime/ort.wasm.min.mjs')
  env.wasm.numThreads = 1  // more need headers that static hosts do not send
  const session = await InferenceSession.create(new Uint8Array(await (await fetch(path)).arrayBuffer()))
  return async planes => {
    const observations = new Tensor('float32', Float32Array.from(planes), [1, ...facts.shape])
    const { policy_logits, values } = await session.run({ observations })
    return { logits: policy_logits.data, value: values.data[0] }
  }
}

function stateAfter(actions) {
  rules.put(rules.initial)
  actions.forEach(action => rules.step(action))
  return rules.get()
}

const position = ({ actions, last, flip }) => view.position(stateAfter(actions), last, actions.length, flip)

async function think({ id, actions, simulations }) {
  const begun = performance.now()
  let last = begun
  const isStopped = async () => {  // by a newer request, which can arrive only in a pause
    if (performance.now() - last < PAUSE) return false
    await new Promise(resolve => setTimeout(resolve))
    last = performance.now()
    return newest > id
  }
  const found = await search.run(stateAfter(actions), simulations, isStopped)
  return { found, seconds: (performance.now() - begun) / 1000 }
}

const WORK = { open, position, think }
const PAUSE = 50  // milliseconds of thinking between two
let queue = Promise.resolve(), newest = 0

onmessage = ({ data: { id, what, ...request } }) => {
  newest = id
  queue = queue.then(async () => {
    try {
      postMessage({ id, answer: await WORK[what]({ id, ...request }) })
    } catch (error) {
      postMessage({ id, error: String(error.message ?? error) })
    }
  })
}
