// A Point of the panel as a handle in the 3-D view: dragged by mouse or finger, or moved by keys.

import { fixed } from './dom.js';
import * as THREE from './vendor/three.module.min.js';

const STEP_M = 0.005, FINE_STEP_M = 0.001;

const mm = (point_m) => point_m.map((x) => fixed(1000 * x, 0)).join(', ');

export class Handle {
  #drag = null;

  // `pick(value_m)` is called with each new position chosen by the user.
  constructor(stage, parent, control, pick) {
    this.stage = stage;
    this.pick = pick;
    this.button = document.createElement('button');
    this.button.type = 'button';
    this.button.className = 'handle';
    this.tag = document.createElement('span');
    this.tag.setAttribute('aria-hidden', 'true');
    this.button.append(this.tag);
    parent.append(this.button);
    const line = new THREE.BufferGeometry().setFromPoints([new THREE.Vector3(), new THREE.Vector3()]);
    this.plumb = new THREE.LineSegments(line, new THREE.LineBasicMaterial({ color: 0x7d8b9b, transparent: true, opacity: 0.8 }));
    this.plumb.frustumCulled = false;
    stage.scene.add(this.plumb);
    this.button.addEventListener('pointerdown', (event) => this.#begin(event));
    this.button.addEventListener('pointermove', (event) => this.#move(event));
    for (const end of ['pointerup', 'pointercancel']) this.button.addEventListener(end, () => this.#end());
    this.button.addEventListener('keydown', (event) => this.#key(event));
    this.place = () => this.#place();
    stage.addEventListener('drawn', this.place);
    this.update(control, '');
  }

  get dragged() { return this.#drag !== null; }

  // `blocked`: reason for which it cannot be moved now, or empty.
  update(control, blocked) {
    this.control = control;
    this.button.setAttribute('aria-disabled', String(Boolean(blocked)));
    this.button.title = blocked || 'Drag it, or use arrow keys and Page Up / Page Down; with Shift in steps of 1 mm';
    this.blocked = blocked;
    if (!this.dragged) this.show(control.value_m);
  }

  show(value_m) {
    const last = this.value_m;
    this.value_m = value_m;
    if (last?.every((x, i) => x === value_m[i])) return;
    this.button.setAttribute('aria-label', `${this.control.label}: ${mm(value_m)} mm. Move it with arrow keys, Page Up and Page Down`);
    this.tag.textContent = `${this.control.label} ${mm(value_m)} mm`;
    const [x, y, z] = value_m, position = this.plumb.geometry.attributes.position;
    position.array.set([x, y, z, x, y, 0]);
    position.needsUpdate = true;
    this.stage.changed();
    this.#place();
  }

  remove() {
    this.stage.removeEventListener('drawn', this.place);
    this.stage.scene.remove(this.plumb);
    this.plumb.geometry.dispose();
    this.button.remove();
  }

  #place() {
    const { x, y, z } = this.stage.project(this.value_m);
    this.button.hidden = z > 1;
    this.button.style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)`;
  }

  // The nearest position within the limits, at which a handle stops like a slider.
  #choose(point_m) {
    const { low_m, high_m } = this.control;
    const within = point_m.map((x, i) => Math.round(1e4 * Math.min(high_m[i], Math.max(low_m[i], x))) / 1e4);
    this.button.classList.toggle('at-limit', within.some((x, i) => Math.abs(x - point_m[i]) > 1e-3));
    this.show(within);
    this.pick(within);
  }

  #begin(event) {
    if (this.blocked || event.button !== 0) return;
    this.button.setPointerCapture(event.pointerId);
    const at = this.stage.project(this.value_m);
    this.#drag = { x: at.x - event.clientX, y: at.y - event.clientY, from_m: this.value_m };
    this.button.classList.add('dragged');
  }

  #move(event) {
    if (!this.#drag) return;
    const to_m = this.stage.unproject(event.clientX + this.#drag.x, event.clientY + this.#drag.y, this.#drag.from_m);
    if (!to_m) return;
    if (event.shiftKey) to_m.splice(0, 2, this.#drag.from_m[0], this.#drag.from_m[1]);  // straight up or down
    this.#choose(to_m);
  }

  #end() {
    this.#drag = null;
    this.button.classList.remove('dragged', 'at-limit');
  }

  // Left, right, up and down map to the best-aligned axes of the world.
  #key(event) {
    const screen = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    const vertical = { PageUp: 1, PageDown: -1 }[event.key];
    if (!screen && !vertical) return;
    event.preventDefault();
    if (this.blocked) return;
    const step_m = event.shiftKey ? FINE_STEP_M : STEP_M, to_m = [...this.value_m];
    if (vertical) to_m[2] += vertical * step_m;
    else {
      const right = new THREE.Vector3().setFromMatrixColumn(this.stage.camera.matrixWorld, 0);
      const axis = Math.abs(right.x) >= Math.abs(right.y) ? 0 : 1;
      const across = Math.sign(right.getComponent(axis)), away = axis === 0 ? across : -across;
      if (screen[0]) to_m[axis] += screen[0] * across * step_m;
      else to_m[1 - axis] += screen[1] * away * step_m;
    }
    this.#choose(to_m);
  }
}
