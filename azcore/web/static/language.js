// The page in another language. Sentences are written in English where they are made, here and on the server;
// texts/LANGUAGE.json (texts.py) has each with its translation. In a sentence {} stands for what varies and is translated
// by itself, {#} for a number; a translation has {} for each, or {1} for the first, {2} and so on in another order.

import { element } from './elements.js'

const LANGUAGES = { en: 'English', de: 'Deutsch', ja: '日本語', zh: '中文' }
const KEPT = 'azcore-language'  // of this browser's storage
const ATTRIBUTES = ['title', 'aria-label', 'aria-valuetext', 'aria-description', 'label']
const UNTOUCHED = 'script, style, textarea, code, [translate=no]'

const stored = () => { try { return localStorage.getItem(KEPT) } catch { return null } }

const keep = name => { try { localStorage.setItem(KEPT, name) } catch { /* a browser that stores nothing */ } }
const isKnown = name => Object.hasOwn(LANGUAGES, name)

function chosen() {
  const asked = new URLSearchParams(location.search).get('language')
  if (isKnown(asked)) keep(asked)  // links of the page do not repeat it
  return [asked, stored(), ...navigator.languages.map(name => name.slice(0, 2))].find(isKnown) ?? 'en'
}

// Translates the texts of one language; what has no translation stays as it is.
class Translator {
  constructor(table) {
    this.whole = new Map(Object.entries(table))
    this.known = new Map()
    const fixed = english => english.replaceAll(/\{#?\}/g, '')  // the longest come first
    this.patterns = Object.entries(table).filter(([english]) => fixed(english) !== english)
      .sort(([one], [other]) => fixed(other).length - fixed(one).length)
      .map(([english, text]) => [new RegExp(`^${escape(english).replaceAll('{#}', '([\\d.,]+)').replaceAll('{}', '(.+?)')}$`, 'i'), text])
  }

  translate(text) {
    if (!this.known.has(text)) {
      if (this.known.size > 5000) this.known.clear()
      const [, before, words, after] = /^(\s*)(.*?)(\s*)$/s.exec(text)
      this.known.set(text, before + this.#sentence(words) + after)
    }
    return this.known.get(text)
  }

  // Sentences are also made with a capital letter, and of parts with a dot or a comma between them.
  #sentence(words) {
    const first = words.charAt(0)
    const like = text => first === first.toLowerCase() ? text : text.charAt(0).toUpperCase() + text.slice(1)
    if (this.whole.has(words)) return this.whole.get(words)
    const found = this.whole.get(first.toLowerCase() + words.slice(1))
    if (found !== undefined) return like(found)
    const ofParts = mark => words.split(mark).map(part => this.translate(part)).join(mark)
    if (words.includes(' · ')) return ofParts(' · ')
    for (const [pattern, text] of this.patterns) {
      const parts = pattern.exec(words)?.slice(1)
      if (!parts) continue
      let next = 0
      return like(text.replace(/\{(\d*)\}/g, (_, number) => this.translate(parts[number ? number - 1 : next++])))
    }
    return words.split(', ').some(part => this.whole.has(part)) ? ofParts(', ') : words
  }
}

const escape = text => text.replace(/[\\^$.*+?()[\]|/]/g, '\\$&')

function translateAll(root, translator) {
  const put = node => {
    const text = translator.translate(node.data)
    if (text !== node.data) node.data = text
  }
  if (root.nodeType === Node.TEXT_NODE) return root.parentElement?.closest(UNTOUCHED) || put(root)
  if (root.nodeType !== Node.ELEMENT_NODE || root.closest(UNTOUCHED)) return
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT,
    node => node.nodeType === Node.ELEMENT_NODE && node.matches(UNTOUCHED) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT)
  for (let node = root; node; node = walker.nextNode()) {
    if (node.nodeType === Node.TEXT_NODE) { put(node); continue }
    for (const name of ATTRIBUTES) {
      const english = node.getAttribute(name)
      const text = english && translator.translate(english)
      if (text && text !== english) node.setAttribute(name, text)
    }
  }
}

async function translatePage(language) {
  document.documentElement.lang = language
  const translator = new Translator(await (await fetch(`/texts/${language}.json`)).json())
  const observer = new MutationObserver(changes => {
    for (const change of changes) {
      if (change.type === 'childList') for (const node of change.addedNodes) translateAll(node, translator)
      else translateAll(change.target, translator)
    }
    observer.takeRecords()  // of the translations themselves
  })
  translateAll(document.body, translator)
  observer.observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true, attributeFilter: ATTRIBUTES })
}

function offerLanguages(language) {
  const select = element('select', { id: 'language', ariaLabel: 'Language' })
  for (const [value, name] of Object.entries(LANGUAGES)) {
    const option = new Option(name, value, false, value === language)
    option.setAttribute('translate', 'no')
    select.append(option)
  }
  select.addEventListener('change', () => {
    keep(select.value)
    const address = new URL(location.href)
    address.searchParams.delete('language')
    history.replaceState(history.state, '', address)
    location.reload()
  })
  document.body.append(element('footer', {}, select))
}

const language = chosen()
offerLanguages(language)
if (language !== 'en') await translatePage(language)
