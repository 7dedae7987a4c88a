// Controls of the source: groups in the left column, those that are always usable in the header.

import { capital, el, setText } from './dom.js';
import { Handle } from './handle.js';
import { WIDGETS } from './widgets.js';

const QUIET = new Set(['slider', 'point']);  // accepted steps of a drag need no message

export class Controls {
  #widgets = new Map();
  #handles = new Map();
  #groups = new Map();
  #shape = '';

  // `blocked(control)`: reason for which the page may not use it now, or empty; `general()`: a reason
  // common to many controls, shown once; `say(text, bad)` shows a message.
  constructor({ link, stage, places, blocked, general, say, save }) {
    Object.assign(this, { link, stage, places, blocked, general, say, save });
    this.callout = el('p', { className: 'callout', role: 'status' });
  }

  get values() {
    return Object.fromEntries([...this.#widgets.values()].map(({ control }) => [control.name, control.value ?? control.value_m ?? null]));
  }

  // Update the panel; widgets are recreated only if the set of controls has changed, and not while a
  // handle is dragged or its last position is in flight, which would interrupt the drag.
  update(all) {
    const inHand = [...this.#handles].some(([name, handle]) => handle.dragged || this.#widgets.get(name).held);
    const controls = inHand ? all.filter(({ name }) => this.#widgets.has(name)) : all;
    this.controls = controls;
    const shape = JSON.stringify(controls.map(({ name, kind, label, group, unit, always }) => [name, kind, label, group, unit, always]));
    if (shape !== this.#shape && !inHand) {
      this.#build(controls);
      this.#shape = shape;
    }
    for (const control of controls) {
      const blocked = this.blocked(control), widget = this.#widgets.get(control.name);
      widget.update(control, blocked);
      this.#handles.get(control.name)?.update(widget.held ? { ...control, value_m: widget.value_m } : control, blocked);
    }
    const general = this.general(), used = controls.some((control) => this.blocked(control) === general);
    setText(this.callout, used ? general : '');
    for (const { note, members } of this.#groups.values()) this.#sayOnce(note, members, general);
  }

  #send = async (name, value) => {
    const { label, kind } = this.#widgets.get(name).control;
    const answer = await this.link.command(name, value);
    if (!answer.accepted) this.say(`${label}: refused. ${answer.text}`, true);
    else if (!QUIET.has(kind) || answer.text) this.say(`${label}: ${answer.text || 'accepted'}`, false);
    if (answer.file_name) this.save(new Blob([answer.file_text], { type: 'text/plain' }), answer.file_name);
    return answer;
  };

  #build(controls) {
    for (const place of Object.values(this.places)) place.replaceChildren();
    for (const handle of this.#handles.values()) handle.remove();
    this.places.column.append(this.callout);
    this.#widgets.clear(); this.#handles.clear(); this.#groups.clear();
    for (const control of controls) {
      const widget = new WIDGETS[control.kind](control, this.#send);
      this.#widgets.set(control.name, widget);
      if (control.kind === 'point') {
        const handle = new Handle(this.stage, this.places.handles, control, (value_m) => widget.choose(value_m));
        this.#handles.set(control.name, handle);
        const draw = widget.draw.bind(widget);
        widget.draw = (value_m) => { draw(value_m); if (!handle.dragged) handle.show(value_m); };
      }
      if (control.always) this.places.always.append(widget.element);
      else this.#group(control.group).append(widget);
    }
  }

  #group(name) {
    if (!this.#groups.has(name)) {
      const note = el('p', { className: 'note' }), body = el('div', { className: 'group', role: 'group', 'aria-label': name });
      this.places.column.append(el('details', { className: 'card', open: true }, el('summary', {}, capital(name)), note, body));
      const members = [];
      this.#groups.set(name, { note, members, append: (widget) => { members.push(widget); body.append(widget.element); } });
    }
    return this.#groups.get(name);
  }

  // A reason common to a whole group is shown once, at its head.
  #sayOnce(note, members, general) {
    const reason = members[0].blocked, same = Boolean(reason) && members.length > 1 && members.every((widget) => widget.blocked === reason);
    setText(note, same && reason !== general ? reason : '');
    for (const widget of members) widget.note.hidden = same || widget.blocked === general;
  }
}
