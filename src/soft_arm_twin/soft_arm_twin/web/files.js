// Saved files: picture, pose, video.

export function save(blob, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const stamp = () => new Date().toISOString().slice(0, 19).replaceAll(':', '-');

// `pose()` returns the contents of the JSON file; `say(text, bad)` shows a message.
export function offerFiles({ stage, title, pose, say }) {
  const name = (suffix) => `${title().replace(/[^\w.-]+/g, '_')}_${stamp()}.${suffix}`;
  document.getElementById('save-picture').addEventListener('click', () => {
    stage.drawNow().toBlob((blob) => save(blob, name('png')), 'image/png');
  });
  document.getElementById('save-pose').addEventListener('click', () => {
    save(new Blob([`${JSON.stringify(pose(), null, 1)}\n`], { type: 'application/json' }), name('json'));
  });
  const button = document.getElementById('save-video');
  let recorder = null;
  button.addEventListener('click', () => {
    if (recorder) { recorder.stop(); return; }
    if (!window.MediaRecorder) { say('This browser cannot record a video.', true); return; }
    const pieces = [];
    recorder = new MediaRecorder(stage.canvas.captureStream(30), { mimeType: 'video/webm', videoBitsPerSecond: 8e6 });
    recorder.addEventListener('dataavailable', ({ data }) => pieces.push(data));
    recorder.addEventListener('stop', () => {
      recorder = null;
      button.textContent = 'Video';
      button.setAttribute('aria-pressed', 'false');
      save(new Blob(pieces, { type: 'video/webm' }), name('webm'));
    });
    recorder.start(1000);
    button.textContent = 'End video';
    button.setAttribute('aria-pressed', 'true');
    stage.changed();
  });
}
