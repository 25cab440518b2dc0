package main

import (
	"crypto/sha1"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcs-notebook/mcs/engine/chat"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/safetensors"
)

// writeModelFolders writes into dir a small model with a tokenizer and a chat template, and an adapter of it
// that changes what it says.
func writeModelFolders(t *testing.T, dir, model, adapter string) {
	t.Helper()
	m := llm.New(llm.Config{Vocab: 259, Layers: 2, Width: 64, Heads: 4, KVHeads: 2, Hidden: 96, Context: 4096, Seed: 7})
	for _, p := range nn.Params(m) { // larger numbers say different things
		p.Value().Set(p.Value().Mul(8).Eval())
	}
	if err := llm.Save(filepath.Join(dir, model), m); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"tokenizer.json", "tokenizer_config.json"} {
		text, err := os.ReadFile(filepath.Join("../../examples/chat", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, model, name), text, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	a, err := lora.Inject(m, lora.Config{Rank: 4, Alpha: 8, Init: lora.Random})
	if err == nil {
		err = errors.Join(os.MkdirAll(filepath.Join(dir, filepath.Dir(adapter)), 0o777), a.Save(filepath.Join(dir, adapter)))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// copyModel copies a folder of package llm's tests.
func copyModel(t *testing.T, dir, name, from string) {
	t.Helper()
	if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join("../../engine/llm/testdata", from))); err != nil {
		t.Fatal(err)
	}
}

// TestGenerateGreedy: the words are those of the tokens that transformers generates.
func TestGenerateGreedy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, family := range []string{"llama-3", "qwen3", "gemma2", "phi3"} {
		copyModel(t, dir, family, filepath.Join("families", family))
		expected, _, err := safetensors.Load(filepath.Join(dir, family, "expected.safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		vocabulary := map[string]int{}
		for id := range 48 {
			vocabulary[fmt.Sprintf("w%d", id)] = id
		}
		text, _ := json.Marshal(map[string]any{"model": map[string]any{"type": "WordLevel", "vocab": vocabulary, "unk_token": "w0"},
			"pre_tokenizer": map[string]any{"type": "WhitespaceSplit"}})
		if err := os.WriteFile(filepath.Join(dir, family, "tokenizer.json"), text, 0o666); err != nil {
			t.Fatal(err)
		}
		words := func(ids []int) string {
			var list []string
			for _, id := range ids {
				list = append(list, fmt.Sprintf("w%d", id))
			}
			return strings.Join(list, " ")
		}
		greedy := expected["greedy"].Ints()
		want := words(greedy)
		stdout, stderr, code := mcs(t, dir, "", "generate", family, words(expected["ids"].Ints()[:5]), "--tokens", fmt.Sprint(len(greedy)))
		if code != 0 || strings.TrimSpace(stdout) != want {
			t.Errorf("%s: code %d, got\n%s\nwant\n%s\n%s", family, code, stdout, want, stderr)
		}
	}
}

// TestChatAnswers: a script's messages are answered as transformers answers them, each with all that was
// said.
func TestChatAnswers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	copyModel(t, dir, "model", "chat")
	text, err := os.ReadFile(filepath.Join(dir, "model", "chats.json"))
	var chats []struct {
		Messages []chat.Message
		Answer   string
	}
	if err == nil {
		err = json.Unmarshal(text, &chats)
	}
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, c := range chats {
		last := len(c.Messages) - 1
		args := []string{"chat", "model", "--temperature", "0", "--tokens", "24"}
		if last == 1 {
			args = append(args, "--system", c.Messages[0].Content)
		} else if last > 1 {
			continue // one that another model began
		}
		ran++
		stdout, stderr, code := mcs(t, dir, c.Messages[last].Content+"\n", args...)
		if code != 0 || stdout != c.Answer+"\n" {
			t.Errorf("%q: code %d, got %q, want %q\n%s", c.Messages, code, stdout, c.Answer, stderr)
		}
	}
	if ran < 2 {
		t.Errorf("%d conversations were held, want 2", ran)
	}
	m, err := llm.Load(t.Context(), filepath.Join(dir, "model"))
	if err != nil {
		t.Fatal(err)
	}
	o := m.Defaults
	o.Temperature, o.Tokens = 0, 12
	var said []chat.Message
	want := ""
	for _, line := range []string{"the fox", "and the dog?"} {
		said = append(said, chat.Message{Role: "user", Content: line})
		answer, err := m.Chat(t.Context(), said, o)
		if err != nil {
			t.Fatal(err)
		}
		said, want = append(said, chat.Message{Role: "assistant", Content: answer}), want+strings.TrimSuffix(answer, "\n")+"\n"
	}
	first, _, _ := strings.Cut(want, said[3].Content)
	stdout, stderr, code := mcs(t, dir, "the fox\n\nand the dog?\r\n/clear\nthe fox", "chat", "model", "--temperature", "0", "--tokens", "12")
	if code != 0 || stdout != want+first {
		t.Errorf("code %d, got %q, want %q\n%s", code, stdout, want+first, stderr)
	}
}

// TestChatInTerminal: Ctrl-C stops an answer and the conversation goes on, Ctrl-D leaves.
func TestChatInTerminal(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("creack/pty has no pseudo-terminals on windows")
	}
	dir := t.TempDir()
	writeModelFolders(t, dir, "model", "adapter")
	cmd := exec.Command(os.Args[0], "chat", "model", "--tokens", "1000000", "--temperature", "3", "--seed", "1")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), beCommand+"=1")
	n := startInTerminal(t, cmd)
	defer n.kill()
	// While no line is read a terminal throws away what was typed before Ctrl-C.
	prompt := "\x1b[2K\r" + turn
	n.see(t, "Ctrl-D leaves")
	for range 2 {
		n.see(t, prompt)
		n.send(t, "hello\r")
		n.see(t, "hello\r\n")
		n.forget()
		n.see(t, "e") // of what it says
		n.send(t, "\x03")
		n.see(t, "(stopped: ")
	}
	n.see(t, prompt)
	n.send(t, "/clear\r")
	n.see(t, "(begun anew)")
	n.forget()
	n.send(t, " \b")
	n.see(t, prompt)
	n.send(t, "\x03")
	n.see(t, "Ctrl-D leaves", prompt)
	n.send(t, "\x04")
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%q", err, &n.seen)
	}
}

// TestEval: losses in windows are those of transformers, and bits a byte follow from them.
func TestEval(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/perplexity.json")
	var want struct {
		Text          string
		Bytes, Length int
		Cases         []struct {
			Window, Stride, Tokens int
			Loss                   float64
		}
	}
	if err == nil {
		err = json.Unmarshal(text, &want)
	}
	if err != nil {
		t.Fatal(err)
	}
	dir := writeFiles(t, map[string]string{"text.txt": want.Text})
	copyModel(t, dir, "model", "chat")
	for _, c := range want.Cases {
		stdout, stderr, code := mcs(t, dir, "", "eval", "model", "text.txt", "--json", "--window", fmt.Sprint(c.Window), "--stride", fmt.Sprint(c.Stride))
		var got evaluation
		if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != 0 {
			t.Fatalf("code %d, %v: %s%s", code, err, stdout, stderr)
		}
		bits := c.Loss / math.Ln2 * float64(want.Length) / float64(want.Bytes)
		if !near(got.Loss, c.Loss) || !near(got.Perplexity, math.Exp(c.Loss)) || !near(got.BitsByte, bits) || got.Tokens != c.Tokens || got.Bytes != want.Bytes || got.File != "text.txt" {
			t.Errorf("window %d, stride %d: got %+v, want loss %v of %d tokens, %v bits a byte", c.Window, c.Stride, got, c.Loss, c.Tokens, bits)
		}
	}
	stdout, stderr, code := mcs(t, dir, "", "eval", "model", "text.txt", "text.txt")
	line := "text.txt: loss 6.7200 · perplexity 828.8 · [..] bits a byte · 369 tokens, 676 bytes · window 256, stride 128"
	if code != 0 || !matches(line+"\n"+line, stdout) {
		t.Errorf("code %d, got\n%s\nwant two of\n%s\n%s", code, stdout, line, stderr)
	}
}

func near(got, want float64) bool { return math.Abs(got-want) <= 1e-5*math.Abs(want) }

// TestFuseAndConvert: what a model says with its adapter, the fused one says in every format.
func TestFuseAndConvert(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeModelFolders(t, dir, "model", "adapter")
	says := func(args ...string) string {
		t.Helper()
		stdout, stderr, code := mcs(t, dir, "", append(append([]string{"generate"}, args...), "to be", "--tokens", "24")...)
		if code != 0 || stdout == "" {
			t.Fatalf("%q: code %d, %s", args, code, stderr)
		}
		return stdout
	}
	plain, want := says("model"), says("model", "--adapter", "adapter")
	if plain == want {
		t.Fatalf("the adapter changes nothing: %q", plain)
	}
	for _, c := range []struct {
		args, stdout string // as a .mcs file would expect it
		made, says   string
	}{
		{"fuse model fused --adapter adapter", "merged 14 of 14 layers\n14 in f32: exactly\nfused: [..] KiB", "fused", want},
		{"fuse model fused.gguf --adapter adapter", "merged 14 of 14 layers\n...\nfused.gguf: [..] KiB", "fused.gguf", want},
		{"fuse model fused --adapter adapter -f", "merged 14 of 14 layers\n...", "fused", want},
		{"convert model model.gguf", "model.gguf: [..] KiB, from weights of [..] KiB", "model.gguf", plain},
		{"convert model.gguf again", "again: [..]", "again", plain},
		{"fuse model.gguf third --adapter adapter", "merged 14 of 14 layers\n...", "third", want},
	} {
		stdout, stderr, code := mcs(t, dir, "", strings.Fields(c.args)...)
		if code != 0 || !matches(c.stdout, stdout) {
			t.Errorf("%s: code %d, got\n%s\nwant\n%s\n%s", c.args, code, stdout, c.stdout, stderr)
		} else if got := says(c.made); got != c.says {
			t.Errorf("%s: it says %q, want %q", c.args, got, c.says)
		}
	}
}

// TestQuantize: each type has its size, and loses little; codes of a file are fused as f16.
func TestQuantize(t *testing.T) {
	t.Parallel()
	dir := writeFiles(t, map[string]string{"text.txt": strings.Repeat("to be or not to be, that is the question\n", 8)})
	writeModelFolders(t, dir, "model", "adapter")
	loss := func(model string) float64 {
		stdout, stderr, _ := mcs(t, dir, "", "eval", model, "text.txt", "--json")
		var got evaluation
		if err := json.Unmarshal([]byte(stdout), &got); err != nil {
			t.Fatalf("%v: %s%s", err, stdout, stderr)
		}
		return got.Loss
	}
	size := func(name string) float64 {
		stat, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return float64(stat.Size())
	}
	full := size("model/model.safetensors")
	for _, c := range []struct {
		typ        string
		bits, loss float64 // of a weight; how much the loss may change by
	}{{"q8_0", 8.5, 0.05}, {"q4_0", 4.5, 0.5}, {"q6_k", 8.5, 0.05}, {"q4_k_m", 5.5, 0.3}} {
		name := c.typ + ".gguf"
		stdout, stderr, code := mcs(t, dir, "", "quantize", "model", name, "--to", c.typ)
		if code != 0 || !matches(name+": [..] KiB, from weights of [..] KiB", stdout) {
			t.Fatalf("%s: code %d, %s%s", c.typ, code, stdout, stderr)
		}
		if share, want := size(name)/full, c.bits/32; share < want || share > want+0.2 { // settings and tokenizer are beside it
			t.Errorf("%s: got %.2f of the size, want a little more than %.2f", c.typ, share, want)
		}
		if got, want := loss(name), loss("model"); math.Abs(got-want) > c.loss*want {
			t.Errorf("%s: got loss %v, want about %v", c.typ, got, want)
		}
	}
	for _, c := range []struct {
		args       string
		size, loss float64 // most of the size; how much the loss may change by
	}{{"mlx8 --group 32", 0.36, 0.05}, {"mlx4 --group 32", 0.24, 0.3}, {"awq --group 32 --text text.txt", 0.6, 0.3}} {
		to, _, _ := strings.Cut(c.args, " ")
		stdout, stderr, code := mcs(t, dir, "", append([]string{"quantize", "model", to, "--to"}, strings.Fields(c.args)...)...)
		if code != 0 || !matches(to+": [..] KiB, from weights of [..] KiB", stdout) {
			t.Fatalf("%s: code %d, %s%s", to, code, stdout, stderr)
		}
		if share := size(to+"/model.safetensors") / full; share > c.size {
			t.Errorf("%s: got %.2f of the size, want at most %.2f", to, share, c.size)
		}
		if got, want := loss(to), loss("model"); math.Abs(got-want) > c.loss*want {
			t.Errorf("%s: got loss %v, want about %v", to, got, want)
		}
	}
	stdout, stderr, code := mcs(t, dir, "", "fuse", "q4_0.gguf", "fused", "--adapter", "adapter")
	if code != 0 || !matches("merged 14 of 14 layers\n14 in f16: rounded[..]\nfused: [..] KiB", stdout) {
		t.Errorf("fuse: code %d, %s%s", code, stdout, stderr)
	}
}

// TestModelOfHub: a name that nothing here begins as is a repository's, whose files are fetched once.
func TestModelOfHub(t *testing.T) {
	t.Parallel()
	const from, commit = "../../engine/llm/testdata/chat", "0123456789012345678901234567890123456789"
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	var siblings []map[string]any
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(b)), b...))
		siblings = append(siblings, map[string]any{"rfilename": e.Name(), "size": len(b), "blobId": fmt.Sprintf("%x", sum)})
	}
	var fetched atomic.Int32
	hub := http.NewServeMux()
	hub.HandleFunc("/api/models/org/name/revision/main", func(w http.ResponseWriter, _ *http.Request) {
		json.NewEncoder(w).Encode(map[string]any{"sha": commit, "siblings": siblings})
	})
	files := http.StripPrefix("/org/name/resolve/"+commit, http.FileServer(http.Dir(from)))
	hub.HandleFunc("/org/name/resolve/", func(w http.ResponseWriter, r *http.Request) {
		fetched.Add(1)
		files.ServeHTTP(w, r)
	})
	server := httptest.NewServer(hub)
	defer server.Close()
	env := []string{"HF_ENDPOINT=" + server.URL, "MCS_HUB=" + t.TempDir()}
	dir := t.TempDir()
	copyModel(t, dir, "model", "chat")
	var said []string
	for _, name := range []string{"model", "org/name", "org/name"} {
		stdout, stderr, code := mcsWith(t, dir, env, "", "generate", name, "a fox", "--temperature", "0", "--tokens", "12")
		if code != 0 {
			t.Fatalf("%s: code %d, %s", name, code, stderr)
		}
		said = append(said, stdout)
	}
	if n := int(fetched.Load()); said[1] != said[0] || said[2] != said[0] || n == 0 || n > len(entries) {
		t.Errorf("got %q by %d requests for files, want three times the same and each file once", said, n)
	}
	if err := os.Mkdir(filepath.Join(dir, "org"), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := mcsWith(t, dir, env, "", "generate", "org/name", "a fox"); code != exitUsage || !strings.Contains(stderr, "open org/name") {
		t.Errorf("a folder org is here: code %d, %s", code, stderr)
	}
}

// TestModelErrors: what is wrong is said before long work, and nothing is written.
func TestModelErrors(t *testing.T) {
	t.Parallel()
	dir := writeFiles(t, map[string]string{"text.txt": "to be or not to be", "letter.txt": "a", "file": "", "taken.gguf": ""})
	writeModelFolders(t, dir, "model", "adapter")
	copyModel(t, dir, "other", "chat")
	copyModel(t, dir, "family", "families/llama-3")
	os.Mkdir(filepath.Join(dir, "empty"), 0o777)
	for _, c := range []struct {
		args, stderr string
		code         int
	}{
		{"chat", "chat: got 0 arguments, takes 1: mcs chat MODEL", 2},
		{"chat none", "llm: open none: [..]", 2},
		{"chat family", "chat: got a model without a chat template[..]Generate goes on from any text, as mcs generate does", 2},
		{"chat model --adapter none", "chat: stat none: [..]", 2},
		{"chat other --adapter adapter", "lora: adapter/adapter_model.safetensors: [..]q_proj[..]", 2},
		{"chat model --temperature -1", "chat: got --temperature -1, want 0 or more", 2},
		{"chat model --top-p 2", "chat: got --top-p 2, want a probability above 0", 2},
		{"generate model x --tokens 0", "generate: got --tokens 0, want at least 1", 2},
		{"generate model x y", "generate: got 3 arguments, takes a model and a prompt in quotes", 2},
		{"generate model x --stop=", `generate: got --stop "", want a text`, 2},
		{"generate family x", "generate: got a vocabulary of 48 and no tokenizer[..]", 1},
		{"eval model", "eval: got no file, takes a model and one text or more, or --tasks", 2},
		{"eval model text.txt none.txt", "eval: [..]none.txt[..]", 2},
		{"eval model text.txt --window 8 --stride 9", "eval: got --window 8 and --stride 9, want [..]", 2},
		{"eval other text.txt --window 257", "eval: got --window 257, want at most the model's context of 256 tokens", 2},
		{"eval family text.txt", "eval: got a vocabulary of 48 and no tokenizer[..]", 2},
		{"eval model letter.txt", "eval: letter.txt: got a text of 1 token, want at least 2", 1},
		{"fuse model out", "fuse: got no --adapter, want the adapter's folder", 2},
		{"fuse model empty --adapter adapter", "fuse: empty exists; -f replaces it", 2},
		{"fuse model empty --adapter adapter --force", "fuse: empty is a folder without a model, which is not replaced", 2},
		{"fuse model file --adapter adapter -f", "fuse: file is a file, want a folder, or a name that ends in .gguf", 2},
		{"fuse model none/out --adapter adapter", "fuse: stat none: [..]", 2},
		{"quantize model out.gguf --to q3_k_m", "quantize: got --to q3_k_m, want one of q8_0, q6_k, q4_k_m, q4_0, mlx8, mlx4, awq", 2},
		{"quantize model out", "quantize: got out for --to q8_0, want a name that ends in .gguf", 2},
		{"quantize model out.gguf --to mlx4", "quantize: got out.gguf for --to mlx4, which makes a folder", 2},
		{"quantize model out --to awq", `quantize: got --to awq and --text "", want a text for awq, and for nothing else`, 2},
		{"quantize model out --to awq --text none", "quantize: [..]none[..]", 2},
		{"quantize model out --to awq --text letter.txt", "llm: got 1 tokens of a text, want at least 32[..]", 1},
		{"quantize model out --to mlx4 --group 48", "llm: got 4 bits in groups of 48 for mlx, want [..]", 1},
		{"quantize model taken.gguf", "quantize: taken.gguf exists; -f replaces it", 2},
		{"convert model taken.gguf", "convert: taken.gguf exists; -f replaces it", 2},
		{"convert model model", "convert: model exists; -f replaces it", 2},
	} {
		stdout, stderr, code := mcs(t, dir, "", strings.Fields(c.args)...)
		if code != c.code || stdout != "" || !matches("mcs: "+c.stderr, stderr) {
			t.Errorf("%s: code %d, %s%s\nwant code %d, mcs: %s", c.args, code, stdout, stderr, c.code, c.stderr)
		}
		for _, name := range []string{"out", "out.gguf"} {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				t.Errorf("%s: it wrote %s", c.args, name)
			}
		}
	}
}
