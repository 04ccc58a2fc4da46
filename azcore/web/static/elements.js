// How the scripts of all pages find and make elements.

export const $ = id => document.getElementById(id)

// properties: of the new element, by their names in JavaScript
export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties)
  made.append(...children)
  return made
}

// An element of a drawing, as a child of the parent if there is one.
export function shape(parent, name, attributes, text = '') {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name)
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value)
  made.textContent = text
  parent?.append(made)
  return made
}

// pairs: of each option's value and text
export function options(select, pairs, chosen) {
  select.replaceChildren(...pairs.map(([value, text]) => new Option(text, value, false, value === chosen)))
}
