// Start the page: dispatch the messages of the server to the views.

import { el, setText } from './dom.js';
import { offerFiles, save } from './files.js';
import { Link } from './link.js';
import { Controls } from './panel.js';
import { Plots } from './plots.js';
import { addEvents, CameraPicture, clearEvents, showAges, showDiagnostics, showSilence, showTexts, tooOld, Values } from './readings.js';
import { Stage } from './stage.js';

const TOAST_MS = 6000;
const byId = (id) => document.getElementById(id);

const link = new Link(), camera = new CameraPicture(), values = new Values();
export const stage = new Stage(byId('canvas'));
const plots = new Plots(byId('plots-card'), byId('plots'));
const state = { title: 'soft_arm', mine: false, owner: null, since: null, panel: null, newest: null, arrivals: [] };

let toast = 0;
function say(text, bad = false) {
  setText(byId('toast'), text);
  byId('toast').classList.toggle('bad', bad);
  clearTimeout(toast);
  toast = setTimeout(() => setText(byId('toast'), ''), TOAST_MS);
}

const controls = new Controls({
  link, stage, say, save,
  places: { column: byId('controls'), always: byId('always'), handles: byId('handles') },
  general: () => {
    if (!link.open) return 'No connection to the server.';
    if (state.mine) return '';
    return state.owner ? `${state.owner} has control: you are watching.` : 'You are watching. Take control to move anything.';
  },
  blocked: (control) => {
    if (!link.open) return controls.general();
    if (control.needs_control && !control.always && !state.mine) return controls.general();
    return control.reason;
  },
});

// One-line hint for the first action.
function hint(panel) {
  const usable = panel.controls.filter((control) => !control.reason && (!control.needs_control || state.mine));
  const view = 'Drag the background to turn the view.';
  if (usable.some(({ kind }) => kind === 'point')) return `Drag the round handle: the robot follows. ${view}`;
  if (panel.controls.some((control) => control.needs_control) && !state.mine) return `Press “Take control” to move the robot. ${view}`;
  if (usable.some(({ kind }) => kind === 'slider')) return `Move a slider at the left: the robot follows. ${view}`;
  return view;
}

function showOwnership() {
  const needed = state.panel?.controls.some((control) => control.needs_control && !control.always) ?? false;
  byId('ownership').hidden = !needed;
  byId('ownership').dataset.state = state.mine ? 'mine' : state.owner ? 'other' : 'free';
  const since = state.since ? ` since ${state.since.toLocaleTimeString([], { hour12: false })}` : '';
  setText(byId('owner'), state.mine ? 'You have control' : state.owner ? `${state.owner} has control${since}` : 'Nobody has control');
  byId('take').hidden = state.mine;
  byId('take').disabled = Boolean(state.owner) || !link.open;
  byId('take').title = state.owner ? `Possible once ${state.owner} gives it back or closes` : '';
  byId('give-back').hidden = !state.mine;
}

function showPanel(panel) {
  state.panel = panel;
  const old = tooOld(panel.ages);
  showOwnership();
  controls.update(panel.controls);
  values.update(panel.values, old);
  showAges(panel.ages);
  showSilence(old);
  stage.setOld(old);
  showDiagnostics(panel.diagnostics);
  showTexts(panel.texts);
  plots.update(panel.plots);
  camera.updateAge();
  setText(byId('hint'), hint(panel));
  showLink();
  document.body.dataset.side = [...byId('state').querySelectorAll('details')].some((card) => !card.hidden) ? 'yes' : 'no';
}

function showLink() {
  const now = performance.now();
  state.arrivals = state.arrivals.filter((t) => now - t < 1000);
  const age_s = state.newest ? state.newest.ageAtSend_s + (now - state.newest.arrived_ms) / 1000 : null;
  byId('link').dataset.state = link.open ? 'live' : 'lost';
  setText(byId('link-text'), link.open ? 'live' : 'no connection');
  byId('link').title = age_s === null ? '' : `${state.arrivals.length} pictures/s, the newest ${age_s.toFixed(2)} s old`;
}

function showLegend(scene) {
  const list = byId('legend').querySelector('ul'), layers = byId('layers').querySelector('div');
  list.replaceChildren(...scene.legend.map(({ name, colour_rgb, marker }) => {
    const mark = el('i', { className: `marker ${marker}`, 'aria-hidden': 'true' });
    mark.style.color = `rgb(${colour_rgb.map((c) => Math.round(255 * c)).join(' ')})`;
    return el('li', {}, mark, name, ...(marker === 'none' ? [] : [el('span', { className: 'unit' }, ` ${marker}`)]));
  }));
  const hidden = new Set([...layers.querySelectorAll('input:not(:checked)')].map((box) => box.value));
  const groups = [...new Set(scene.parts.map(({ group }) => group))];
  layers.replaceChildren(...groups.map((group) => {
    const box = el('input', { type: 'checkbox', value: group, checked: !hidden.has(group) });
    box.addEventListener('change', () => stage.showGroup(group, box.checked));
    if (hidden.has(group)) stage.showGroup(group, false);
    return el('label', {}, box, group);
  }));
  byId('legend').hidden = !groups.length;
}

const on = (type, handler) => link.addEventListener(type, ({ detail }) => handler(detail));
on('hello', (hello) => {
  state.title = hello.title;
  document.title = `${hello.title} · soft_arm`;
  setText(byId('title'), hello.title);
  clearEvents();  // the server sends all events to a new connection
});
on('scene', (scene) => { stage.setScene(scene); showLegend(scene); });
on('frames', (message) => {
  state.newest = message;
  state.arrivals.push(message.arrived_ms);
  stage.setFrames(message.frames, () => link.shown(message.number));
  if (document.hidden) stage.drawn();  // a hidden tab draws nothing, but must acknowledge frames
});
on('panel', showPanel);
on('events', ({ events }) => addEvents(events));
on('owner', ({ owner, age_s, you }) => {
  state.mine = you;
  state.owner = you ? null : owner;
  state.since = age_s === null ? null : new Date(Date.now() - 1000 * age_s);
  if (state.panel) showPanel(state.panel);
});
on('answer', ({ id, accepted, text }) => { if (id === null && !accepted) say(text, true); });
on('image', (image) => camera.show(image));
on('cloud', (cloud) => stage.setCloud(cloud));
on('closed', ({ reason }) => {
  state.mine = false;
  state.owner = null;
  setText(byId('no-server-why'), reason ? `The server closed the connection: ${reason}` : 'The picture is stale. Reconnecting.');
  if (state.panel) showPanel(state.panel);
  showLink();
});

byId('take').addEventListener('click', () => link.take());
byId('give-back').addEventListener('click', () => link.release());
for (const button of document.querySelectorAll('[data-view]')) button.addEventListener('click', () => stage.look(button.dataset.view));
stage.addEventListener('picked', ({ detail: part }) => {
  byId('picked').hidden = !part;
  if (!part) return;
  const found = state.panel?.ages.find(({ name }) => name === part.source);
  setText(byId('picked'), `${part.name}${found ? `: data of ${found.name}, ${found.age_s === null ? 'none yet' : `${found.age_s.toFixed(2)} s old`}` : ''}`);
});
offerFiles({
  stage, say, title: () => state.title,
  pose: () => ({
    title: state.title, saved: new Date().toISOString(),
    settings: controls.values,
    values: state.panel?.values ?? [],
    parts: stage.parts.map(({ name, ownFrames }) => ({ name, frames: ownFrames })),
    world_from_frame: stage.frames ? Array.from({ length: stage.frames.length / 12 }, (_, i) => [0, 4, 8].map((row) => [...stage.frames.subarray(12 * i + row, 12 * i + row + 4)])) : [],
  }),
});
link.connect();
