package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/chat"
	"github.com/mcs-notebook/mcs/engine/embed"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
)

// startServe runs mcs serve on a free port, and returns the address and what Ctrl-C does.
func startServe(t *testing.T, dir string, args ...string) (address string, stop func() error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{"serve", "--port", "0"}, args...)...)
	cmd.Dir, cmd.Env, cmd.Stderr = dir, append(os.Environ(), beCommand+"=1"), os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Scan()
	_, address, ok := strings.Cut(lines.Text(), ": ")
	if !ok {
		t.Fatalf("got %q", lines.Text())
	}
	return address, func() error {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Skip("this system interrupts no process: ", err)
		}
		for lines.Scan() {
		}
		return cmd.Wait()
	}
}

// TestServeClient: OpenAI's package gets from mcs serve what the model says.
func TestServeClient(t *testing.T) {
	t.Parallel()
	if out, err := exec.Command("python3", "-c", "import openai").CombinedOutput(); err != nil {
		t.Skipf("python3 with openai of PyPI is not there to ask the server: %v %s", err, out)
	}
	dir := t.TempDir()
	writeModelFolders(t, dir, "model", "adapter")
	if err := os.CopyFS(filepath.Join(dir, "vectors"), os.DirFS("../../engine/embed/testdata/jina3-tasks")); err != nil {
		t.Fatal(err)
	}
	address, stop := startServe(t, dir, "model", "--adapter", "tuned=adapter", "--embed", "vectors", "--token", "secret")
	out, err := exec.CommandContext(t.Context(), "python3", "../../tests/peers/openai_client.py", address, "model", "tuned", "vectors").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var got struct {
		Chat, Adapter string
		Task          []float32
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	m, err := llm.Load(t.Context(), filepath.Join(dir, "model"))
	if err != nil {
		t.Fatal(err)
	}
	of, err := embed.LoadTask(t.Context(), filepath.Join(dir, "vectors"), "where.query")
	if err != nil {
		t.Fatal(err)
	}
	if want, err := of.Encode(t.Context(), "a fox"); err != nil || !slices.Equal(got.Task, want.Floats()) {
		t.Errorf("a task: got %v, want %v, %v", got.Task, want, err)
	}
	says := func() string {
		answer, err := m.Chat(t.Context(), []chat.Message{{Role: "system", Content: "be brief"}, {Role: "user", Content: "a fox"}}, llm.Sampling{Tokens: 24})
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	if want := says(); got.Chat != want {
		t.Errorf("got %q, want %q", got.Chat, want)
	}
	if _, err := lora.Load(filepath.Join(dir, "adapter"), m); err != nil {
		t.Fatal(err)
	}
	if want := says(); got.Adapter != want || got.Adapter == got.Chat {
		t.Errorf("adapter: got %q, want %q", got.Adapter, want)
	}
	if err := stop(); err != nil {
		t.Errorf("Ctrl-C: %v", err)
	}
}

// TestServeStarts: the examples of the help serve, and what cannot be served is said.
func TestServeStarts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeModelFolders(t, dir, "Qwen2.5-0.5B-Instruct", "tuned/adapter")
	if err := os.CopyFS(filepath.Join(dir, "all-MiniLM-L6-v2"), os.DirFS("../../engine/embed/testdata/bert")); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(serveCommand().Example) {
		args := strings.Fields(line)[2:]
		for i, arg := range args {
			if arg == "--port" {
				args[i+1] = "0"
			}
		}
		address, stop := startServe(t, dir, args...)
		if !strings.HasSuffix(address, "/v1") {
			t.Errorf("%s: got %q", line, address)
		}
		if err := stop(); err != nil {
			t.Errorf("%s: Ctrl-C: %v", line, err)
		}
	}
	for args, want := range map[string]string{
		"": "got no model", "a b": "got 2 models", "none": "open none", "--embed none": "none", "Qwen2.5-0.5B-Instruct --adapter none": "stat none",
		"Qwen2.5-0.5B-Instruct --adapter tuned/adapter --adapter tuned/adapter": "got two models that are called adapter",
		"Qwen2.5-0.5B-Instruct --rows 0":                                        "want positive numbers",
		"--embed all-MiniLM-L6-v2 --adapter x":                                  "without a model",
	} {
		if _, stderr, code := mcs(t, dir, "", append([]string{"serve"}, strings.Fields(args)...)...); code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%s: got %d %s, want %s", args, code, stderr, want)
		}
	}
}
