package jupyter

import (
	"context"
	"fmt"

	"github.com/mcs-notebook/mcs/repl/runner"
)

// executed is the content of the reply to a cell.
type executed struct {
	Status      string           `json:"status"`
	Count       int              `json:"execution_count"`
	Expressions map[string]any   `json:"user_expressions"`
	Payload     []map[string]any `json:"payload"`
	*runner.Failure
	aborts bool // the cells that wait do not run
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
	c := runner.Cell{Code: request.Code}
	if !request.Silent {
		c.Send = func(kind string, content any) { k.publish(kind, m, content) }
	}
	if request.Stdin {
		c.Ask = func(ended <-chan struct{}) (string, bool) { return k.ask(m, ended) }
	}
	before := k.runner.Next()
	o := k.runner.Run(ctx, c)
	reply := &executed{Status: "ok", Count: o.N, Expressions: map[string]any{}, Payload: o.Payload, Failure: o.Failure}
	reply.aborts = request.Stops == nil || *request.Stops
	if o.N >= before && !request.Silent && (request.Store == nil || *request.Store) {
		k.past = append(k.past, pastCell{o.N, request.Code, o.Text})
	}
	if o.Failure != nil {
		reply.Status = "error"
		return reply
	}
	for name, expression := range request.Expressions {
		b, f := k.runner.Value(ctx, expression)
		reply.Expressions[name] = map[string]any{"status": "ok", "data": b, "metadata": map[string]any{}}
		if f != nil {
			reply.Expressions[name] = map[string]any{"status": "error", "ename": f.Name, "evalue": f.Value, "traceback": f.Traceback}
		}
	}
	return reply
}

// ask asks the client that runs a cell for a line of standard input.
func (k *kernel) ask(parent *message, ended <-chan struct{}) (line string, ok bool) {
	k.sockets[stdin].Send(parent.from, k.signer.write("input_request", parent, map[string]any{"prompt": "", "password": false}))
	for {
		select {
		case <-ended:
			return "", false
		case received := <-k.sockets[stdin].Messages():
			m := k.read(received)
			if m == nil || m.header.Type != "input_reply" {
				continue
			}
			content := struct {
				Value string `json:"value"`
			}{}
			if err := decode(m, &content); err != nil {
				k.log(err)
				continue
			}
			return content.Value, true
		}
	}
}

// shutdown answers a request to end, or to start again, which the client then does.
func shutdown(k *kernel, _ context.Context, m *message) any {
	request := struct {
		Restart bool `json:"restart"`
	}{}
	if err := decode(m, &request); err != nil {
		return failed("ValueError", err)
	}
	k.runner.Interrupt()
	return map[string]any{"status": "ok", "restart": request.Restart}
}

func interrupt(k *kernel, _ context.Context, _ *message) any {
	k.runner.Interrupt()
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
