// Create elements: el('p', {className: 'note'}, 'text', child).

export function el(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.includes('-') || name === 'role' || name === 'for') made.setAttribute(name, value);
    else made[name] = value;
  }
  made.append(...children);
  return made;
}

// Change a text only if it differs, to spare screen readers and layout.
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// Format a number with about four digits.
export function number(value, digits = 4) {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  if (value === 0) return '0';
  const decimals = Math.min(6, Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(value)))));
  return fixed(value, decimals);
}

// Like toFixed, but never '-0'.
export const fixed = (value, decimals) => value.toFixed(decimals).replace(/^-(0\.?0*)$/, '$1');

// Capitalize a heading, but not a name from a file such as `two_module_arm`.
export const capital = (text) => (/[_\d]/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1));

let ids = 0;
export const newId = () => `e${++ids}`;
