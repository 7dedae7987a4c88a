// Running plots of the last 60 s. A line whose name ends with `set point` or `limit` is dashed, in
// the colour of its main line.

import uPlot from './vendor/uPlot.esm.js';
import { el, number, setText } from './dom.js';

const SPAN_S = 60, REDRAW_MS = 200, HEIGHT_PX = 120;
// Colour-blind-safe palette of Okabe and Ito; further lines repeat it dotted.
const COLOURS = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#8a8f98'];
const COMPANION = /[ ,]*(set point|limit|low limit|high limit|lower limit|upper limit)$/i;

class Plot {
  constructor(title, unit, parent) {
    Object.assign(this, { title, unit, lines: new Map(), chart: null });
    this.legend = el('ul', { className: 'key' });
    this.place = el('div', { role: 'img', 'aria-label': `Plot: ${title} [${unit}], the last ${SPAN_S} s` });
    parent.append(el('figure', { className: 'plot' }, el('figcaption', {}, title, el('span', { className: 'unit' }, ` ${unit}`)), this.place, this.legend));
  }

  add({ name, t_s, y }) {
    let line = this.lines.get(name);
    if (!line) {
      this.lines.set(name, line = { t: [], y: [] });
      this.restyle();
    }
    const { t } = line, last = t.at(-1);
    if (last !== undefined && t_s <= last) return;
    t.push(t_s);
    line.y.push(y);
    while (t[0] < t_s - SPAN_S) { t.shift(); line.y.shift(); }
  }

  // Recreate the chart at the next drawing, after a new line or a change of colours.
  restyle() {
    this.chart?.destroy();
    this.chart = null;
  }

  #style(name) {
    const own = [...this.lines.keys()].filter((other) => !COMPANION.test(other));
    const companion = COMPANION.test(name), at = own.indexOf(companion ? name.replace(COMPANION, '') : name);
    const stroke = at < 0 ? '#8a8f98' : COLOURS[at % COLOURS.length];
    return { stroke, dash: companion ? [5, 4] : at >= COLOURS.length ? [2, 3] : undefined, width: companion ? 1.25 : 2, companion };
  }

  #make() {
    const style = getComputedStyle(document.documentElement), ink = style.getPropertyValue('--muted').trim(), grid = style.getPropertyValue('--line').trim();
    const names = [...this.lines.keys()];
    const axis = { stroke: ink, font: '11px system-ui', grid: { stroke: grid, width: 1 }, ticks: { show: false } };
    this.chart = new uPlot({
      width: this.place.clientWidth || 300, height: HEIGHT_PX, legend: { show: false }, cursor: { show: false }, padding: [6, 14, 0, 0],
      scales: { x: { time: false, range: (u, low, high) => [high - SPAN_S, high] } },
      axes: [
        { ...axis, size: 22, values: (u, ticks) => ticks.map((t) => `${Math.round(t - u.scales.x.max)} s`), splits: (u) => [-60, -40, -20, 0].map((s) => u.scales.x.max + s) },
        { ...axis, size: 42 },
      ],
      series: [{}, ...names.map((name) => ({ label: name, points: { show: false }, ...this.#style(name) }))],
    }, undefined, this.place);
    this.numbers = names.map(() => el('span', { className: 'value' }));
    this.legend.replaceChildren(...names.map((name, i) => {
      const { stroke, companion, dash } = this.#style(name), swatch = el('i', { className: dash ? 'dash' : '' });
      swatch.style.color = stroke;
      return companion ? '' : el('li', {}, swatch, name, ' ', this.numbers[i]);
    }).filter(Boolean));
    if (names.some((name) => COMPANION.test(name))) this.legend.append(el('li', {}, el('i', { className: 'dash' }), 'set point, limit'));
  }

  draw() {
    if ([...this.lines.values()].every(({ t }) => !t.length)) return;
    if (!this.chart) this.#make();
    if (this.place.clientWidth && this.chart.width !== this.place.clientWidth) this.chart.setSize({ width: this.place.clientWidth, height: HEIGHT_PX });
    this.chart.setData(uPlot.join([...this.lines.values()].map(({ t, y }) => [t, y])));
    [...this.lines.values()].forEach(({ y }, i) => setText(this.numbers[i], number(y.at(-1), 3)));
  }
}

export class Plots {
  #plots = new Map(); #drawn = 0;

  constructor(card, parent) {
    Object.assign(this, { card, parent });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { for (const plot of this.#plots.values()) plot.restyle(); });
  }

  update(series) {
    this.card.hidden = !series.length && !this.#plots.size;
    for (const point of series) {
      if (!this.#plots.has(point.plot)) this.#plots.set(point.plot, new Plot(point.plot, point.unit, this.parent));
      this.#plots.get(point.plot).add(point);
    }
    const now = performance.now();
    if (!this.card.open || document.hidden || now - this.#drawn < REDRAW_MS) return;
    this.#drawn = now;
    for (const plot of this.#plots.values()) plot.draw();
  }
}
