// One widget per kind of control, made of native inputs. `update(control, blocked)` sets the
// state of the server; `blocked` is the reason for which it cannot be used now, or empty.

import { el, fixed, newId, setText } from './dom.js';
import { Throttle } from './throttle.js';

const HOLD_MS = 300;  // after an answer: the panel may still be from before the command

const decimals = (step) => Math.min(6, Math.max(0, Math.ceil(-Math.log10(step) - 1e-9)));

class Widget {
  #unanswered = 0; #heldUntil = 0; #refusedByServer = false;

  // `send(name, value)` returns the promise of an answer.
  constructor(control, send) {
    this.control = control;
    this.send = send;
    this.note = el('p', { className: 'note', id: newId() });
    this.alert = el('p', { className: 'refused', role: 'alert', id: newId() });
    this.inputs = [];
  }

  finish(className, ...children) {
    for (const input of this.inputs) input.setAttribute('aria-describedby', `${this.note.id} ${this.alert.id}`);
    this.element = el('div', { className: `control ${className}` }, ...children, this.note, this.alert);
  }

  // During an interaction, and before the answer, the state of the server is not shown.
  get held() { return this.#unanswered > 0 || performance.now() < this.#heldUntil; }

  async command(value) {
    this.#unanswered++;
    const answer = await this.send(this.control.name, value);
    this.#unanswered--;
    this.#heldUntil = answer.accepted ? performance.now() + HOLD_MS : 0;
    if (!answer.accepted || this.#refusedByServer) this.refuse(answer.accepted ? '' : answer.text);
    this.#refusedByServer = !answer.accepted;
    return answer;
  }

  // An answer to an earlier command does not clear it, unless it came from the server too.
  refuse(text) {
    setText(this.alert, text);
    this.#refusedByServer = false;
  }

  update(control, blocked) {
    this.control = control;
    this.blocked = blocked;
    setText(this.note, blocked);
    for (const input of this.inputs) input.disabled = Boolean(blocked);
    if (!this.held) this.show(control);
  }
}

// A number box that is read when it is left or Enter is pressed, never during typing.
class NumberBox {
  constructor({ name, unit, scale = 1, commit, refuse }) {
    Object.assign(this, { name, unit, scale, refuse });
    this.input = el('input', { type: 'number', step: 'any', 'aria-label': name, inputMode: 'decimal' });
    this.input.addEventListener('input', () => { this.dirty = true; });
    this.input.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') this.#reset();
      else if (event.key === 'ArrowUp' || event.key === 'ArrowDown') {
        event.preventDefault();
        this.#commit(commit, this.value + (event.key === 'ArrowUp' ? 1 : -1) * this.step);
      } else if (event.key === 'Enter') { event.preventDefault(); if (this.dirty) this.#commit(commit, this.input.valueAsNumber / this.scale); }
    });
    this.input.addEventListener('blur', () => { if (this.dirty) this.#commit(commit, this.input.valueAsNumber / this.scale); });
    this.input.addEventListener('wheel', (event) => event.preventDefault(), { passive: false });
  }

  #reset() {
    this.dirty = false;
    this.show(this.value);
  }

  #commit(commit, value) {
    const { low, high, scale, unit, name } = this;
    this.dirty = false;
    if (Number.isFinite(value) && value >= low - 1e-9 && value <= high + 1e-9) {
      this.refuse('');
      commit(Math.min(high, Math.max(low, value)));
      return;
    }
    const digits = decimals(this.step * scale), shown = (x) => fixed(x * scale, digits);
    this.refuse(`${name}: ${Number.isFinite(value) ? +(value * scale).toPrecision(6) : 'that'} is outside of ${shown(low)} to ${shown(high)} ${unit}. Nothing was sent.`);
    this.show(this.value);
  }

  limits(low, high, step) { Object.assign(this, { low, high, step }); }

  show(value) {
    this.value = value;
    if (!this.dirty) this.input.value = fixed(value * this.scale, decimals(this.step * this.scale));
  }
}

export class SliderWidget extends Widget {
  constructor(control, send) {
    super(control, send);
    const { label, unit } = control, id = newId(), name = unit ? `${label} [${unit}]` : label;
    this.throttle = new Throttle((value) => this.command(value));
    this.range = el('input', { type: 'range', id });
    this.box = new NumberBox({ name, unit, commit: (value) => this.#choose(value), refuse: (text) => this.refuse(text) });
    this.range.addEventListener('input', () => this.#choose(this.range.valueAsNumber));
    this.range.addEventListener('pointerdown', () => { this.pressed = true; });
    for (const end of ['pointerup', 'pointercancel']) this.range.addEventListener(end, () => { this.pressed = false; });
    this.inputs = [this.range, this.box.input];
    this.range.setAttribute('aria-label', name);
    this.finish('slider', el('label', { for: id }, label), this.range, el('span', { className: 'boxed' }, this.box.input, el('span', { className: 'unit' }, unit)));
  }

  get held() { return this.pressed || this.throttle.busy || super.held; }

  #choose(value) {
    this.refuse('');
    this.draw(value);
    this.throttle.push(value);
  }

  show({ low, high, step, value }) {
    if (this.range.min !== String(low)) this.range.min = low;
    if (this.range.max !== String(high)) this.range.max = high;
    if (this.range.step !== String(step)) this.range.step = step;
    this.box.limits(low, high, step);
    this.draw(value);
  }

  // The bar is filled from zero, or from the nearest end.
  draw(value) {
    const { low, high, unit } = this.control, share = (x) => `${(100 * (Math.min(high, Math.max(low, x)) - low) / (high - low || 1)).toFixed(2)}%`;
    this.range.value = value;
    this.range.style.setProperty('--from', share(Math.min(0, value)));
    this.range.style.setProperty('--to', share(Math.max(0, value)));
    this.box.show(value);
    this.range.setAttribute('aria-valuetext', `${this.box.input.value} ${unit}`);
  }
}

export class PointWidget extends Widget {
  constructor(control, send) {
    super(control, send);
    this.throttle = new Throttle((value) => this.command(value));
    this.boxes = ['x', 'y', 'z'].map((axis, i) => new NumberBox({
      name: `${control.label} ${axis} [mm]`, unit: 'mm', scale: 1000, refuse: (text) => this.refuse(text),
      commit: (value) => this.choose(this.value_m.map((old, k) => (k === i ? value : old))),
    }));
    this.inputs = this.boxes.map((box) => box.input);
    const fields = this.boxes.map((box, i) => el('span', { className: 'boxed' }, el('span', { className: 'unit', 'aria-hidden': 'true' }, 'xyz'[i]), box.input));
    this.finish('point', el('span', { className: 'label' }, control.label, el('span', { className: 'unit' }, ' mm')), el('div', { className: 'xyz' }, ...fields));
    this.element.setAttribute('role', 'group');
    this.element.setAttribute('aria-label', control.label);
  }

  get held() { return this.throttle.busy || super.held; }

  // Also called by the handle in the 3-D view.
  choose(value_m) {
    this.refuse('');
    this.draw(value_m);
    this.throttle.push(value_m);
  }

  show({ low_m, high_m, value_m }) {
    this.boxes.forEach((box, i) => box.limits(low_m[i], high_m[i], 0.001));
    this.draw(value_m);
  }

  draw(value_m) {
    this.value_m = value_m;
    this.boxes.forEach((box, i) => box.show(value_m[i]));
  }
}

export class SwitchWidget extends Widget {
  constructor(control, send) {
    super(control, send);
    const id = newId();
    this.input = el('input', { type: 'checkbox', id, role: 'switch' });
    this.input.addEventListener('change', () => this.command(this.input.checked));
    this.inputs = [this.input];
    this.finish('switch', el('label', { for: id }, control.label), this.input);
  }

  show({ value }) { this.input.checked = value; }
}

export class ChoiceWidget extends Widget {
  constructor(control, send) {
    super(control, send);
    const id = newId();
    this.input = el('select', { id });
    this.input.addEventListener('change', () => this.command(this.input.value));
    this.inputs = [this.input];
    this.finish('choice', el('label', { for: id }, control.label), this.input);
  }

  show({ options, value }) {
    if (this.input.options.length !== options.length || options.some((option, i) => this.input.options[i].value !== option)) {
      this.input.replaceChildren(...options.map((option) => el('option', { value: option }, option)));
    }
    if (document.activeElement !== this.input || this.input.value === '') this.input.value = value;
  }
}

export class TextWidget extends Widget {
  constructor(control, send) {
    super(control, send);
    const id = newId();
    this.input = el('input', { type: 'text', id, maxLength: control.max_length, autocomplete: 'off' });
    this.input.addEventListener('change', () => this.command(this.input.value));
    this.inputs = [this.input];
    this.finish('text', el('label', { for: id }, control.label), this.input);
  }

  show({ value }) { if (document.activeElement !== this.input) this.input.value = value; }
}

export class ButtonWidget extends Widget {
  constructor(control, send) {
    super(control, send);
    this.button = el('button', { type: 'button' }, control.label);
    this.button.addEventListener('click', async () => {
      this.button.setAttribute('aria-busy', 'true');
      await this.command(null);
      this.button.removeAttribute('aria-busy');
    });
    this.inputs = [this.button];
    this.finish('button', this.button);
  }

  show({ label }) { setText(this.button, label); }
}

export const WIDGETS = {
  slider: SliderWidget, switch: SwitchWidget, button: ButtonWidget, choice: ChoiceWidget, point: PointWidget, text: TextWidget,
};
