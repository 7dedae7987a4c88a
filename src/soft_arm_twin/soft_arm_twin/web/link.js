// Connection to the server: decode messages, reset the watchdog, send commands.

const FRAMES = 1, IMAGE = 2, CLOUD = 3;
const HEADER_BYTES = 13;  // kind uint8, age at send float64 [s], number uint32; little-endian
const RETRY_MS = 1000;

export class Link extends EventTarget {
  #socket = null;
  #id = 0;
  #waiting = new Map();  // resolver of the answer by command id
  #beat = 0;
  #beatAt = -Infinity;

  connect() {
    const scheme = location.protocol === 'https:' ? 'wss:' : 'ws:';
    const socket = new WebSocket(`${scheme}//${location.host}/socket`);
    socket.binaryType = 'arraybuffer';
    socket.addEventListener('message', (event) => this.#receive(event.data));
    socket.addEventListener('close', (event) => {
      for (const answer of this.#waiting.values()) answer({ accepted: false, text: 'the connection was lost before an answer came' });
      this.#waiting.clear();
      this.#tell('closed', { reason: event.reason });
      setTimeout(() => this.connect(), RETRY_MS);
    });
    this.#socket = socket;
  }

  get open() {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  // Send a command; the promise resolves with the answer, also if the connection is lost.
  command(control, value) {
    if (!this.open) return Promise.resolve({ accepted: false, text: 'no connection to the server: nothing was sent' });
    const id = ++this.#id;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#send({ type: 'command', id, control, value });
    });
  }

  take() { this.#send({ type: 'take' }); }
  release() { this.#send({ type: 'release' }); }
  shown(number) { this.#send({ type: 'shown', number }); }

  #send(message) {
    if (this.open) this.#socket.send(JSON.stringify(message));
  }

  #tell(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }

  // Restart the CSS animations that mark stale data, which run without any script.
  #restartWatchdog() {
    const now = performance.now();
    if (now - this.#beatAt < 90) return;
    this.#beatAt = now;
    this.#beat = 1 - this.#beat;
    document.body.dataset.beat = this.#beat ? 'a' : 'b';
  }

  #receive(data) {
    this.#restartWatchdog();
    if (typeof data === 'string') {
      const message = JSON.parse(data);
      if (message.type === 'answer') {
        this.#waiting.get(message.id)?.(message);
        this.#waiting.delete(message.id);
      }
      this.#tell(message.type, message);
      return;
    }
    const view = new DataView(data);
    const kind = view.getUint8(0);
    const head = { ageAtSend_s: view.getFloat64(1, true), number: view.getUint32(9, true), arrived_ms: performance.now() };
    if (kind === FRAMES) this.#tell('frames', { ...head, frames: new Float32Array(data.slice(HEADER_BYTES)) });
    else if (kind === IMAGE) this.#tell('image', { ...head, jpeg: data.slice(HEADER_BYTES) });
    else if (kind === CLOUD) {
      const n = view.getUint32(HEADER_BYTES, true), from = HEADER_BYTES + 4;
      this.#tell('cloud', {
        ...head,
        points_m: new Float32Array(data.slice(from, from + 12 * n)),
        colours_rgb: new Uint8Array(data, from + 12 * n, 3 * n),
      });
    }
  }
}
