// Parts of the scene as objects of three.js that follow the frames.

import * as THREE from './vendor/three.module.min.js';
import { blend, creased, firstOfSame, fromBase64, isHidden, smoothNormals } from './geometry.js';

const POINT_SIZE_PX = 3.5;

// Stripes over parts with stale data, in a desaturated colour.
function stripes(material, old) {
  material.onBeforeCompile = (shader) => {
    shader.uniforms.old = old;
    shader.fragmentShader = shader.fragmentShader
      .replace('#include <common>', '#include <common>\nuniform float old;')
      .replace('#include <color_fragment>', `#include <color_fragment>
        float grey = 0.35 + 0.35 * step(7.0, mod(gl_FragCoord.x + gl_FragCoord.y, 14.0));
        diffuseColor.rgb = mix(diffuseColor.rgb, vec3(grey), old);`);
  };
}

function roundSprite() {
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = 32;
  const pen = canvas.getContext('2d');
  pen.fillStyle = '#fff';
  pen.arc(16, 16, 15, 0, 2 * Math.PI);
  pen.fill();
  return new THREE.CanvasTexture(canvas);
}
const SPRITE = roundSprite();

function material(part, old) {
  const color = new THREE.Color().setRGB(...part.colour_rgb, THREE.SRGBColorSpace);
  const seeThrough = part.opacity < 1;
  const common = { color, transparent: seeThrough, opacity: part.opacity, depthWrite: !seeThrough };
  let made;
  if (part.kind === 'surface') made = new THREE.MeshLambertMaterial({ ...common, side: THREE.DoubleSide });
  else if (part.kind === 'points') made = new THREE.PointsMaterial({ ...common, map: SPRITE, alphaTest: 0.5, sizeAttenuation: false, size: POINT_SIZE_PX * Math.min(devicePixelRatio, 2) });
  else made = new THREE.LineBasicMaterial(common);
  stripes(made, old);
  return made;
}

export class DrawnPart {
  constructor(part) {
    this.name = part.name;
    this.group = part.group;
    this.source = part.source;
    this.selectable = part.selectable;
    this.frameA = fromBase64(part.frame_a, Uint16Array);
    this.localA = fromBase64(part.local_a_m, Float32Array);
    // The second frame is omitted if each vertex follows one frame.
    this.frameB = part.frame_b ? fromBase64(part.frame_b, Uint16Array) : this.frameA;
    this.shareB = part.share_b ? fromBase64(part.share_b, Float32Array) : new Float32Array(this.frameA.length);
    this.localB = part.local_b_m ? fromBase64(part.local_b_m, Float32Array) : this.localA;
    this.triangles = fromBase64(part.triangles, Uint32Array);
    this.old = { value: 0 };
    this.shown = true;  // by the user
    const first = this.frameA[0];
    this.rigid = !part.share_b && this.frameA.every((frame) => frame === first);
    this.ownFrames = [...new Set([...this.frameA, ...this.frameB])];
    const geometry = this.#geometry(part.kind);
    const Kind = { surface: THREE.Mesh, points: THREE.Points, line: THREE.Line }[part.kind];
    this.object = new Kind(geometry, material(part, this.old));
    this.object.matrixAutoUpdate = false;
    this.object.frustumCulled = this.rigid;
    this.object.renderOrder = part.opacity < 1 ? 1 : 0;
    this.object.userData.part = this;
  }

  #geometry(kind) {
    const geometry = new THREE.BufferGeometry();
    if (this.rigid && kind === 'surface') {
      const { corners, normals } = creased(this.localA, this.triangles);
      geometry.setAttribute('position', new THREE.BufferAttribute(corners, 3));
      geometry.setAttribute('normal', new THREE.BufferAttribute(normals, 3));
      return geometry;
    }
    const positions = new THREE.BufferAttribute(this.localA.slice(), 3);
    geometry.setAttribute('position', positions);
    if (this.rigid) return geometry;
    positions.setUsage(THREE.DynamicDrawUsage);
    if (kind === 'surface') {
      geometry.setIndex(new THREE.BufferAttribute(this.triangles, 1));
      geometry.setAttribute('normal', new THREE.BufferAttribute(new Float32Array(this.localA.length), 3).setUsage(THREE.DynamicDrawUsage));
      this.same = firstOfSame(this.frameA.length, (i) => {
        const l = this.localA.subarray(3 * i, 3 * i + 3);
        return `${this.frameA[i]},${this.frameB[i]},${this.shareB[i].toFixed(4)},${l[0].toFixed(6)},${l[1].toFixed(6)},${l[2].toFixed(6)}`;
      });
    }
    return geometry;
  }

  move(frames) {
    const hidden = this.ownFrames.some((frame) => isHidden(frames, frame));
    this.object.visible = this.shown && !hidden;
    if (hidden) return;
    if (this.rigid) {
      const f = frames.subarray(12 * this.frameA[0], 12 * this.frameA[0] + 12);
      this.object.matrix.set(...f, 0, 0, 0, 1);
      this.object.matrixWorldNeedsUpdate = true;
      return;
    }
    const { position, normal } = this.object.geometry.attributes;
    blend(this, frames, position.array);
    position.needsUpdate = true;
    if (normal) {
      smoothNormals(position.array, this.triangles, this.same, normal.array);
      normal.needsUpdate = true;
    }
    this.object.geometry.boundingSphere = null;  // recomputed at the next pick
    this.object.geometry.boundingBox = null;
  }

  dispose() {
    this.object.geometry.dispose();
    this.object.material.dispose();
  }
}

// Points of a depth camera in the world.
export class DrawnCloud {
  constructor() {
    this.old = { value: 0 };
    const points = new THREE.PointsMaterial({ vertexColors: true, map: SPRITE, alphaTest: 0.5, sizeAttenuation: false, size: POINT_SIZE_PX });
    stripes(points, this.old);
    this.object = new THREE.Points(new THREE.BufferGeometry(), points);
    this.object.frustumCulled = false;
  }

  show({ points_m, colours_rgb }) {
    this.object.geometry.dispose();
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute('position', new THREE.BufferAttribute(points_m, 3));
    geometry.setAttribute('color', new THREE.BufferAttribute(new Uint8Array(colours_rgb), 3, true));
    this.object.geometry = geometry;
  }
}
