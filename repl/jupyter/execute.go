package jupyter

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/session"
	"github.com/mcs-notebook/mcs/repl/term"
)

// textWidth is how many columns plain text has: those for which the expected output of files is written.
const textWidth = 80

// executed is the content of the reply to a cell.
type executed struct {
	Status      string           `json:"status"`
	Count       int              `json:"execution_count"`
	Expressions map[string]any   `json:"user_expressions"`
	Payload     []map[string]any `json:"payload"`
	*failure
	aborts bool // the cells that wait do not run
}

// A failure is the error of a cell.
type failure struct {
	Name      string   `json:"ename"`
	Value     string   `json:"evalue"`
	Traceback []string `json:"traceback"` // in colours
}

func execute(k *kernel, ctx context.Context, m *message) any {
	request := struct {
		Code        string            `json:"code"`
		Silent      bool              `json:"silent"`
		Store       *bool             `json:"store_history"`
		Expressions map[string]string `json:"user_expressions"`
		Stdin       bool              `json:"allow_stdin"`
		Stops       *bool             `json:"stop_on_error"`
	}{}
	if err := decode(m, &request); err != nil {
		return failed("ValueError", err)
	}
	reply := &executed{Status: "ok", Count: k.session.Next() - 1, Expressions: map[string]any{}, Payload: []map[string]any{}}
	reply.aborts = request.Stops == nil || *request.Stops
	k.out.begin(m, request.Silent)
	k.input.begin(m, request.Stdin)
	if strings.TrimSpace(request.Code) != "" {
		reply.Count = k.session.Next()
		k.out.publish("execute_input", map[string]any{"code": request.Code, "execution_count": reply.Count})
		k.payload = reply.Payload
		r := k.run(ctx, request.Code)
		k.out.end()
		value := k.show(r, request.Code)
		if r.Err != nil {
			reply.Status, reply.failure = "error", failureOf(r.Err)
			k.out.publish("error", reply.failure)
		}
		if reply.Payload = k.payload; !request.Silent && (request.Store == nil || *request.Store) {
			k.past = append(k.past, pastCell{r.N, request.Code, value})
		}
	}
	if reply.Status == "ok" {
		for name, expression := range request.Expressions {
			reply.Expressions[name] = k.expression(ctx, expression)
		}
	}
	return reply
}

// run runs a cell, which interrupts stop.
func (k *kernel) run(ctx context.Context, code string) session.Result {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	k.mu.Lock()
	k.stop, k.pressed = cancel, 0
	k.mu.Unlock()
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.stop = nil
	}()
	defer k.input.End()
	defer context.AfterFunc(ctx, k.input.End)()
	return k.session.Run(ctx, code)
}

// expression is the value of one of a request's expressions. It is a cell of its own, which nobody sees.
func (k *kernel) expression(ctx context.Context, code string) any {
	defer k.out.hush(k.out.hush(true))
	r := k.run(ctx, code)
	switch {
	case r.Err != nil:
		f := failureOf(r.Err)
		return map[string]any{"status": "error", "ename": f.Name, "evalue": f.Value, "traceback": f.Traceback}
	case len(r.Shown) == 0 || r.Shown[len(r.Shown)-1] == nil:
		return map[string]any{"status": "ok", "data": display.Bundle{}, "metadata": map[string]any{}}
	}
	return map[string]any{"status": "ok", "data": bundled(r.Shown[len(r.Shown)-1]), "metadata": map[string]any{}}
}

// A preloader is a value with cells that the person may want to run, as %load returns. An editable is one
// with a text to be changed, as %edit returns, and a compound is a value of several.
type (
	preloader interface{ Preload() []string }
	editable  interface{ Edit() string }
	compound  interface{ Values() []display.Value }
)

// bundles are the finished parts of a value.
type bundles []display.Bundle

// Text is that of the parts, one below the other.
func (b bundles) Text(int) string {
	texts := make([]string, len(b))
	for i, each := range b {
		texts[i] = each.Text(0)
	}
	return strings.Join(texts, "\n")
}

// render finishes a value while its cell runs.
func (k *kernel) render(v display.Value, _ int) display.Value {
	switch v := v.(type) {
	case preloader:
		k.next(strings.Join(v.Preload(), "\n\n"))
	case editable:
		k.next(v.Edit())
		return bundles{}
	case compound:
		var list bundles
		for _, each := range v.Values() {
			list = append(list, display.Bundled(each, textWidth))
		}
		return list
	}
	return display.Bundled(v, textWidth)
}

// next puts a text into the client's next cell.
func (k *kernel) next(text string) {
	k.payload = append(k.payload, map[string]any{"source": "set_next_input", "text": text, "replace": false})
}

// bundled is a value that render or the session has finished.
func bundled(v display.Value) display.Bundle { return display.BundleOf(v, textWidth) }

// show sends the values of a cell that has ended, and returns the text of the last.
func (k *kernel) show(r session.Result, code string) (last string) {
	drawn := -1 // the drawing that stays
	if n := len(r.Drawn); n > 0 {
		drawn = r.Drawn[n-1]
	}
	page := isPage(code)
	for i, v := range r.Shown {
		switch {
		case v == nil:
			continue
		case page:
			k.payload = append(k.payload, map[string]any{"source": "page", "data": bundled(v), "start": 0})
			continue
		case i == drawn && k.out.drawn(bundled(v)):
			continue
		case r.Out && i == len(r.Shown)-1:
			last = v.Text(textWidth)
			k.out.publish("execute_result", map[string]any{"execution_count": r.N, "data": bundled(v), "metadata": map[string]any{}})
			continue
		}
		last = v.Text(textWidth)
		k.out.show(v)
	}
	return last
}

// isPage says whether a cell asks what a name is, or for the help of a command: clients show the answer
// beside the notebook.
func isPage(code string) bool {
	pieces := cell.Split(strings.TrimSpace(code))
	if len(pieces) != 1 || pieces[0].Kind != cell.Command {
		return false
	}
	name, _, _ := cell.ParseCommand(code)
	return name == "?" || name == "??" || name == "help"
}

// failureOf is an error of a cell as clients show it.
func failureOf(err error) *failure {
	var refused *session.CheckError
	var panicked *session.PanicError
	name := "error"
	switch {
	case errors.Is(err, session.ErrInterrupted):
		name = "interrupted"
	case errors.As(err, &refused):
		name = "refused"
	case errors.As(err, &panicked):
		name = "panic"
	}
	text := strings.TrimRight(err.Error(), "\n")
	first, _, _ := strings.Cut(visible.Text(text), "\n")
	return &failure{name, first, strings.Split(term.ErrorText(text, textWidth), "\n")}
}

// shutdown answers a request to end, or to start again, which the client then does.
func shutdown(k *kernel, _ context.Context, m *message) any {
	request := struct {
		Restart bool `json:"restart"`
	}{}
	if err := decode(m, &request); err != nil {
		return failed("ValueError", err)
	}
	k.interrupt()
	return map[string]any{"status": "ok", "restart": request.Restart}
}

func interrupt(k *kernel, _ context.Context, _ *message) any {
	k.interrupt()
	return map[string]any{"status": "ok"}
}

// debug refuses a request of the debug adapter protocol, in that protocol's words.
func debug(_ *kernel, _ context.Context, m *message) any {
	request := struct {
		Seq     int    `json:"seq"`
		Command string `json:"command"`
	}{}
	if err := decode(m, &request); err != nil {
		return failed("ValueError", err)
	}
	return map[string]any{"type": "response", "seq": 0, "request_seq": request.Seq, "success": false, "command": request.Command,
		"message": fmt.Sprintf("debug: got %s, and this kernel has no debugger", request.Command)}
}
