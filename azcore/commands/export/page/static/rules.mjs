// The compiled rules of a game. A position is the bytes of its state, a Uint8Array.

const PAGE = 65536
const ALIGNED = 64

export class Rules {
  // facts: game.json's data on the game; module: a WebAssembly.Module.
  constructor(facts, module) {
    const imports = {}
    for (const { module: group, name } of WebAssembly.Module.imports(module))
      (imports[group] ??= {})[name] = this.#imported(name)
    this.calls = new WebAssembly.Instance(module, imports).exports
    this.memory = this.calls.memory
    const [planes, height, width] = facts.shape
    this.size = facts.stateSize
    this.numActions = facts.numActions
    this.numInputs = planes * height * width
    // Behind the module's own data: a state, the buffer that rules fill, and what a call allocates.
    this.state = aligned(this.calls.__heap_base.value)
    this.buffer = aligned(this.state + this.size)
    this.work = this.free = aligned(this.buffer + Math.max(4 * this.numActions, this.numInputs))
    this.#reach(this.work + PAGE)
    this.initial = Uint8Array.from(atob(facts.initial), byte => byte.charCodeAt(0))
  }

  // Functions that numba's code calls. Each call's memory is freed at its end.
  #imported(name) {
    if (name === 'NRT_MemInfo_alloc_aligned') return size => this.#allocate(Number(size))
    if (name === 'numba_attempt_nocopy_reshape') return (...values) => this.#reshape(...values)
    if (name in Math) return Math[name]
    return () => { throw new Error(`the rules raised an error (${name})`) }
  }

  // The start of numba's MemInfo: count (8 bytes), destructor, its argument, data, size.
  #allocate(size) {
    const info = this.free, data = aligned(info + 32)
    this.free = aligned(data + size)
    this.#reach(this.free)
    new Uint32Array(this.memory.buffer, info, 8).set([1, 0, 0, 0, data, 0, size, 0])
    return info
  }

  // The strides of a contiguous array in a new shape; numba compiles no other reshape. BigInt is its int64.
  #reshape(_dimensions, _shape, _strides, count, shape, strides, size) {
    const lengths = new BigInt64Array(this.memory.buffer, shape, Number(count))
    const written = new BigInt64Array(this.memory.buffer, strides, Number(count))
    for (let i = lengths.length - 1; i >= 0; i--) { written[i] = size; size *= lengths[i] }
    return 1
  }

  #reach(end) {
    const more = end - this.memory.buffer.byteLength
    if (more > 0) this.memory.grow(Math.ceil(more / PAGE))
  }

  // `put` stores a position where the rules find it; the other calls use the last one.
  put(state) { new Uint8Array(this.memory.buffer).set(state, this.state) }
  get() { return new Uint8Array(this.memory.buffer).slice(this.state, this.state + this.size) }

  #call(rule, number = 0) {
    this.free = this.work
    return this.calls[rule](this.state, this.buffer, number)
  }

  step(action) { this.#call('step', action) }
  player() { return this.#call('current_player') }
  isTerminal() { return this.#call('is_terminal') !== 0 }
  outcome() { return this.#call('outcome') }

  legal() {
    const count = this.#call('legal_actions')
    return Array.from(new Int32Array(this.memory.buffer, this.buffer, count))
  }

  observe() {
    new Uint8Array(this.memory.buffer, this.buffer, this.numInputs).fill(0)
    this.#call('observe')
    return new Uint8Array(this.memory.buffer).slice(this.buffer, this.buffer + this.numInputs)
  }
}

const aligned = address => Math.ceil(address / ALIGNED) * ALIGNED
