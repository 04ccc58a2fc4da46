// azcore against GNU Go on 9x9, each behind a controller of the Sabaki GUI (@sabaki/gtp).
//
//   npm install
//   node match.js 20 python -m azcore command=engine game=go engine.num_simulations=50
//
// Every move of one side must be legal to the other, and at the end both must name one score. An
// engine that has not learned loses all its stones, which makes for one score only; so GNU Go plays
// both sides of the first moves, of another number in each game. It also captures what is dead when
// both have passed: by azcore's rules all stones on the board count. Exit status 0: they agreed.

const {Controller, ControllerStateTracker} = require('@sabaki/gtp')

const GNUGO = process.env.GNUGO || '/usr/games/gnugo'
const SIZE = 9
const KOMI = 7.5
const MOST_PLIES = 400

const [games, program, ...words] = process.argv.slice(2)

async function ask(controller, name, ...args) {
  const {error, content} = await controller.sendCommand({name, args: args.map(String)})
  if (error) throw new Error(`${controller.label}: ${name} ${args.join(' ')}: ${content}`)
  return content
}

function started(label, path, args) {
  const controller = new Controller(path, args)
  controller.label = label
  controller.start()
  return {controller, tracker: new ControllerStateTracker(controller)}
}

async function play(number, azcore, gnugo) {
  // As Sabaki does before a game: it finds out what differs and sends that.
  for (const {tracker} of [azcore, gnugo]) {
    await tracker.sync({komi: KOMI, boardsize: [SIZE, SIZE], timeSettings: null, history: []})
  }
  await ask(gnugo.controller, 'set_random_seed', number)
  const ours = number % 2
  const opening = 20 + ((number * 23) % 60)
  let plies = 0
  let passes = 0
  let isOver = false
  let isCleared = false // GNU Go plays both sides
  while (!isOver) {
    const isOurs = plies >= opening && plies % 2 === ours && !isCleared
    const [mover, other] = isOurs ? [azcore, gnugo] : [gnugo, azcore]
    const colour = plies % 2 ? 'W' : 'B'
    const move = await ask(mover.controller, 'genmove', colour)
    if (/resign/i.test(move)) throw new Error(`${mover.controller.label} resigned`)
    await ask(other.controller, 'play', colour, move)
    passes = /pass/i.test(move) ? passes + 1 : 0
    plies++
    if (plies > MOST_PLIES) throw new Error(`no end after ${plies} plies`)
    if (passes < 2) continue
    isOver = isCleared || (await ask(gnugo.controller, 'final_status_list', 'dead')) === ''
    if (!isOver) {
      for (const {controller} of [azcore, gnugo]) {
        await ask(controller, 'undo')
        await ask(controller, 'undo')
      }
      plies -= 2
      passes = 0
      isCleared = true
    }
  }
  const [a, b] = [azcore.tracker.state.history, gnugo.tracker.state.history]
  if (JSON.stringify(a) !== JSON.stringify(b)) throw new Error('the histories differ')
  const scores = [
    await ask(azcore.controller, 'final_score'),
    await ask(gnugo.controller, 'final_score')
  ]
  console.log(`game ${number}: ${plies} plies, azcore ${scores[0]}, GNU Go ${scores[1]}`)
  return scores[0] === scores[1]
}

async function main() {
  const azcore = started('azcore', program, words)
  const gnugo = started('GNU Go', GNUGO, [
    ...['--mode', 'gtp', '--chinese-rules', '--level', '1', '--capture-all-dead']
  ])
  let agreed = 0
  for (let number = 0; number < +games; number++) {
    agreed += await play(number, azcore, gnugo)
  }
  await azcore.controller.stop()
  await gnugo.controller.stop()
  console.log(`${agreed} of ${games} games agreed on every move and the score`)
  return agreed === +games ? 0 : 1
}

main().then(
  status => process.exit(status),
  error => {
    console.error(error.message)
    process.exit(1)
  }
)
