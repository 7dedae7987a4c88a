// Make elements: el('p', {className: 'note'}, 'text', child).

export function el(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.includes('-') || name === 'role' || name === 'for') made.setAttribute(name, value);
    else made[name] = value;
  }
  made.append(...children);
  return made;
}

// Change a text only if it differs: screen readers and layout are left in peace.
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// A number for people, with about four digits.
export function number(value, digits = 4) {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  if (value === 0) return '0';
  const decimals = Math.min(6, Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(value)))));
  return fixed(value, decimals);
}

// Like toFixed, but never '-0'.
export const fixed = (value, decimals) => value.toFixed(decimals).replace(/^-(0\.?0*)$/, '$1');

// A heading begins with a capital; a name from a file, as `two_module_arm`, stays as it is.
export const capital = (text) => (/[_\d]/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1));

let ids = 0;
export const newId = () => `e${++ids}`;
