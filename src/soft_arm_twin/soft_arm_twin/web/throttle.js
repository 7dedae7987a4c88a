// Throttle for commands of a drag: at most 20 per second, always including the last.

const PERIOD_MS = 50;

export class Throttle {
  #send; #timer = null; #next; #waits = false; #last = -Infinity;

  constructor(send) { this.#send = send; }

  get busy() { return this.#timer !== null; }

  push(value) {
    this.#next = value;
    this.#waits = true;
    if (this.#timer === null) this.#timer = setTimeout(() => this.#fire(), Math.max(0, this.#last + PERIOD_MS - performance.now()));
  }

  #fire() {
    this.#timer = null;
    if (!this.#waits) return;
    this.#waits = false;
    this.#last = performance.now();
    this.#send(this.#next);
  }
}
