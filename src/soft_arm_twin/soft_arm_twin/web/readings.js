// Displays: values, ages, diagnostics, texts, events and the camera image.

import { capital, el, number, setText } from './dom.js';

const EVENTS_SHOWN = 500;
const LEVELS = { info: 'Info', warning: 'Warning', error: 'Error' };
const byId = (id) => document.getElementById(id);

const age = (seconds) => (seconds === null ? 'never' : seconds < 10 ? `${seconds.toFixed(2)} s` : `${seconds.toFixed(0)} s`);

// Names of the sources whose data is older than its limit, with their ages.
export function tooOld(ages) {
  return new Map(ages.filter(({ age_s, limit_s }) => age_s === null || age_s > limit_s).map((a) => [a.name, a.age_s]));
}

export class Values {
  #rows = new Map(); #shape = '';

  update(values, old) {
    const shape = JSON.stringify(values.map(({ group, name, unit, low, high }) => [group, name, unit, low, high]));
    if (shape !== this.#shape) this.#build(values);
    this.#shape = shape;
    for (const reading of values) {
      const { row, value, wanted, gauge } = this.#rows.get(`${reading.group}/${reading.name}`);
      setText(value, number(reading.value));
      setText(wanted, reading.set_point === null ? '' : number(reading.set_point));
      row.classList.toggle('old', old.has(reading.source));
      row.classList.toggle('outside', reading.value !== null && (reading.value < (reading.low ?? -Infinity) || reading.value > (reading.high ?? Infinity)));
      if (gauge) {
        const share = (x) => `${Math.min(100, Math.max(0, 100 * (x - reading.low) / (reading.high - reading.low)))}%`;
        gauge.style.setProperty('--is', share(reading.value ?? reading.low));
        gauge.style.setProperty('--want', reading.set_point === null ? '-10%' : share(reading.set_point));
      }
    }
  }

  #build(values) {
    byId('values-card').hidden = !values.length;
    this.#rows.clear();
    const groups = Map.groupBy(values, ({ group }) => group);
    byId('values-card').querySelector('.scroll').replaceChildren(...[...groups].map(([group, members]) => {
      const body = el('tbody'), some = (key) => members.some((member) => member[key] !== null);
      for (const { name, unit, low, high } of members) {
        const value = el('b', { className: 'value' }), wanted = el('td', { className: 'wanted' });
        const limited = low !== null && high !== null, gauge = limited ? el('span', { className: 'gauge', 'aria-hidden': 'true' }) : null;
        const limits = low === null && high === null ? '' : `${low === null ? '' : number(low, 3)} … ${high === null ? '' : number(high, 3)}`;
        const row = el('tr', {}, el('th', { scope: 'row' }, name), el('td', {}, value, el('span', { className: 'unit' }, ` ${unit}`)), wanted, el('td', { className: 'limits' }, limits, ...(gauge ? [gauge] : [])));
        body.append(row);
        this.#rows.set(`${group}/${name}`, { row, value, wanted, gauge });
      }
      const heads = ['', 'Value', some('set_point') ? 'Set point' : '', some('low') || some('high') ? 'Limits' : ''];
      return el('table', {}, el('caption', {}, capital(group)), el('thead', {}, el('tr', {}, ...heads.map((head) => (head ? el('th', { scope: 'col' }, head) : el('td'))))), body);
    }));
  }
}

export function showAges(ages) {
  byId('ages-card').hidden = !ages.length;
  byId('ages-card').querySelector('ul').replaceChildren(...ages.map(({ name, age_s, limit_s }) => {
    const old = age_s === null || age_s > limit_s;
    return el('li', { className: old ? 'old' : '' }, el('span', {}, name), el('b', { className: 'value' }, age(age_s)), el('span', { className: 'unit' }, ` of ${limit_s} s`, old ? ', old' : ''));
  }));
}

// Banner for all silent sources. Screen readers announce changes of names, but not of ages.
export function showSilence(old) {
  byId('no-source').hidden = old.size === 0;
  const names = [...old.keys()].join(', ');
  setText(byId('no-source-names'), names && `no data from ${names}`);
  setText(byId('no-source-ages'), [...old.values()].map((s) => (s === null ? 'none yet' : `for ${s.toFixed(1)} s`)).join(', '));
}

let diagnosticsShown = '';
export function showDiagnostics(diagnostics) {
  const now = JSON.stringify(diagnostics);
  if (now === diagnosticsShown) return;
  diagnosticsShown = now;
  const card = byId('diagnostics-card'), order = { error: 0, warning: 1, info: 2 };
  card.hidden = !diagnostics.length;
  const bad = diagnostics.filter(({ level }) => level !== 'info').length;
  setText(card.querySelector('.count'), bad ? String(bad) : '');
  card.querySelector('ul').replaceChildren(...diagnostics.toSorted((a, b) => order[a.level] - order[b.level]).map(({ level, name, text, remedy }) => el(
    'li', { className: level },
    el('span', { className: 'level' }, LEVELS[level]), el('b', {}, name), el('span', {}, text),
    ...(remedy ? [el('span', { className: 'remedy' }, remedy)] : []),
  )));
}

let textsShown = '';
export function showTexts(texts) {
  const now = JSON.stringify(texts);
  if (now === textsShown) return;
  textsShown = now;
  const closed = new Set([...byId('texts').querySelectorAll('details:not([open])')].map((card) => card.dataset.title));
  byId('texts').replaceChildren(...texts.map(({ title, lines }) => {
    const card = el('details', { className: 'card', open: !closed.has(title) }, el('summary', {}, title), el('div', { className: 'lines' }, ...lines.map((line) => el('p', {}, line))));
    card.dataset.title = title;
    return card;
  }));
}

export function addEvents(events) {
  if (!events.length) return;
  const card = byId('events-card'), list = card.querySelector('ol');
  card.hidden = false;
  list.prepend(...events.toReversed().map(({ time_s, level, source, text }) => el(
    'li', { className: level },
    el('time', {}, new Date(1000 * time_s).toLocaleTimeString([], { hour12: false })),
    el('span', { className: 'level' }, LEVELS[level]), el('b', {}, source), el('span', {}, text),
  )));
  while (list.childElementCount > EVENTS_SHOWN) list.lastElementChild.remove();
  setText(card.querySelector('.count'), String(list.childElementCount));
}

export function clearEvents() {
  byId('events-card').querySelector('ol').replaceChildren();
}

export class CameraPicture {
  #newest = null; #busy = false;

  async show(image) {
    if (this.#busy) return;
    this.#busy = true;
    const bitmap = await createImageBitmap(new Blob([image.jpeg], { type: 'image/jpeg' })).catch(() => null);
    this.#busy = false;
    if (!bitmap) return;
    const canvas = byId('camera');
    byId('camera-card').hidden = false;
    if (canvas.width !== bitmap.width) canvas.width = bitmap.width;
    if (canvas.height !== bitmap.height) canvas.height = bitmap.height;
    canvas.getContext('2d').drawImage(bitmap, 0, 0);
    bitmap.close();
    this.#newest = image;
  }

  updateAge() {
    if (!this.#newest) return;
    const old_s = this.#newest.ageAtSend_s + (performance.now() - this.#newest.arrived_ms) / 1000;
    setText(byId('camera-age'), `${age(old_s)} old`);
    byId('camera-card').classList.toggle('old', old_s > 1);
  }
}
