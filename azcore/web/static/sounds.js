// The sounds of the board, computed in the browser: a knock for a move, two for a capture, a chord at the end.
// Off until the visitor turns them on; this browser remembers it.

const KEPT = 'azcore-sounds'
const control = document.getElementById('sounds')  // absent from pages without sounds
let context = null

if (control) {
  try { control.checked = localStorage.getItem(KEPT) === 'on' } catch { /* a browser that stores nothing */ }
  control.addEventListener('change', () => {
    try { localStorage.setItem(KEPT, control.checked ? 'on' : 'off') } catch { /* the same */ }
    sound('move')
  })
}

// A tone that dies away: its frequency, and seconds of delay and length.
function tone(frequency, delay, length, loudness, shape = 'sine') {
  const at = context.currentTime + delay
  const source = new OscillatorNode(context, { type: shape, frequency })
  const gain = new GainNode(context, { gain: 0 })
  gain.gain.setValueAtTime(loudness, at)
  gain.gain.exponentialRampToValueAtTime(0.001, at + length)
  source.connect(gain).connect(context.destination)
  source.start(at)
  source.stop(at + length)
}

// Wood on wood: a low body and a short bright edge.
function knock(delay, pitch) {
  tone(pitch, delay, 0.09, 0.5)
  tone(5.3 * pitch, delay, 0.025, 0.15, 'triangle')
}

const SOUNDS = {
  move: () => knock(0, 210),
  take: () => { knock(0, 210); knock(0.07, 160) },
  end: () => [262, 330, 392].forEach((frequency, i) => tone(frequency, 0.12 * i, 0.7, 0.25)),
}

export function sound(name) {
  if (!control?.checked || navigator.userActivation?.hasBeenActive === false) return  // no sound before a gesture
  context ??= new AudioContext()
  context.resume()
  SOUNDS[name]()
}
