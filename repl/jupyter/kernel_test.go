package jupyter

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/magics"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/runner"
	"github.com/mcs-notebook/mcs/repl/session"
)

// patience is how long a test waits for a message.
const patience = 30 * time.Second

// A socket is a client's, without security: written by hand, so that it does not share the kernel's mistakes.
type socket struct {
	t    *testing.T
	conn net.Conn
}

func connect(t *testing.T, port int, kind, id string) *socket {
	t.Helper()
	conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	greeting := make([]byte, 64)
	copy(greeting, "\xff\x00\x00\x00\x00\x00\x00\x00\x01\x7f\x03\x00NULL")
	ready := fmt.Sprintf("\x05READY\x0bSocket-Type\x00\x00\x00%c%s\x08Identity\x00\x00\x00%c%s", len(kind), kind, len(id), id)
	_, _ = conn.Write(append(append(greeting, 4, byte(len(ready))), ready...)) // a lost connection fails the read
	s := &socket{t, conn}
	if _, err := io.ReadFull(conn, greeting); err != nil {
		t.Fatal(err)
	}
	if got := s.frames(); !bytes.HasPrefix(got[0], []byte("\x05READY")) {
		t.Fatalf("got %q", got)
	}
	return s
}

func (s *socket) send(frames ...[]byte) {
	for i, f := range frames {
		flags := byte(2)
		if i < len(frames)-1 {
			flags = 3
		}
		_, _ = s.conn.Write(append(binary.BigEndian.AppendUint64([]byte{flags}, uint64(len(f))), f...))
	}
}

func (s *socket) frames() (list [][]byte) {
	s.t.Helper()
	_ = s.conn.SetReadDeadline(time.Now().Add(patience))
	for {
		head := make([]byte, 2)
		_, err := io.ReadFull(s.conn, head)
		n := uint64(head[1])
		if err == nil && head[0]&2 != 0 {
			rest := make([]byte, 7)
			_, err = io.ReadFull(s.conn, rest)
			n = binary.BigEndian.Uint64(append(head[1:2:2], rest...))
		}
		body := make([]byte, n)
		if err == nil {
			_, err = io.ReadFull(s.conn, body)
		}
		if err != nil {
			s.t.Fatal(err)
		}
		if list = append(list, body); head[0]&1 == 0 {
			return list
		}
	}
}

// A client of a kernel that runs in this process.
type client struct {
	*signer
	t                            *testing.T
	c                            *Connection
	shell, control, stdin, iopub *socket
	ended                        chan error
	stop                         context.CancelFunc
}

// content is that of any message.
type content map[string]any

// A received message, with what tests look at.
type received struct {
	kind, parent string
	content      content
}

func start(t *testing.T) *client {
	t.Helper()
	c := &Connection{Transport: "tcp", IP: "127.0.0.1", Key: "a key"}
	ctx, stop := context.WithCancel(t.Context())
	k := &client{signer: newSigner(c.Key), t: t, c: c, ended: make(chan error, 1), stop: stop}
	ready := make(chan bool)
	var s *session.Session
	o := Options{Version: "test", Ready: func() { close(ready) }, Options: runner.Options{
		Open: func(o session.Options) (_ runner.Session, err error) {
			o.Commands = magics.Table{}
			s, err = session.New(o)
			return s, err
		},
		Complete: func(cell string, pos int) (int, []session.Completion) { return magics.Table{}.Complete(s, cell, pos) },
		Inspect:  func(name string, all bool) (display.Value, error) { return (magics.Table{}).Inspect(s, name, all) }}}
	go func() { k.ended <- Run(ctx, c, o) }()
	select {
	case <-ready:
	case err := <-k.ended:
		t.Fatal(err)
	}
	k.connect("client")
	t.Cleanup(func() { stop(); <-k.ended; k.ended <- nil })
	return k
}

func (k *client) connect(id string) {
	k.t.Helper()
	k.shell, k.control = connect(k.t, k.c.Shell, "DEALER", id), connect(k.t, k.c.Control, "DEALER", id)
	k.stdin, k.iopub = connect(k.t, k.c.Stdin, "DEALER", id), connect(k.t, k.c.IOPub, "SUB", id)
	k.iopub.send([]byte{1})
	if m := k.next(k.iopub); m.kind != "iopub_welcome" || m.content["subscription"] != "" {
		k.t.Fatalf("got %v, want a welcome", m)
	}
}

// ask sends a message and returns its number.
func (k *client) ask(s *socket, kind string, c content) (id string) {
	frames := k.write(kind, nil, c)
	s.send(frames...)
	var h header
	_ = json.Unmarshal(frames[2], &h)
	return h.ID
}

// next receives a message.
func (k *client) next(s *socket) received {
	k.t.Helper()
	frames := s.frames()
	m, err := k.read("", frames)
	if err != nil {
		k.t.Fatal(err)
	}
	var parent header
	_ = json.Unmarshal(frames[len(frames)-3], &parent) // a welcome has none
	r := received{kind: m.header.Type, parent: parent.ID}
	if err := json.Unmarshal(m.content, &r.content); err != nil {
		k.t.Fatal(err)
	}
	return r
}

// outputs are the messages of a request, up to idle.
func (k *client) outputs(id string) (list []received) {
	k.t.Helper()
	for {
		m := k.next(k.iopub)
		if m.parent != id {
			continue
		}
		if m.kind == "status" && m.content["execution_state"] == "idle" {
			return list
		}
		if m.kind != "status" && m.kind != "execute_input" {
			list = append(list, m)
		}
	}
}

// run runs a cell, and returns the reply and what it has put out.
func (k *client) run(code string) (reply content, list []received) {
	k.t.Helper()
	id := k.ask(k.shell, "execute_request", content{"code": code})
	reply = k.next(k.shell).content
	return reply, k.outputs(id)
}

func printed(list []received) (text string) {
	for _, m := range list {
		if m.kind == "stream" {
			text += m.content["text"].(string)
		}
	}
	return text
}

func kinds(list []received) (names []string) {
	for _, m := range list {
		names = append(names, m.kind)
	}
	return names
}

func data(m received) map[string]any { d, _ := m.content["data"].(map[string]any); return d }

func TestCells(t *testing.T) {
	k := start(t)
	for _, c := range []struct {
		name, code string
		kinds      string
		check      func(reply content, list []received) bool
	}{
		{"a value", "x := 6; x*7", "execute_result", func(r content, l []received) bool {
			return data(l[0])["text/plain"] == "42" && r["execution_count"] == l[0].content["execution_count"]
		}},
		{"nothing", "y := 1", "", nil},
		{"print", "fmt.Print(\"a\"); fmt.Println(\"é\")", "stream", func(_ content, l []received) bool { return printed(l) == "aé\n" }},
		{"both streams", "fmt.Println(1); fmt.Fprintln(os.Stderr, 2)", "stream stream", func(_ content, l []received) bool {
			return l[0].content["name"] == "stdout" && l[1].content["name"] == "stderr"
		}},
		{"order", "fmt.Println(1)\n%show x\nfmt.Println(2)\nx", "stream display_data stream execute_result", nil},
		{"a tensor", "tensor.Range(4).Reshape(2, 2)", "execute_result", func(_ content, l []received) bool {
			return strings.Contains(data(l[0])["text/html"].(string), ">3.</td>") || strings.Contains(data(l[0])["text/html"].(string), ">3</td>")
		}},
		{"a table", "[]struct{ A int }{{1}, {2}}", "execute_result", func(_ content, l []received) bool {
			return strings.Contains(data(l[0])["text/html"].(string), "<table>")
		}},
		{"a plot", "plot.Line([]float64{1, 2})", "execute_result", func(_ content, l []received) bool {
			d := data(l[0])
			return d["image/png"] != nil && strings.HasPrefix(d["image/svg+xml"].(string), "<svg") && d["text/plain"] != "" && d["text/html"] == nil
		}},
		{"an error", "x +", "error", func(r content, l []received) bool {
			return r["status"] == "error" && l[0].content["ename"] == "refused" && r["ename"] == "refused"
		}},
		{"a panic", "fmt.Println(1)\npanic(\"no\")", "stream error", func(_ content, l []received) bool {
			trace := fmt.Sprint(l[1].content["traceback"])
			return strings.Contains(trace, "In[") && strings.Contains(trace, ":2") && strings.Contains(trace, "\x1b[")
		}},
		{"clearing", "fmt.Print(\"old\\x1b[H\\x1b[2J\\x1b[3Jnew\")", "stream clear_output stream", nil},
		{"asking", "strings.Cut?", "", func(r content, _ []received) bool {
			return strings.Contains(fmt.Sprint(r["payload"]), "page")
		}},
		{"editing", "%edit", "", func(r content, _ []received) bool {
			return strings.Contains(fmt.Sprint(r["payload"]), "set_next_input")
		}},
		{"blank", " \n", "", func(r content, _ []received) bool { return r["status"] == "ok" }},
		{"bytes that are no text", "os.Stdout.Write(bytes.Repeat([]byte{0x80}, 100_000)); fmt.Print(\"end\")", "any", func(_ content, l []received) bool {
			return printed(l) == strings.Repeat("\ufffd", 100_000)+"end"
		}},
		{"a flood", "line := strings.Repeat(\"flood \", 20)\nfor i := range 60_000 { fmt.Println(line, i) }", "any", func(_ content, l []received) bool {
			return len(l) < 400 && len(printed(l)) < runner.MaxPrinted+1000 && strings.Contains(printed(l), "left out")
		}},
	} {
		reply, list := k.run(c.code)
		if got := strings.Join(kinds(list), " "); got != c.kinds && c.kinds != "any" || c.check != nil && !c.check(reply, list) {
			t.Errorf("%s: got %s: %v and %.2000v, want %s", c.name, got, reply, list, c.kinds)
		}
	}
}

// A message with another key's signature, one that comes twice, and no message at all are not answered; the
// next one is.
func TestSignatures(t *testing.T) {
	k := start(t)
	good := k.write("kernel_info_request", nil, content{})
	bad := newSigner("another").write("kernel_info_request", nil, content{})
	k.shell.send(bad...)
	k.shell.send([]byte("hello"))
	k.shell.send(good...)
	k.shell.send(good...)
	k.ask(k.shell, "is_complete_request", content{"code": "f("})
	if m := k.next(k.shell); m.kind != "kernel_info_reply" || m.content["protocol_version"] != protocol {
		t.Errorf("got %v", m)
	}
	if m := k.next(k.shell); m.kind != "is_complete_reply" || m.content["status"] != "incomplete" || m.content["indent"] != "\t" {
		t.Errorf("got %v, want the answer to the next message", m)
	}
}

func TestQuestions(t *testing.T) {
	k := start(t)
	k.run("é := []int{1}")
	k.run("1+1")
	k.run("1+1")
	for _, c := range []struct {
		kind string
		ask  content
		want string // is in the answer
	}{
		{"complete_request", content{"code": "é; strings.HasPre", "cursor_pos": 17}, `"cursor_end":17,"cursor_start":11,"matches":["HasPrefix"]`},
		{"complete_request", content{"code": "%timei"}, `"type":"magic"`},
		{"inspect_request", content{"code": "x := strings.Cut(s)", "cursor_pos": 15}, `"text/markdown":"**` + "`strings.Cut"},
		{"inspect_request", content{"code": "tensor.Range( ", "cursor_pos": 14}, `"found":true`},
		{"inspect_request", content{"code": "strings.Cut?"}, `"found":true`},
		{"inspect_request", content{"code": "é"}, `"text/html":"\u003cp\u003e`},
		{"inspect_request", content{"code": "%time 1", "cursor_pos": 3}, "%time"},
		{"inspect_request", content{"code": "nosuchname"}, `"found":false`},
		{"inspect_request", content{"code": ""}, `"found":false`},
		{"history_request", content{"hist_access_type": "tail", "n": 1}, `"history":[[1,3,"1+1"]]`},
		{"history_request", content{"hist_access_type": "range", "start": 1, "stop": 2, "output": true}, `[[1,1,["é := []int{1}",""]]]`},
		{"history_request", content{"hist_access_type": "search", "pattern": "1?1", "unique": true}, `[[1,3,"1+1"]]`},
		{"history_request", content{"hist_access_type": "all"}, `"status":"error"`},
		{"comm_info_request", content{}, `"comms":{}`},
		{"is_complete_request", content{"code": "x)"}, "invalid"},
		{"is_complete_request", content{"code": "f(g(func() {"}, `"indent":"\t","status":"incomplete"`},
		{"is_complete_request", content{"code": "for {\n\tf(`a\n"}, `"indent":"","status":"incomplete"`},
		{"complete_request", content{"code": 5}, `"status":"error"`},
	} {
		k.ask(k.shell, c.kind, c.ask)
		text, _ := json.Marshal(k.next(k.shell).content)
		if !strings.Contains(string(text), c.want) {
			t.Errorf("%s %v: got %s, want %s", c.kind, c.ask, text, c.want)
		}
	}
}

func TestExpressionsAndSilence(t *testing.T) {
	k := start(t)
	id := k.ask(k.shell, "execute_request", content{"code": "a := 2; fmt.Println(a)", "silent": true, "user_expressions": content{"b": "a*3", "c": "nothing"}})
	reply, list := k.next(k.shell).content, k.outputs(id)
	if len(list) != 0 || !strings.Contains(fmt.Sprint(reply["user_expressions"]), "text/plain:6") || !strings.Contains(fmt.Sprint(reply["user_expressions"]), "undefined") {
		t.Errorf("got %v and %v", reply, list)
	}
	k.ask(k.shell, "history_request", content{"hist_access_type": "tail", "n": 5})
	if m := k.next(k.shell); len(m.content["history"].([]any)) != 0 {
		t.Errorf("got %v, want no history of silent cells", m.content)
	}
	// A goroutine of it that prints after its expressions is silent, too.
	k.ask(k.shell, "execute_request", content{"code": "late := make(chan bool)\ngo func() { <-late; time.Sleep(20*time.Millisecond); fmt.Println(1); late <- true }()",
		"silent": true, "user_expressions": content{"b": "func() bool { late <- true; return true }()"}})
	k.next(k.shell)
	time.Sleep(100 * time.Millisecond)
	last := k.ask(k.shell, "execute_request", content{"code": "<-late", "silent": true})
	for m := k.next(k.iopub); m.parent != last || m.content["execution_state"] != "idle"; m = k.next(k.iopub) {
		if m.kind == "stream" {
			t.Errorf("got %v of a silent cell", m.content)
		}
	}
}

// Cells behind one that fails do not run, unless it says so; one that is sent after the reply does.
func TestStopOnError(t *testing.T) {
	k := start(t)
	for _, stops := range []bool{true, false} {
		for _, code := range []string{`panic("first")`, "1"} {
			k.ask(k.shell, "execute_request", content{"code": code, "stop_on_error": stops})
		}
		want := map[bool]string{true: "aborted", false: "ok"}[stops]
		if first, second := k.next(k.shell).content["status"], k.next(k.shell).content["status"]; first != "error" || second != want {
			t.Errorf("stop_on_error %v: got %v and %v, want error and %s", stops, first, second, want)
		}
	}
	k.ask(k.shell, "execute_request", content{"code": "1"})
	if m := k.next(k.shell); m.content["status"] != "ok" {
		t.Errorf("got %v after the reply", m.content)
	}
}

func TestInput(t *testing.T) {
	k := start(t)
	id := k.ask(k.shell, "execute_request", content{"code": "in := bufio.NewScanner(os.Stdin)\nfor in.Scan() && in.Text() != \"\" { fmt.Println(\"got\", in.Text()) }", "allow_stdin": true})
	for _, line := range []string{"é", "two words", ""} {
		if m := k.next(k.stdin); m.kind != "input_request" {
			t.Fatalf("got %v", m)
		}
		k.ask(k.stdin, "input_reply", content{"value": line})
	}
	if got := printed(k.outputs(id)); got != "got é\ngot two words\n" {
		t.Errorf("got %q", got)
	}
	k.next(k.shell)
	if reply, list := k.run("var s string; n, _ := fmt.Scanln(&s); n"); reply["status"] != "ok" || len(list) == 0 || data(list[len(list)-1])["text/plain"] != "0" {
		t.Errorf("without allow_stdin: got %v %v, want the end of the file", reply, list)
	}
}

// training is a cell that trains until it is stopped; its figures come as displays that change.
const training = `text := strings.Repeat("to be or not to be, ", 200)
m := llm.New(llm.Config{Vocab: 256, Layers: 1, Width: 16, Heads: 2, Hidden: 32, Seed: 1})
run := train.Run(ctx, m, data.Windows(text, 16, 4), train.Options{Steps: 1000000, LR: optim.Constant(1e-3)})`

// A training is interrupted and keeps its steps; so it does where the client loses its connections meanwhile.
func TestTraining(t *testing.T) {
	k := start(t)
	id := k.ask(k.shell, "execute_request", content{"code": training})
	for m := k.next(k.iopub); m.kind != "update_display_data"; m = k.next(k.iopub) {
		if m.kind == "error" {
			t.Fatal(m.content["evalue"])
		}
	}
	for _, s := range []*socket{k.shell, k.control, k.stdin, k.iopub} {
		s.conn.Close()
	}
	k.connect("client")
	for m := k.next(k.iopub); m.kind != "update_display_data"; { // it went on
		m = k.next(k.iopub)
	}
	k.ask(k.control, "interrupt_request", content{})
	if m := k.next(k.control); m.kind != "interrupt_reply" || m.content["status"] != "ok" {
		t.Errorf("got %v", m)
	}
	if m := k.next(k.shell); m.content["ename"] != "interrupted" && m.content["status"] != "ok" {
		t.Errorf("got %v", m.content)
	}
	k.outputs(id)
	if _, list := k.run("len(run.Loss) > 0"); len(list) != 1 || data(list[0])["text/plain"] != "true" {
		t.Errorf("got %v, want the steps that were made", list)
	}
}

// Live lines change in one display, ten times a second.
func TestLiveLine(t *testing.T) {
	k := start(t)
	_, list := k.run(`for i := range 500 { progress.Report(ctx, progress.Event{Task: "work", Done: int64(i + 1), Total: 500}); time.Sleep(time.Millisecond) }`)
	names := kinds(list)
	updates := len(slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n != "update_display_data" }))
	if len(names) != updates+1 || names[0] != "display_data" || updates < 2 || updates > 50 {
		t.Fatalf("got %v", names)
	}
	last := fmt.Sprint(list[len(list)-1].content)
	if first := list[0].content["transient"].(map[string]any)["display_id"].(string); !strings.Contains(last, first) || !strings.Contains(last, "500/500") {
		t.Errorf("got %s, want the last state of display %s", last, first)
	}
}

// A live plot changes in one display, which has its last state in pixels, too.
func TestLivePlot(t *testing.T) {
	k := start(t)
	k.run("type pen struct{}\nfunc (pen) Snapshot() any { return plot.Line([]float64{1, 2}) }")
	_, list := k.run("for range 30 { progress.Draw(ctx, pen{}); time.Sleep(10*time.Millisecond) }\n7")
	names := kinds(list)
	if len(names) < 3 || len(names) > 10 || names[0] != "display_data" || names[len(names)-1] != "execute_result" {
		t.Fatalf("got %v", names)
	}
	last := list[len(list)-2]
	if !reflect.DeepEqual(last.content["transient"], list[0].content["transient"]) || data(last)["image/png"] == nil || data(list[0])["image/svg+xml"] == nil {
		t.Errorf("got %.300v and %.300v", list[0].content, last.content)
	}
}

func TestControl(t *testing.T) {
	k := start(t)
	k.ask(k.control, "debug_request", content{"type": "request", "seq": 3, "command": "attach"})
	if m := k.next(k.control); m.kind != "debug_reply" || m.content["success"] != false || m.content["request_seq"] != 3. {
		t.Errorf("got %v", m)
	}
	heartbeat := connect(t, k.c.Heartbeat, "REQ", "")
	heartbeat.send(nil, []byte("ping"))
	if got := heartbeat.frames(); string(got[len(got)-1]) != "ping" {
		t.Errorf("heartbeat: got %q", got)
	}
	second := *k.c
	if err := Run(t.Context(), &second, Options{}); err == nil || !strings.Contains(err.Error(), "is taken, perhaps by another kernel") {
		t.Errorf("a second kernel of the connection: got %v", err)
	}
	k.ask(k.shell, "execute_request", content{"code": "for { time.Sleep(time.Millisecond) }"})
	k.ask(k.control, "shutdown_request", content{"restart": true})
	if m := k.next(k.control); m.kind != "shutdown_reply" || m.content["restart"] != true {
		t.Errorf("got %v", m)
	}
	select {
	case err := <-k.ended:
		if k.ended <- err; err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Error("the kernel does not end")
	}
}

func TestReadConnection(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kernel.json")
	for _, c := range []struct{ text, err string }{
		{`{"shell_port": 1, "iopub_port": 2}`, ""},
		{`{"transport": "ipc", "ip": "/tmp/x", "shell_port": 1}`, "got port 0 for control"},
		{`{"transport": "udp"}`, `got transport "udp"`},
		{`{"key": "a", "signature_scheme": "hmac-md5"}`, "want hmac-sha256"},
		{`{"shell_port": 70000}`, "got port 70000 for shell"},
		{`shell`, "got no connection file"},
	} {
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadConnection(file); (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: got %v, want %s", c.text, err, c.err)
		}
	}
}
