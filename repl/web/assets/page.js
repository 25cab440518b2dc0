// The page of a notebook. The server has the notebook; the page shows it, posts what a person does, and reads what
// happens from one stream of events.
import {editor, put} from "./editor.js"
import {$, clean, client, connect, make, nonce, post} from "./shared.js"

const newID = () => crypto.randomUUID().slice(0, 8)

// cells are those of the notebook in order; one of them is selected.
let cells = [], selected = null
// revision is the server's that the page has seen, dirty says that the page has changes that the server has not.
let revision = 0, dirty = false, syncing = null, timer = 0

// ---- talking to the server

function notice(text, choices = {}) {
  $("notice").hidden = !text
  $("notice").replaceChildren(text, ...Object.entries(choices).map(([name, act]) => {
    const b = document.createElement("button")
    b.textContent = name
    b.onclick = () => { notice(""); act() }
    return b
  }))
}

const lost = "The connection to mcs web is lost. Cells run on, and what you type stays here; the page connects again by itself."

function complain(e) {
  if (e.status === 409 && e.message.includes("window")) {
    notice(e.message + ".", {
      "Show its text": () => { dirty = false; revision = latest.revision; apply(latest.book.cells, true) },
      "Keep mine": () => { revision = latest.revision; sync().catch(complain) },
    })
  } else if (e.status) notice(e.message, {OK() {}})
  else notice(lost, {"Download the text": download})
}

const texts = () => cells.map(c => ({id: c.id, kind: c.kind, source: c.text()}))

function download() {
  const a = document.createElement("a")
  a.href = URL.createObjectURL(new Blob(texts().map(c => c.kind === "code" ? `// %%\n${c.source}\n\n` : `// %% [markdown]\n${c.source.replace(/^/gm, "// ")}\n\n`)))
  a.download = $("name").textContent.replace(/\.[^.]*$/, "") + "-from-page.mcs"
  a.click()
}

function changed() {
  dirty = true
  saved(false)
  clearTimeout(timer)
  timer = setTimeout(() => sync().catch(complain), 400)
}

// sync gives the server the page's text, if it has another.
async function sync() {
  while (syncing) await syncing.catch(() => {})
  if (!dirty) return
  dirty = false
  syncing = post("edit", {client, revision, cells: texts()})
  try { revision = (await syncing).revision } catch (e) { dirty = true; throw e } finally { syncing = null }
}

const saved = yes => $("saved").textContent = yes ? "saved" : "not saved"

async function save(over = false) {
  try {
    await sync()
    await post("save", {over})
  } catch (e) {
    if (e.status === 409 && !e.message.includes("window")) notice(e.message + ".", {"Replace it": () => save(true), "Leave it": () => {}})
    else complain(e)
  }
}

async function run(list) {
  try {
    for (const c of list) if (c.kind !== "code") c.render()
    await sync()
    await post("run", {cells: list.filter(c => c.kind === "code").map(c => c.id)})
  } catch (e) { complain(e) }
}

// ---- cells

class Cell {
  constructor({id, kind, source, prose = "", title = ""}) {
    Object.assign(this, {id, kind, state: "", number: 0, took: ""})
    this.title = make("div", "title", title)
    this.count = make("div", "count")
    this.box = make("div", "editor")
    this.prose = make("div", "prose", ...clean(prose))
    this.outs = make("div", "outputs")
    this.node = make("section", "cell " + kind, this.count, make("div", "body", this.title, this.box, this.prose, this.outs))
    this.node.tabIndex = -1
    this.node.onmousedown = () => select(this)
    this.prose.ondblclick = () => this.edit()
    this.view = editor({
      parent: this.box, text: source, nonce, prose: kind !== "code", label: kind === "code" ? "Go" : "Text", changed, focused: () => select(this),
      complete: (before, after) => post("complete", {before, after}).catch(() => ({typed: "", list: []})),
      keys: [
        {key: "Shift-Enter", run: () => (runOn(), true)},
        {key: "Ctrl-Enter", mac: "Cmd-Enter", run: () => (run([this]), this.leave(), true)},
        {key: "Alt-Enter", run: () => (run([this]), add(1).edit(), true)},
        {key: "Escape", run: () => (this.leave(), true)},
        {key: "Shift-Tab", run: () => (inspect(this), true)},
        {key: "Mod-s", preventDefault: true, run: () => (save(), true)},
        {key: "ArrowUp", run: v => v.state.selection.main.empty && v.state.doc.lineAt(v.state.selection.main.head).number === 1 && step(-1, true)},
        {key: "ArrowDown", run: v => v.state.selection.main.empty && v.state.doc.lineAt(v.state.selection.main.head).number === v.state.doc.lines && step(1, true)},
      ],
    })
    if (kind === "code") this.prose.hidden = true
    else if (source) this.render()
    else this.prose.hidden = true
    this.status({})
  }
  text() { return this.view.state.doc.toString() }
  render() { this.box.hidden = true; this.prose.hidden = false }
  edit() {
    this.box.hidden = false
    this.prose.hidden = true
    this.view.focus()
  }
  leave() {
    if (this.kind !== "code" && this.text()) this.render()
    this.node.focus({preventScroll: true})
  }
  status({state = this.state, count = this.number, took = this.took}) {
    Object.assign(this, {state, number: count, took})
    this.node.classList.toggle("running", state === "running")
    if (this.kind === "code") this.count.replaceChildren(state === "waiting" ? "In [·]" : state === "running" ? "In [*]" : `In [${count || " "}]`, make("span", "took", took))
  }
  output(at, html) {
    while (this.outs.children.length <= at) this.outs.append(make("div", "output"))
    const into = this.outs.children[at], nodes = clean(html)
    const was = into.firstElementChild, now = nodes[0]
    if (nodes.length === 1 && was?.tagName === "IMG" && now.tagName === "IMG") was.src = now.src // without a flicker
    else into.replaceChildren(...nodes)
  }
  outputs(list) {
    while (this.outs.children.length > list.length) this.outs.lastChild.remove()
    list.forEach((html, at) => this.output(at, html))
  }
}

const byID = id => cells.find(c => c.id === id)

function select(c, scroll) {
  selected?.node.classList.remove("selected")
  selected = c
  c?.node.classList.add("selected")
  if (c) $("kind").textContent = c.kind === "code" ? "Text" : "Go"
  if (scroll) c?.node.scrollIntoView({block: "nearest"})
}

function step(by, edit) {
  const c = cells[cells.indexOf(selected) + by]
  if (!c) return false
  if (edit) selected.leave()
  select(c, true)
  if (edit && c.kind === "code") c.edit()
  else c.node.focus({preventScroll: true})
  return true
}

function arrange() {
  cells.forEach((c, i) => { if ($("cells").children[i] !== c.node) $("cells").insertBefore(c.node, $("cells").children[i] ?? null) })
  while ($("cells").children.length > cells.length) $("cells").lastChild.remove()
}

function insert(at, given) {
  const c = new Cell({id: newID(), kind: "code", source: "", ...given})
  cells.splice(at, 0, c)
  arrange()
  select(c, true)
  changed()
  return c
}

const add = by => insert(cells.indexOf(selected) + by, {})

let gone = [], copied = null

function remove(c) {
  const at = cells.indexOf(c)
  gone.push({at, kind: c.kind, source: c.text()})
  c.view.destroy()
  cells.splice(at, 1)
  if (!cells.length) insert(0, {})
  arrange()
  select(cells[Math.min(at, cells.length - 1)], true)
  selected.node.focus({preventScroll: true})
  changed()
}

function turn(c, kind) {
  if (c.kind === kind) return
  const at = cells.indexOf(c), now = new Cell({id: c.id, kind, source: c.text()})
  c.view.destroy()
  cells[at] = now
  arrange()
  select(now)
  if (kind !== "code") now.edit()
  else now.node.focus()
  changed()
}

function runOn() {
  const c = selected
  run([c])
  c.leave()
  if (!step(1)) insert(cells.length, {}).edit()
}

// apply shows cells of the server; whole says that their texts are newer than the page's.
function apply(list, whole) {
  const old = new Map(cells.map(c => [c.id, c]))
  if (whole) {
    cells = list.map(v => {
      const c = old.get(v.id)
      if (!c || c.kind !== v.kind) return new Cell(v)
      put(c.view, v.source)
      return c
    })
    for (const c of old.values()) if (!cells.includes(c)) c.view.destroy()
    arrange()
    if (!cells.includes(selected)) select(byID(selected?.id) ?? cells[0])
  }
  for (const v of list) if (v.kind !== "code") byID(v.id)?.prose.replaceChildren(...clean(v.prose))
}

// ---- beside the notebook

let table = "", shown = ""

function side(what, nodes) {
  shown = what
  $("side").hidden = !what
  $("told").replaceChildren(...nodes ?? [])
  $("names").setAttribute("aria-expanded", what === "names")
}

const names = () => side("names", table ? clean(table) : ["No variables yet."])

async function inspect(c) {
  const {head} = c.view.state.selection.main, text = c.text(), from = c.view.state.sliceDoc(0, head)
  try {
    const {html} = await post("inspect", {before: from, after: c.view.state.sliceDoc(head), all: shown === "info" && asked === text + head})
    asked = text + head
    side("info", html ? clean(html) : ["Nothing is known of what is at the cursor."])
  } catch (e) { complain(e) }
}

let asked = ""

function ask(id) {
  document.querySelector("form.ask")?.remove()
  const c = byID(id)
  if (!c) return
  const input = make("input", ""), form = make("form", "ask", input)
  input.placeholder = "The cell waits for a line"
  form.onsubmit = e => {
    e.preventDefault()
    post("input", {line: input.value}).catch(complain)
  }
  c.outs.after(form)
  input.focus()
}

// ---- what happens

let latest = null

const happens = {
  book(e) {
    const b = e.book
    notice(b.notice, b.notice ? {OK() {}} : {})
    $("name").textContent = document.title = b.name
    $("name").title = b.path
    saved(b.saved && !dirty)
    latest = e
    if (!dirty) {
      revision = e.revision
      apply(b.cells, true)
    } else sync().catch(complain)
    for (const v of b.cells) {
      byID(v.id)?.status(v)
      byID(v.id)?.outputs(v.outputs ?? [])
    }
    table = b.names
    if (shown === "names") names()
    ask(b.asks)
  },
  edited(e) {
    saved(false)
    if (e.client === client) return apply(e.book.cells, false)
    latest = e
    if (dirty || syncing) return // the server refuses the page's text then, and the page asks
    revision = e.revision
    apply(e.book.cells, true)
  },
  state(e) { byID(e.cell)?.status({state: e.state ?? "", count: e.count ?? 0, took: e.took ?? ""}) },
  clear(e) { byID(e.cell)?.outputs([]) },
  output(e) { byID(e.cell)?.output(e.at, e.html ?? "") },
  append(e) { byID(e.cell)?.outs.children[e.at]?.querySelector("pre")?.append(e.text) },
  variables(e) { table = e.html ?? ""; if (shown === "names") names() },
  page(e) { side("info", clean(e.html)) },
  asks(e) { ask(e.cell) },
  saved() { saved(!dirty) },
  unsaved() { saved(false) },
  notice(e) { notice(e.text, {OK() {}}) },
  alive() {},
}

function failed(closed) {
  notice(closed ? "This mcs web has ended. Start it again and open the address that it prints; changes that it had are kept." : lost, {"Download the text": download})
}

// ---- keys and buttons

let before = "" // the key that was pressed before, for pairs

const commands = {
  Enter: () => selected.edit(), ArrowUp: () => step(-1), ArrowDown: () => step(1), k: () => step(-1), j: () => step(1),
  a: () => add(0).node.focus(), b: () => add(1).node.focus(), m: () => turn(selected, "markdown"), y: () => turn(selected, "code"),
  dd: () => remove(selected), z() { const c = gone.pop(); if (c) insert(c.at, c).node.focus() },
  c: () => copied = {kind: selected.kind, source: selected.text()}, x() { commands.c(); remove(selected) },
  v() { if (copied) insert(cells.indexOf(selected) + 1, copied).node.focus() },
  ii: () => post("interrupt").catch(complain), "00": () => post("reset").catch(complain), s: () => save(), h: () => help(), w: () => shown === "names" ? side("") : names(), Escape: () => side(""),
}

const help = () => side("help", [$("help").content.cloneNode(true)])

document.addEventListener("keydown", e => {
  if (e.defaultPrevented || !selected) return
  if ((e.ctrlKey || e.metaKey) && e.key === "s") {
    e.preventDefault()
    return save()
  }
  if (/^(INPUT|BUTTON|A|SUMMARY)$/.test(e.target.tagName) || e.target.closest(".cm-editor")) return
  if (e.key === "Enter" && (e.shiftKey || e.ctrlKey || e.altKey || e.metaKey)) {
    e.preventDefault()
    if (e.shiftKey) return runOn()
    run([selected])
    if (e.altKey) add(1).edit()
    return
  }
  if (e.ctrlKey || e.altKey || e.metaKey) return
  const pair = before + e.key, act = commands[pair.length === 2 && commands[pair] ? pair : e.key]
  before = act || before ? "" : e.key
  if (!act && !commands[e.key + e.key]) return
  e.preventDefault()
  act?.()
})

const buttons = {
  run: () => runOn(), all: () => run(cells), stop: () => commands.ii(), add: () => add(1).edit(), kind: () => turn(selected, selected.kind === "code" ? "markdown" : "code"),
  save: () => save(), names: () => commands.w(), keys: () => shown === "help" ? side("") : help(), close: () => side(""),
  look() {
    const dark = (document.documentElement.style.colorScheme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark"
    localStorage.look = document.documentElement.style.colorScheme = dark ? "light" : "dark"
  },
}
for (const [id, act] of Object.entries(buttons)) $(id).onclick = act
if (localStorage.look) document.documentElement.style.colorScheme = localStorage.look
addEventListener("beforeunload", e => { if (dirty) e.preventDefault() })
connect(happens, failed)
