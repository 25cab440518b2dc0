package jupyter

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcs-notebook/mcs/repl/cell"
)

// shells are the messages that the shell channel answers, controls those of the control channel.
func shells() map[string]answer {
	return map[string]answer{
		"execute_request": execute, "kernel_info_request": kernelInfo, "is_complete_request": isComplete, "complete_request": complete,
		"inspect_request": inspect, "history_request": history, "comm_info_request": commInfo, "comm_open": commOpen,
		"comm_msg": nothing, "comm_close": nothing, "shutdown_request": shutdown, "interrupt_request": interrupt,
	}
}

func controls() map[string]answer {
	return map[string]answer{"shutdown_request": shutdown, "interrupt_request": interrupt, "debug_request": debug, "kernel_info_request": kernelInfo}
}

func kernelInfo(k *kernel, _ context.Context, _ *message) any {
	return map[string]any{
		"status": "ok", "protocol_version": protocol, "implementation": "mcs", "implementation_version": k.o.Version, "banner": k.o.Banner,
		"language_info": map[string]any{"name": "go", "version": strings.TrimPrefix(runtime.Version(), "go"), "mimetype": "text/x-go", "file_extension": ".mcs",
			"pygments_lexer": "go", "codemirror_mode": "go", "nbconvert_exporter": "script"},
		"debugger": false, "supported_features": []string{},
		"help_links": []map[string]string{{"text": "mcs", "url": "https://github.com/mcs-notebook/mcs"}, {"text": "Go", "url": "https://go.dev/ref/spec"}},
	}
}

func nothing(*kernel, context.Context, *message) any { return nil }

// commInfo lists the comms: there are none.
func commInfo(*kernel, context.Context, *message) any {
	return map[string]any{"status": "ok", "comms": map[string]any{}}
}

// commOpen closes a comm that a client opens, as the protocol asks where nobody knows its target.
func commOpen(k *kernel, _ context.Context, m *message) any {
	content := struct {
		ID string `json:"comm_id"`
	}{}
	if err := decode(m, &content); err != nil {
		k.log(err)
		return nil
	}
	k.publish("comm_close", m, map[string]any{"comm_id": content.ID, "data": map[string]any{}})
	return nil
}

func isComplete(_ *kernel, _ context.Context, m *message) any {
	request := struct {
		Code string `json:"code"`
	}{}
	if err := decode(m, &request); err != nil {
		return failed("ValueError", err)
	}
	fault, ok := cell.Check(request.Code)
	switch {
	case ok:
		return map[string]any{"status": "complete"}
	case fault.Missing == "":
		return map[string]any{"status": "invalid"}
	}
	return map[string]any{"status": "incomplete", "indent": strings.Repeat("\t", cell.Indent(request.Code))}
}

// byteAt is where the n-th character of a text begins, and characterAt how many there are before a byte.
func byteAt(text string, n int) int {
	for at := range text {
		if n--; n < 0 {
			return at
		}
	}
	return len(text)
}

func characterAt(text string, at int) int { return utf8.RuneCountInString(text[:at]) }

// A place is where a client's cursor is in a cell, in characters.
type place struct {
	Code   string `json:"code"`
	Cursor int    `json:"cursor_pos"`
	Detail int    `json:"detail_level"`
}

// byte is the place in bytes: the cell's end if the client has not said it.
func (p place) byte() int {
	if p.Cursor < 0 {
		return len(p.Code)
	}
	return byteAt(p.Code, p.Cursor)
}

// completionTypes are the kinds of completions for which clients have icons.
var completionTypes = map[string]string{"var": "instance", "func": "function", "method": "function", "field": "property", "type": "class", "package": "module",
	"magic": "magic", "flag": "param", "file": "path", "keyword": "keyword"}

func complete(k *kernel, _ context.Context, m *message) any {
	request := place{Cursor: -1}
	if err := decode(m, &request); err != nil {
		return failed("ValueError", err)
	}
	pos := request.byte()
	from, list := k.runner.Complete(request.Code, pos)
	start, end := characterAt(request.Code, from), characterAt(request.Code, pos)
	matches, types := make([]string, len(list)), make([]map[string]any, len(list))
	for i, c := range list {
		kind := cmp.Or(completionTypes[c.Kind], c.Kind)
		matches[i] = c.Text
		types[i] = map[string]any{"start": start, "end": end, "text": c.Text, "type": kind, "signature": c.Detail}
	}
	return map[string]any{"status": "ok", "matches": matches, "cursor_start": start, "cursor_end": end,
		"metadata": map[string]any{"_jupyter_types_experimental": types}}
}

func inspect(k *kernel, _ context.Context, m *message) any {
	request := place{Cursor: -1}
	if err := decode(m, &request); err != nil {
		return failed("ValueError", err)
	}
	reply := map[string]any{"status": "ok", "found": false, "data": map[string]any{}, "metadata": map[string]any{}}
	if b := k.runner.Inspect(request.Code, request.byte(), request.Detail > 0); b != nil {
		reply["found"], reply["data"] = true, b
	}
	return reply
}

// past are the cells that clients have run.
type past []pastCell

type pastCell struct {
	n           int
	code, value string
}

// oneSession is the number of the only session that a kernel knows: itself.
const oneSession = 1

func history(k *kernel, _ context.Context, m *message) any {
	request := struct {
		Output  bool   `json:"output"`
		Access  string `json:"hist_access_type"`
		Session int    `json:"session"`
		Start   int    `json:"start"`
		Stop    *int   `json:"stop"`
		N       *int   `json:"n"`
		Pattern string `json:"pattern"`
		Unique  bool   `json:"unique"`
	}{}
	if err := decode(m, &request); err != nil {
		return failed("ValueError", err)
	}
	var found past
	switch request.Access {
	case "range":
		if request.Session == oneSession || request.Session == 0 {
			for _, c := range k.past {
				if c.n >= request.Start && (request.Stop == nil || c.n < *request.Stop) {
					found = append(found, c)
				}
			}
		}
	case "tail":
		found = k.past
	case "search":
		found = k.past.like(request.Pattern, request.Unique)
	default:
		return failed("ValueError", fmt.Errorf("history: got hist_access_type %q, want range, tail or search", request.Access))
	}
	if request.N != nil && request.Access != "range" {
		found = found[max(len(found)-max(*request.N, 0), 0):]
	}
	list := make([][]any, len(found))
	for i, c := range found {
		list[i] = []any{oneSession, c.n, c.code}
		if request.Output {
			list[i][2] = []any{c.code, c.value}
		}
	}
	return map[string]any{"status": "ok", "history": list}
}

// like are the cells that a pattern of * and ? matches; of equal ones the newest, if each is wanted once.
func (p past) like(pattern string, unique bool) (found past) {
	seen := map[string]bool{}
	for _, c := range slices.Backward(p) {
		if matches(pattern, c.code) && !(unique && seen[c.code]) {
			found = append(found, c)
		}
		seen[c.code] = true
	}
	slices.Reverse(found)
	return found
}

// matches says whether a pattern matches a text as a whole: * is any text, ? any character.
func matches(pattern, text string) bool {
	plain := strings.NewReplacer("/", "\x00", "\\", "\\\\", "[", "\\[") // path.Match has more signs
	ok, err := path.Match(plain.Replace(pattern), strings.ReplaceAll(text, "/", "\x00"))
	return ok && err == nil
}
