// The formula of a choice, typeset, with the meaning of each symbol under the pointer or the focus.

// The two colours of a search: what it knows of a move, and how much it wants to know more.
const COLOURS = { Q: 'known', sigma: 'known', improved: 'known', U: 'curious', g: 'curious', P: 'curious', logP: 'curious', share: 'curious' }

const MEANINGS = {
  score: 'score(a): the simulation takes the move a with the highest score.',
  Q: 'Q(a), the value so far: the mean of the values found after move a, from −1 (lost) to +1 (won).',
  U: 'U(a), curiosity: high for moves that the network likes and that have few visits.',
  C: 'C: how much curiosity counts. It grows slowly with the visits.',
  P: 'P(a), the prior: the probability that the network gives move a without any search.',
  N: 'N: the visits of all moves of this node together.',
  Na: 'N(a): the visits of move a.',
  g: 'g(a): random noise from a Gumbel distribution, drawn once for each move of the root.',
  logP: 'log P(a): the logarithm of the network’s prior of move a.',
  sigma: 'σ(Q(a)): the value so far, rescaled; it counts more as the visits grow.',
  improved: 'π′(a): the network’s policy, improved by the values found so far.',
  share: 'N(a) / (1 + ΣN): the share of the visits that move a has already.',
}

const of = name => `<mi>${name}</mi><mo>(</mo><mi>a</mi><mo>)</mo>`
const symbol = (name, inner) => `<mrow class="symbol ${COLOURS[name] ?? ''}" tabindex="0" role="button" data-symbol="${name}" aria-label="${MEANINGS[name].split(/[:,] /)[0]}">${inner}</mrow>`
const line = inner => `<math role="group" aria-label="Formula">${inner}</math>`
const SCORE = symbol('score', of('score')) + '<mo>=</mo>'

const FORMULAS = {
  puct: line(`${SCORE}${symbol('Q', of('Q'))}<mo>+</mo>${symbol('U', of('U'))}`) +
    line(`${symbol('U', of('U'))}<mo>=</mo>${symbol('C', '<mi>C</mi>')}<mo>·</mo>${symbol('P', of('P'))}<mo>·</mo>` +
      `<mfrac><msqrt>${symbol('N', '<mi>N</mi>')}</msqrt><mrow><mn>1</mn><mo>+</mo>${symbol('Na', of('N'))}</mrow></mfrac>`),
  considered: line(`${SCORE}${symbol('g', of('g'))}<mo>+</mo>${symbol('logP', `<mi>log</mi>${of('P')}`)}<mo>+</mo>` +
    symbol('sigma', `<mi>σ</mi><mo>(</mo>${of('Q')}<mo>)</mo>`)) +
    '<span>among the moves of this round (sequential halving)</span>',
  improved: line(`${SCORE}${symbol('improved', of('π′'))}<mo>−</mo>` +
    symbol('share', `<mfrac><mrow>${of('N')}</mrow><mrow><mn>1</mn><mo>+</mo><mi>Σ</mi><mi>N</mi></mrow></mfrac>`)),
}

// Shows a rule's formula in an element, and meanings in another; rule: as in a node, or null.
export function showFormula(host, meaning, rule) {
  if (host.dataset.rule === String(rule)) return  // keeps the focus
  host.dataset.rule = rule
  host.innerHTML = FORMULAS[rule] ?? ''
  const usual = rule ? 'Point at a symbol, or step to it with the Tab key, to read its meaning.' : ''
  meaning.textContent = usual
  for (const part of host.querySelectorAll('.symbol')) {
    for (const event of ['pointerenter', 'focus', 'click']) part.addEventListener(event, () => { meaning.textContent = MEANINGS[part.dataset.symbol] })
    for (const event of ['pointerleave', 'blur']) part.addEventListener(event, () => { meaning.textContent = usual })
  }
}
