// What the pages of a notebook share: asking the server, its stream of events, and what it sends as nodes.

export const $ = id => document.getElementById(id)
export const client = crypto.randomUUID(), nonce = $("style").nonce

export async function post(path, body = {}) {
  const r = await fetch(path, {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body)})
  const text = await r.text()
  let reply = {error: text}
  try { reply = JSON.parse(text) } catch { /* an error of the guard is plain text */ }
  if (!r.ok) throw Object.assign(new Error(reply.error), {status: r.status})
  return reply
}

// connect calls happens[kind](event) for all that happens, and failed when the server is lost; closed says that it has
// ended.
export function connect(happens, failed) {
  const stream = new EventSource("events")
  stream.onmessage = e => {
    const now = JSON.parse(e.data)
    happens[now.kind]?.(now)
  }
  stream.onerror = () => failed(stream.readyState === EventSource.CLOSED)
}

const tags = new Set("A B BLOCKQUOTE BR CODE DD DEL DETAILS DIV DL DT EM H1 H2 H3 H4 H5 H6 HR I IMG LI OL P PRE S SMALL SPAN STRONG SUB SUMMARY SUP TABLE TBODY TD TFOOT TH THEAD TR U UL".split(" "))

// clean makes nodes of HTML, of tags and attributes that can only show something.
export function clean(html) {
  const copy = from => {
    const list = []
    for (const n of from.childNodes) {
      if (n.nodeType === Node.TEXT_NODE) list.push(n.data)
      if (n.nodeType !== Node.ELEMENT_NODE || !tags.has(n.tagName)) continue
      const e = document.createElement(n.tagName)
      for (const name of ["class", "title", "alt", "colspan", "rowspan"]) if (n.hasAttribute(name)) e.setAttribute(name, n.getAttribute(name))
      const src = n.getAttribute("src") ?? "", href = n.getAttribute("href") ?? ""
      if (src.startsWith("data:image/")) e.src = src
      if (/^(https?:|#)/.test(href)) Object.assign(e, {href, target: "_blank", rel: "noopener noreferrer"})
      e.append(...copy(n))
      list.push(e)
    }
    return list
  }
  return copy(new DOMParser().parseFromString(html, "text/html").body)
}

export function make(tag, name, ...children) {
  const e = document.createElement(tag)
  e.className = name
  e.append(...children)
  return e
}
