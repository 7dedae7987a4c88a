// The 3-D view: camera, lights, ground, and drawing on change only.

import * as THREE from './vendor/three.module.min.js';
import { OrbitControls } from './vendor/OrbitControls.js';
import { DrawnCloud, DrawnPart } from './parts.js';

const TURN_RAD = Math.PI / 36, MOVE_SHARE = 0.04, ZOOM_SHARE = 0.92;  // of one key press
const FIELD_OF_VIEW_DEG = 40, GROUND_M = 2, PITCH_M = 0.1;
const SLOW_PICTURE_MS = 45;  // software drawing: halve the number of pixels once

// Lines every 0.1 m that fade with the distance from the origin; also fast without a GPU.
function ground() {
  const cells = Math.round(GROUND_M / PITCH_M), corners = [], colours = [];
  const put = (i, k, strong) => {
    corners.push(i * PITCH_M, k * PITCH_M, 0);
    colours.push(1, 1, 1, (strong ? 0.75 : 0.35) * Math.max(0, 1 - Math.hypot(i, k) / cells));
  };
  for (let i = -cells; i <= cells; i++) for (let k = -cells; k < cells; k++) {
    const strong = i % 5 === 0;
    if (Math.hypot(i, k) > cells) continue;
    put(i, k, strong); put(i, k + 1, strong);
    put(k, i, strong); put(k + 1, i, strong);
  }
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute('position', new THREE.Float32BufferAttribute(corners, 3));
  geometry.setAttribute('color', new THREE.Float32BufferAttribute(colours, 4));
  const lines = new THREE.LineSegments(geometry, new THREE.LineBasicMaterial({ vertexColors: true, transparent: true, depthWrite: false }));
  lines.renderOrder = -1;
  return lines;
}

// The background: a gradient of two colours over the whole picture (cheaper in software than a texture).
function sky() {
  const material = new THREE.ShaderMaterial({
    depthTest: false, depthWrite: false, uniforms: { top: { value: new THREE.Color() }, bottom: { value: new THREE.Color() } },
    vertexShader: 'varying float height; void main() { height = uv.y; gl_Position = vec4(position.xy, 0.0, 1.0); }',
    fragmentShader: 'varying float height; uniform vec3 top, bottom; void main() { gl_FragColor = vec4(mix(bottom, top, height), 1.0); }',
  });
  const mesh = new THREE.Mesh(new THREE.PlaneGeometry(2, 2), material);
  mesh.frustumCulled = false;
  mesh.renderOrder = -2;
  return mesh;
}

export class Stage extends EventTarget {
  parts = [];
  frames = null;
  #changed = true;
  #start = { eye_m: [0.6, -0.6, 0.5], target_m: [0, 0, 0.1] };
  #pixelRatio = Math.min(devicePixelRatio, 2);
  #slow = 0;
  #afterDrawing = [];

  constructor(canvas) {
    super();
    this.canvas = canvas;
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: true });
    this.renderer.setPixelRatio(this.#pixelRatio);
    this.scene = new THREE.Scene();
    this.camera = new THREE.PerspectiveCamera(FIELD_OF_VIEW_DEG, 1, 0.01, 50);
    this.camera.up.set(0, 0, 1);
    this.daylight = new THREE.HemisphereLight(0xffffff, 0x8d99a8, 1.9);
    this.daylight.position.set(0, 0, 1);
    this.key = new THREE.DirectionalLight(0xffffff, 1.7);
    this.fill = new THREE.DirectionalLight(0xffffff, 0.5);
    this.camera.add(this.key, this.fill);  // lights follow the camera
    this.key.position.set(-0.6, 0.9, 0.6);
    this.fill.position.set(1, 0.1, 0.4);
    this.sky = sky();
    this.ground = ground();
    this.cloud = new DrawnCloud();
    this.scene.add(this.camera, this.daylight, this.sky, this.ground, this.cloud.object);
    this.camera.add(this.key.target, this.fill.target);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.addEventListener('change', () => this.changed());
    canvas.addEventListener('keydown', (event) => this.#key(event));
    canvas.addEventListener('click', (event) => this.#pick(event));
    new ResizeObserver(() => this.#resize()).observe(canvas.parentElement);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.paint());
    this.paint();
    this.look('start');
    const loop = () => { requestAnimationFrame(loop); this.#draw(); };
    requestAnimationFrame(loop);
  }

  changed() { this.#changed = true; }

  // Read the colours from the style sheet.
  paint() {
    const style = getComputedStyle(document.documentElement);
    for (const end of ['top', 'bottom']) this.sky.material.uniforms[end].value.setStyle(style.getPropertyValue(`--sky-${end}`).trim(), THREE.LinearSRGBColorSpace);
    this.ground.material.color.setStyle(style.getPropertyValue('--grid').trim());
    this.changed();
  }

  setScene(scene) {
    for (const part of this.parts) { this.scene.remove(part.object); part.dispose(); }
    this.parts = scene.parts.map((part) => new DrawnPart(part));
    for (const part of this.parts) { part.object.visible = false; this.scene.add(part.object); }
    const moved = JSON.stringify(scene.camera) !== JSON.stringify(this.#start);
    this.#start = scene.camera;
    this.frames = null;
    if (moved) this.look('start');
    this.changed();
  }

  // Update all poses; identical frames are not drawn.
  setFrames(frames, afterDrawing) {
    if (this.frames && frames.length === this.frames.length && frames.every((x, i) => x === this.frames[i])) {
      afterDrawing();
      return;
    }
    this.frames = frames;
    for (const part of this.parts) part.move(frames);
    this.#afterDrawing.push(afterDrawing);
    this.changed();
  }

  setCloud(cloud) {
    this.cloud.show(cloud);
    this.changed();
  }

  showGroup(group, shown) {
    for (const part of this.parts) if (part.group === group) {
      part.shown = shown;
      if (this.frames) part.move(this.frames);
    }
    this.changed();
  }

  // Draw parts of these sources grey and striped.
  setOld(sources) {
    for (const part of this.parts) {
      const old = sources.has(part.source) ? 1 : 0;
      if (part.old.value !== old) { part.old.value = old; this.changed(); }
    }
  }

  look(view) {
    const { eye_m, target_m } = this.#start;
    const target = new THREE.Vector3(...target_m), away = new THREE.Vector3(...eye_m).distanceTo(target);
    const towards = { front: [0, -1, 0.0001], side: [1, 0, 0.0001], top: [0, -0.0001, 1] }[view];
    this.controls.target.copy(target);
    if (towards) this.camera.position.set(...towards).multiplyScalar(away).add(target);
    else this.camera.position.set(...eye_m);
    this.controls.update();
    this.changed();
  }

  // Position of a point [m] on the canvas [CSS pixels]; z > 1: behind the camera.
  project(point_m) {
    const v = new THREE.Vector3(...point_m).project(this.camera);
    return { x: (v.x + 1) / 2 * this.canvas.clientWidth, y: (1 - v.y) / 2 * this.canvas.clientHeight, z: v.z };
  }

  // Point [m] under a pixel, in the plane through `point_m` parallel to the screen.
  unproject(x, y, point_m) {
    const at = new THREE.Vector2(x / this.canvas.clientWidth * 2 - 1, 1 - y / this.canvas.clientHeight * 2);
    const ray = new THREE.Raycaster();
    ray.setFromCamera(at, this.camera);
    const plane = new THREE.Plane().setFromNormalAndCoplanarPoint(this.camera.getWorldDirection(new THREE.Vector3()), new THREE.Vector3(...point_m));
    return ray.ray.intersectPlane(plane, new THREE.Vector3())?.toArray() ?? null;
  }

  // Canvas with the drawn picture, readable until the next one.
  drawNow() {
    this.renderer.render(this.scene, this.camera);
    return this.canvas;
  }

  #resize() {
    const { clientWidth: width, clientHeight: height } = this.canvas.parentElement;
    if (!width || !height) return;
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / height;
    // A narrow view has the horizontal field of a square one.
    this.camera.fov = width < height ? 2 * Math.atan(Math.tan(FIELD_OF_VIEW_DEG * Math.PI / 360) * height / width) * 180 / Math.PI : FIELD_OF_VIEW_DEG;
    this.camera.updateProjectionMatrix();
    this.changed();
  }

  #draw() {
    if (!this.#changed) return;
    this.#changed = false;
    const begin = performance.now();
    this.renderer.render(this.scene, this.camera);
    this.#slow = performance.now() - begin > SLOW_PICTURE_MS ? this.#slow + 1 : 0;
    if (this.#slow > 10 && this.#pixelRatio > 1) {
      this.renderer.setPixelRatio(this.#pixelRatio = 1);
      this.#resize();
    }
    this.drawn();
    this.dispatchEvent(new Event('drawn'));
  }

  drawn() {
    for (const done of this.#afterDrawing.splice(0)) done();
  }

  #pick(event) {
    const box = this.canvas.getBoundingClientRect();
    const at = new THREE.Vector2((event.clientX - box.left) / box.width * 2 - 1, 1 - (event.clientY - box.top) / box.height * 2);
    const ray = new THREE.Raycaster();
    ray.setFromCamera(at, this.camera);
    const candidates = this.parts.filter((part) => part.selectable && part.object.visible).map((part) => part.object);
    this.dispatchEvent(new CustomEvent('picked', { detail: ray.intersectObjects(candidates, false)[0]?.object.userData.part ?? null }));
  }

  #key(event) {
    const { key, shiftKey } = event;
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[key];
    const eye = this.camera.position.clone().sub(this.controls.target);
    if (arrows && shiftKey) {
      const step = MOVE_SHARE * eye.length();
      const right = new THREE.Vector3().setFromMatrixColumn(this.camera.matrix, 0).multiplyScalar(arrows[0] * step);
      const up = new THREE.Vector3().setFromMatrixColumn(this.camera.matrix, 1).multiplyScalar(arrows[1] * step);
      this.controls.target.add(right).add(up);
      this.camera.position.add(right).add(up);
    } else if (arrows) {
      eye.applyAxisAngle(this.camera.up, -arrows[0] * TURN_RAD);
      const polar = eye.angleTo(this.camera.up), wanted = Math.min(Math.PI - 0.05, Math.max(0.05, polar - arrows[1] * TURN_RAD));
      const axis = new THREE.Vector3().crossVectors(this.camera.up, eye).normalize();
      this.camera.position.copy(this.controls.target).add(eye.applyAxisAngle(axis, wanted - polar));
    } else if (key === '+' || key === '=' || key === '-') {
      this.camera.position.copy(this.controls.target).add(eye.multiplyScalar(key === '-' ? 1 / ZOOM_SHARE : ZOOM_SHARE));
    } else if (key === '0' || key === 'Home') {
      this.look('start');
    } else return;
    event.preventDefault();
    this.controls.update();
    this.changed();
  }
}
