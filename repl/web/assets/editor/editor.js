// The editor of a cell: CodeMirror with what cells need. ../build bundles it into ../editor.js.
import {Annotation, EditorState, Prec} from "@codemirror/state"
import {EditorView, drawSelection, keymap} from "@codemirror/view"
import {defaultKeymap, history, historyKeymap, indentMore} from "@codemirror/commands"
import {StreamLanguage, bracketMatching, indentOnInput, indentUnit, syntaxHighlighting} from "@codemirror/language"
import {acceptCompletion, autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, completionStatus, startCompletion} from "@codemirror/autocomplete"
import {classHighlighter} from "@lezer/highlight"
import {go} from "@codemirror/legacy-modes/mode/go"

// Go, and lines that are commands.
const cells = StreamLanguage.define({
  ...go,
  token(stream, state) {
    if (!state.tokenize && stream.sol() && stream.match(/^\s*[%!]/)) {
      stream.skipToEnd()
      return "meta"
    }
    const style = go.token(stream, state)
    return stream.current() === "." ? null : style // which the mode takes for a number
  },
})

// outside marks a change that comes from the server.
const outside = Annotation.define()

// tab completes behind a name or a point, and indents elsewhere.
function tab(view) {
  if (completionStatus(view.state)) return acceptCompletion(view)
  const {from, empty} = view.state.selection.main
  return empty && /[\w.%/]$/.test(view.state.sliceDoc(Math.max(from - 1, 0), from)) ? startCompletion(view) : indentMore(view)
}

// editor makes an editor below parent. complete(before, after) gives {typed, list}; keys are the page's own; an
// editor of prose has neither colours nor completions.
export function editor({parent, text, nonce, prose, label, changed, focused, complete, keys}) {
  const source = async context => {
    if (!context.explicit && !context.matchBefore(/[\w%]\.?$|\.$/)) return null
    const {typed, list} = await complete(context.state.sliceDoc(0, context.pos), context.state.sliceDoc(context.pos))
    if (!list.length || context.aborted) return null
    return {from: context.pos - typed.length, validFor: /^\w*$/, options: list.map((c, i) => ({label: c.text, detail: c.detail, type: c.kind, boost: -i}))}
  }
  return new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        Prec.highest(keymap.of(keys)),
        prose ? EditorView.lineWrapping : [cells, syntaxHighlighting(classHighlighter), bracketMatching(), closeBrackets(), indentOnInput(), autocompletion({override: [source]}), keymap.of([{key: "Tab", run: tab}])],
        keymap.of([...closeBracketsKeymap, ...completionKeymap, ...historyKeymap, ...defaultKeymap]),
        history(), drawSelection(), indentUnit.of("\t"), EditorState.tabSize.of(4),
        EditorView.cspNonce.of(nonce),
        EditorView.contentAttributes.of({"aria-label": label, spellcheck: "false", autocapitalize: "off", autocorrect: "off"}),
        EditorView.updateListener.of(u => {
          if (u.docChanged && !u.transactions.some(t => t.annotation(outside))) changed()
          if (u.focusChanged && u.view.hasFocus) focused()
        }),
      ],
    }),
  })
}

// put exchanges the text of an editor for the server's.
export function put(view, text) {
  if (view.state.doc.toString() !== text) view.dispatch({changes: {from: 0, to: view.state.doc.length, insert: text}, annotations: outside.of(true)})
}
