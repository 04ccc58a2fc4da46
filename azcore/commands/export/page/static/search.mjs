// PUCT search like azcore's: letters and formulas as in azcore/search/puct.py, one leaf at a time.

class Node {
  // priors: float32, in the order of the actions.
  constructor(player, value, isTerminal, actions, priors) {
    Object.assign(this, { player, isTerminal, visits: 1, value: Math.fround(value) })
    const order = actions.map((_, i) => i).sort((i, j) => priors[j] - priors[i] || actions[i] - actions[j])
    // Untried edges have the same Q and N: the first one is the best, so the search tries edges in this order.
    this.actions = order.map(i => actions[i])
    this.priors = order.map(i => priors[i])
    this.tried = []  // N, W and the child of each
  }
}

export class Search {
  // settings: of game.json; evaluate(observation): {logits, value}, or a promise of it.
  constructor(rules, settings, evaluate) {
    Object.assign(this, { rules, settings, evaluate })
  }

  // The statistics of the root's actions, best first. isStopped(), perhaps a promise, ends the search early.
  async run(state, simulations, isStopped = () => false) {
    this.rules.put(state)
    const root = await this.#leaf()
    for (let left = simulations; left > 0 && !await isStopped(); left--) {
      const path = []
      let node = root, edge = null
      this.rules.put(state)
      while (node && !node.isTerminal) {
        const i = this.#best(node)
        this.rules.step(node.actions[i])
        edge = node.tried[i] ??= { visits: 0, total: 0, child: null }
        path.push([node, edge])
        node = edge.child
      }
      node ??= edge.child = await this.#leaf()
      for (const [above, step] of path) {
        step.visits += 1
        step.total += above.player === node.player ? node.value : -node.value
        above.visits += 1
      }
    }
    const edges = root.actions.map((action, i) => {
      const { visits, total } = root.tried[i] ?? { visits: 0, total: 0 }
      return { action, visits, q: visits ? total / visits : 0, prior: root.priors[i] }
    })
    return edges.sort((a, b) => b.visits - a.visits)  // stable: ties stay in the order of priors
  }

  async #leaf() {
    const { rules } = this, player = rules.player()
    if (rules.isTerminal()) {
      const outcome = rules.outcome()
      return new Node(player, player === 0 ? outcome : -outcome, true, [], [])
    }
    const actions = rules.legal()
    const { logits, value } = await this.evaluate(rules.observe())
    return new Node(player, value, false, actions, softmax(actions.map(action => logits[action])))
  }

  #best(node) {
    const { settings } = this, tried = node.tried.length
    const visits = settings.countParent ? node.visits : node.visits - 1
    const rate = settings.cBase < 1e18 ? Math.log((1 + visits + settings.cBase) / settings.cBase) + settings.cInit : settings.cInit
    const scale = settings.unit * (rate * Math.sqrt(visits))
    let best = 0, highest = -Infinity
    for (let i = 0; i < tried; i++) {
      const { visits, total } = node.tried[i]
      const score = total / visits + scale * (node.priors[i] / (1 + visits))
      if (score > highest) [best, highest] = [i, score]
    }
    if (tried < node.actions.length && this.#firstPlay(node) + scale * node.priors[tried] > highest) best = tried
    return best
  }

  // Q of an untried action.
  #firstPlay(node) {
    const { firstPlay, isRelative, isByMass } = this.settings
    if (!isRelative) return firstPlay
    const mass = isByMass ? node.tried.reduce((sum, _, i) => sum + node.priors[i], 0) : 1
    return node.value - firstPlay * Math.sqrt(mass)
  }
}

// Rounded to float32 where azcore stores float32.
function softmax(logits) {
  const highest = Math.max(...logits)
  const powers = Float32Array.from(logits, logit => Math.exp(logit - highest))
  const scale = 1 / powers.reduce((sum, power) => sum + power, 0)
  return powers.map(power => power * scale)
}
