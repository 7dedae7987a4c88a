// Arrays of the scene and normals of surfaces; independent of three.js.

const CREASE_COSINE = Math.cos(40 * Math.PI / 180);  // edges sharper than this stay sharp

export function fromBase64(text, Type) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return new Type(bytes.buffer);
}

// Unit normals of vertices, averaged over their triangles by area. `same` maps each vertex to the
// first one at the same position, so that seams are invisible.
export function smoothNormals(positions, triangles, same, normals) {
  normals.fill(0);
  for (let t = 0; t < triangles.length; t += 3) {
    const a = 3 * same[triangles[t]], b = 3 * same[triangles[t + 1]], c = 3 * same[triangles[t + 2]];
    const ax = positions[a], ay = positions[a + 1], az = positions[a + 2];
    const ux = positions[b] - ax, uy = positions[b + 1] - ay, uz = positions[b + 2] - az;
    const vx = positions[c] - ax, vy = positions[c + 1] - ay, vz = positions[c + 2] - az;
    const nx = uy * vz - uz * vy, ny = uz * vx - ux * vz, nz = ux * vy - uy * vx;
    normals[a] += nx; normals[a + 1] += ny; normals[a + 2] += nz;
    normals[b] += nx; normals[b + 1] += ny; normals[b + 2] += nz;
    normals[c] += nx; normals[c + 1] += ny; normals[c + 2] += nz;
  }
  for (let i = 0; i < same.length; i++) {
    const from = 3 * same[i], to = 3 * i;
    const length = same[i] === i ? Math.hypot(normals[from], normals[from + 1], normals[from + 2]) || 1 : 1;
    normals[to] = normals[from] / length;
    normals[to + 1] = normals[from + 1] / length;
    normals[to + 2] = normals[from + 2] / length;
  }
}

// For each vertex the first one that has the same key.
export function firstOfSame(n, key) {
  const first = new Map(), same = new Uint32Array(n);
  for (let i = 0; i < n; i++) {
    const k = key(i);
    if (!first.has(k)) first.set(k, i);
    same[i] = first.get(k);
  }
  return same;
}

// Corners of triangles with one normal each: smooth across blunt edges, sharp across others.
export function creased(positions, triangles) {
  const n = triangles.length;
  const corners = new Float32Array(3 * n), faces = new Float32Array(3 * n), normals = new Float32Array(3 * n);
  for (let i = 0; i < n; i++) for (let k = 0; k < 3; k++) corners[3 * i + k] = positions[3 * triangles[i] + k];
  const each = Uint32Array.from({ length: n }, (_, i) => i);
  smoothNormals(corners, each, each, faces);
  const same = firstOfSame(n, (i) => `${corners[3 * i].toFixed(6)},${corners[3 * i + 1].toFixed(6)},${corners[3 * i + 2].toFixed(6)}`);
  const around = new Map();
  for (let i = 0; i < n; i++) {
    if (!around.has(same[i])) around.set(same[i], []);
    around.get(same[i]).push(i);
  }
  for (let i = 0; i < n; i++) {
    let x = 0, y = 0, z = 0;
    for (const j of around.get(same[i])) {
      const dot = faces[3 * i] * faces[3 * j] + faces[3 * i + 1] * faces[3 * j + 1] + faces[3 * i + 2] * faces[3 * j + 2];
      if (dot < CREASE_COSINE) continue;
      x += faces[3 * j]; y += faces[3 * j + 1]; z += faces[3 * j + 2];
    }
    const length = Math.hypot(x, y, z) || 1;
    normals.set([x / length, y / length, z / length], 3 * i);
  }
  return { corners, normals };
}

// Vertices in the world: v = (1 - s) A_a l_a + s A_b l_b.
export function blend(part, frames, out) {
  const { frameA, frameB, shareB, localA, localB } = part;
  for (let i = 0, v = 0; v < out.length; i++, v += 3) {
    const a = 12 * frameA[i], s = shareB[i], r = 1 - s;
    const x = localA[v], y = localA[v + 1], z = localA[v + 2];
    let px = frames[a] * x + frames[a + 1] * y + frames[a + 2] * z + frames[a + 3];
    let py = frames[a + 4] * x + frames[a + 5] * y + frames[a + 6] * z + frames[a + 7];
    let pz = frames[a + 8] * x + frames[a + 9] * y + frames[a + 10] * z + frames[a + 11];
    if (s > 0) {
      const b = 12 * frameB[i], u = localB[v], w = localB[v + 1], q = localB[v + 2];
      px = r * px + s * (frames[b] * u + frames[b + 1] * w + frames[b + 2] * q + frames[b + 3]);
      py = r * py + s * (frames[b + 4] * u + frames[b + 5] * w + frames[b + 6] * q + frames[b + 7]);
      pz = r * pz + s * (frames[b + 8] * u + frames[b + 9] * w + frames[b + 10] * q + frames[b + 11]);
    }
    out[v] = px; out[v + 1] = py; out[v + 2] = pz;
  }
}

export function isHidden(frames, index) {
  for (let k = 12 * index; k < 12 * index + 12; k++) if (frames[k] !== 0) return false;
  return true;
}

