// A talk: the audience's page shows one cell, as large as it fits; the speaker's shows it small, with the next one, the
// notes and the clock. The server says which cell it is, so all screens move together.
import {editor, put} from "./editor.js"
import {$, clean, client, connect, make, nonce, post} from "./shared.js"

const speaks = document.body.classList.contains("speaker")
let book = {cells: []}, revision = 0, asks = ""

const slides = () => book.cells.filter(c => c.role === "slide")
const byID = id => book.cells.find(c => c.id === id)
const shown = () => byID(book.slide)

// notes are those behind a cell, up to the next slide. Those before the first slide are the first's.
function notes(c) {
  let of = null, first = slides()[0], list = []
  for (const each of book.cells) {
    if (each.role === "slide") of = each
    if (each.role === "notes" && (of ?? first) === c) list.push(...clean(each.prose))
  }
  return list
}

function complain(e) { $("lost").textContent = e.status ? e.message : "The connection to mcs present is lost." }

// ---- a slide

class Slide {
  constructor(box, cell, live) {
    Object.assign(this, {box, id: cell.id, kind: cell.kind})
    this.node = make("div", "slide " + cell.kind)
    if (cell.head) this.node.append(make("div", "title", cell.head))
    this.outs = make("div", "outputs")
    if (cell.kind === "code") {
      const text = make("div", "editor")
      this.node.append(text, this.outs)
      this.view = editor({
        parent: text, text: cell.source, nonce, prose: false, label: "Go", changed: () => (edited(this), fit(box)), focused() {},
        complete: (before, after) => post("complete", {before, after}).catch(() => ({typed: "", list: []})),
        keys: [{key: "Shift-Enter", run: () => (run(), true)}, {key: "Ctrl-Enter", run: () => (run(), true)}, {key: "Escape", run: () => (this.view.contentDOM.blur(), true)}],
      })
      this.view.contentDOM.tabIndex = -1 // keys are the talk's until e
      if (!live) this.view.contentDOM.inert = true
    } else this.node.append(make("div", "prose", ...clean(cell.prose)))
    this.show(cell)
    box.replaceChildren(this.node)
  }
  show(cell) {
    this.node.classList.toggle("running", cell.state === "running")
    if (this.view) put(this.view, cell.source)
    const list = cell.outputs ?? []
    while (this.outs.children.length > list.length) this.outs.lastChild.remove()
    list.forEach((html, at) => {
      if (!this.outs.children[at]) this.outs.append(make("div", "output"))
      const into = this.outs.children[at], now = clean(html), was = into.firstElementChild
      if (into.html === html) return
      into.html = html
      if (now.length === 1 && was?.tagName === "IMG" && now[0].tagName === "IMG") was.src = now[0].src // without a flicker
      else into.replaceChildren(...now)
      for (const i of into.querySelectorAll("img")) i.onload = () => fit(this.box)
    })
  }
}

const stages = {}

// stage shows a cell in a box, or nothing.
function stage(name, cell, live) {
  const box = $(name), old = stages[name]
  if (cell && old?.id === cell.id && old.kind === cell.kind) old.show(cell)
  else {
    old?.view?.destroy()
    stages[name] = cell ? new Slide(box, cell, live) : null
    if (!cell) box.replaceChildren(make("div", "dim", name === "next" ? "The end" : ""))
    box.scrollTop = 0
  }
  fit(box)
}

const waiting = new Set()

// fit finds the largest type in which a box shows its slide without a scroll bar. What is longer in the least type is
// scrolled.
function fit(box) {
  if (waiting.has(box)) return
  waiting.add(box)
  requestAnimationFrame(() => {
    waiting.delete(box)
    const least = speaks ? 11 : Math.max(12, Math.min(innerWidth, innerHeight) / 45), most = Math.max(least, Math.min(box.clientWidth / 22, box.clientHeight / (speaks ? 9 : 11)))
    const fits = size => {
      box.style.setProperty("--size", size + "px")
      return box.scrollHeight <= box.clientHeight && ![...box.querySelectorAll(".cm-scroller, pre, table")].some(e => e.scrollWidth > e.clientWidth + 1)
    }
    if (fits(most)) return
    let low = least, high = most
    while (high - low > .5) {
      const size = (low + high) / 2
      if (fits(size)) low = size
      else high = size
    }
    fits(low)
  })
}

// ---- all that is seen

function draw() {
  const list = slides(), cell = shown(), at = list.indexOf(cell)
  document.title = book.name ?? "mcs"
  $("replay").hidden = !book.replay
  $("replay").textContent = book.replay
  document.body.classList.toggle("blank", !!book.blank)
  stage("now", cell, true)
  if (speaks) {
    stage("next", list[at + 1], false)
    $("notes").replaceChildren(...notes(cell))
  }
  $("place").textContent = list.length ? `${at + 1}/${list.length}` : ""
  doing()
  ask()
}

function doing() {
  const running = book.cells.find(c => c.state === "running"), at = slides().indexOf(running)
  $("doing").textContent = (book.blank && speaks ? "blank · " : "") + (running ? running === shown() ? "runs" : `the cell of slide ${at + 1} runs` : shown()?.took ?? "")
}

function ask() {
  const old = document.querySelector("form.ask")
  if (old?.id === "ask-" + asks) return
  old?.remove()
  if (!asks || asks !== book.slide) return
  const input = make("input", ""), form = make("form", "ask", input)
  form.id = "ask-" + asks
  input.placeholder = "The cell waits for a line"
  form.onsubmit = e => {
    e.preventDefault()
    post("input", {line: input.value}).catch(complain)
  }
  stages.now.node.append(form)
  input.focus()
}

const two = n => String(Math.floor(n)).padStart(2, "0")

function tick() {
  const now = new Date(), gone = Math.max(0, now - book.began) / 1000 || 0
  $("clock").textContent = `${two(now.getHours())}:${two(now.getMinutes())}`
  $("gone").textContent = `${gone >= 3600 ? Math.floor(gone / 3600) + ":" : ""}${two(gone / 60 % 60)}:${two(gone % 60)}`
}

// change changes what is known of a cell, and shows it if it is on the page.
function change(id, to) {
  const c = byID(id)
  if (!c) return
  to(c)
  if (stages.now?.id === id) { stages.now.show(c); fit($("now")) }
  if (stages.next?.id === id) { stages.next.show(c); fit($("next")) }
  doing()
}

const escaped = text => new Option(text).innerHTML

connect({
  book(e) { book = e.book; revision = e.revision; asks = book.asks; $("lost").textContent = ""; draw() },
  slide(e) { book.slide = e.cell; book.blank = e.state === "blank"; draw() },
  edited(e) {
    revision = e.revision
    const old = new Map(book.cells.map(c => [c.id, c]))
    book.cells = e.book.cells.map(c => Object.assign(c, {state: old.get(c.id)?.state, took: old.get(c.id)?.took, outputs: old.get(c.id)?.outputs}))
    if (e.client !== client) draw()
  },
  state(e) { change(e.cell, c => Object.assign(c, {state: e.state ?? "", took: e.took ?? ""})) },
  clear(e) { change(e.cell, c => { c.outputs = [] }) },
  output(e) { change(e.cell, c => { (c.outputs ??= [])[e.at] = e.html ?? "" }) },
  append(e) { change(e.cell, c => { c.outputs[e.at] = c.outputs[e.at].replace(/<\/pre>\s*$/, () => escaped(e.text) + "</pre>") }) },
  asks(e) { asks = e.cell ?? ""; ask() },
}, closed => { $("lost").textContent = closed ? "This mcs present has ended." : "The connection to mcs present is lost; it comes back by itself." })

// ---- keys

let timer = 0, dirty = false

function edited(slide) {
  byID(slide.id).source = slide.view.state.doc.toString()
  dirty = true
  clearTimeout(timer)
  timer = setTimeout(() => sync().catch(complain), 400)
}

async function sync() {
  if (!dirty) return
  dirty = false
  revision = (await post("edit", {client, revision, cells: book.cells.map(({id, kind, source}) => ({id, kind, source}))})).revision
}

// Keys are answered in the order in which they were pressed.
let last = Promise.resolve()
const inOrder = act => { last = last.then(act).catch(complain) }
const run = () => inOrder(() => sync().then(() => post("run", {slide: true})))
const show = move => inOrder(() => post("show", move))
const scroll = by => $("now").scrollBy({top: by * $("now").clientHeight / 3})

let typed = "" // the number of a slide

const keys = {
  ArrowRight: () => show({by: 1}), " ": () => show({by: 1}), PageDown: () => show({by: 1}), ArrowLeft: () => show({by: -1}), PageUp: () => show({by: -1}),
  Home: () => show({to: 1}), End: () => show({to: -1}), ArrowUp: () => scroll(-1), ArrowDown: () => scroll(1), Enter: () => run(), i: () => inOrder(() => post("interrupt")),
  ".": () => show({blank: true}), b: () => show({blank: true}), e: () => stages.now?.view?.focus(), f: () => document.fullscreenElement ? document.exitFullscreen() : document.documentElement.requestFullscreen(),
  s: () => window.open("speaker", "speaker"), h: () => $("help").open ? $("help").close() : $("help").show(), Escape: () => $("help").close(),
  l() { document.documentElement.style.colorScheme = getComputedStyle(document.body).backgroundColor === "rgb(255, 255, 255)" ? "dark" : "light" },
}

document.addEventListener("keydown", e => {
  if (e.defaultPrevented || e.ctrlKey || e.altKey || e.metaKey || e.target.tagName === "INPUT" || e.target.closest?.(".cm-editor")) return
  if (/^\d$/.test(e.key)) return void (typed += e.key)
  const number = Number(typed)
  typed = ""
  const act = keys[e.key.length === 1 ? e.key.toLowerCase() : e.key]
  if (!act) return
  e.preventDefault()
  if (e.key === "Enter" && number) show({to: number})
  else act()
})

$("gone").onclick = () => { book.began = Date.now(); tick() }
addEventListener("resize", () => { for (const name of ["now", "next"]) fit($(name)) })
setInterval(tick, 1000)
