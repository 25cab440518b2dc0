package honesty

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/bench"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/machine"
	"github.com/mcs-notebook/mcs/internal/testing/long"
	"github.com/mcs-notebook/mcs/magics"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/session"
)

// TestMain lets tests run at once whose bars do not depend on the machine's speed: what measures waits most
// of the time, to hear what else goes on.
func TestMain(m *testing.M) {
	flag.Parse()
	flag.Set("test.parallel", "4")
	os.Exit(m.Run())
}

// A notebook is a real session whose values are inspected without rendering.
type notebook struct {
	t *testing.T
	*session.Session
	printed lockedBuffer
	said    lockedBuffer // notices
}

func open(t *testing.T) *notebook {
	t.Helper()
	n := &notebook{t: t}
	s, err := session.New(session.Options{Commands: magics.Table{}, Stdout: &n.printed, Stderr: &n.said, Render: func(v display.Value, _ int) display.Value { return v }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	n.Session = s
	return n
}

// run runs a cell that works, and returns its last shown value.
func (n *notebook) run(cell string) display.Value {
	n.t.Helper()
	r := n.Run(n.t.Context(), cell)
	if r.Err != nil {
		n.t.Fatalf("%s\n%v", cell, r.Err)
	}
	if len(r.Shown) == 0 {
		return display.Text("")
	}
	return r.Shown[len(r.Shown)-1]
}

// timed is the result of a %timeit.
func (n *notebook) timed(cell string) *bench.Result {
	n.t.Helper()
	r := new(bench.Result)
	decode(n.t, n.run(cell), r)
	return r
}

func decode(t *testing.T, v display.Value, into any) {
	t.Helper()
	js, err := v.(interface{ JSON() ([]byte, error) }).JSON()
	if err == nil {
		err = json.Unmarshal(js, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.b.String()
	l.b.Reset()
	return text
}

// size is the side of the matrices: a product takes many times as long as building its graph.
const (
	size    = 192
	product = 2 * size * size * size // operations
)

const matrices = `x, w := tensor.Randn(192, 192).Eval(), tensor.Randn(192, 192).Eval()
g := tensor.Randn(192, 192).Eval()
p, y := x, x
m := map[string]tensor.Tensor{"p": x}
list := make([]tensor.Tensor, 3)
box := struct{ Deep *struct{ Y tensor.Tensor } }{&struct{ Y tensor.Tensor }{}}
ch := make(chan tensor.Tensor, 1<<20)
on := true
func step() { y = x.MatMul(w) }
func update() { p = p.Sub(g.Mul(0.1)) }`

// fastest is the least time that a product takes in compiled code.
func fastest() float64 {
	x, w := tensor.Randn(size, size).Eval(), tensor.Randn(size, size).Eval()
	least := time.Hour
	for range 30 {
		start := time.Now()
		x.MatMul(w).Eval().Free()
		least = min(least, time.Since(start))
	}
	return least.Seconds()
}

// Building a graph is not computing: the time of a statement is the time of its products, whatever it does
// with its tensors.
func TestGraphBuildingIsNotTheTime(t *testing.T) {
	n := open(t)
	n.run(matrices)
	least := fastest()
	for i, tt := range []struct {
		statement string
		products  int
	}{
		{`x.MatMul(w)`, 1},
		{`_ = x.MatMul(w)`, 1},
		{`var q = x.MatMul(w); _ = q`, 1},
		{`step()`, 1},
		{`for i := range 3 { _ = x.MatMul(w.Add(i)) }`, 3},
		{`if on { _ = x.MatMul(w) }`, 1},
		{`m["y"] = x.MatMul(w)`, 1},
		{`list[1] = x.MatMul(w)`, 1},
		{`box.Deep.Y = x.MatMul(w)`, 1},
		{`ch <- x.MatMul(w)`, 1},
		{`func() func() tensor.Tensor { z := x.MatMul(w); return func() tensor.Tensor { return z } }()`, 1},
		{`done := make(chan bool); go func() { _ = x.MatMul(w); close(done) }(); <-done`, 1},
		{`var all sync.WaitGroup; all.Go(func() { _ = x.MatMul(w) }); all.Wait()`, 1},
		{`z := x.MatMul(w); z.Free()`, 1},
		{`x.MatMul(w).Eval()`, 1},
	} {
		if i%3 > 0 && !long.CI() {
			continue
		}
		r := n.timed("%timeit -t 30ms " + tt.statement)
		if r.Median < least*float64(tt.products)/2 { // the machine may have done other work before
			least = min(least, fastest())
		}
		switch got := r.Tally.Flops / product; {
		case r.Refused != "" || r.Uneven:
			t.Errorf("%s: no time: %s, or other work in each run: %v", tt.statement, r.Refused, r.Notes)
		case got != int64(tt.products):
			t.Errorf("%s: did the work of %d products, want %d", tt.statement, got, tt.products)
		case r.Median < least*float64(tt.products)/2:
			t.Errorf("%s: got %v s for %d products, of which the fastest took %v s", tt.statement, r.Median, tt.products, least)
		}
	}
	text := n.run(`%bench -t 200ms step() ; x.MatMul(w)`).Text(80)
	if m := claim.FindStringSubmatch(text); m != nil {
		if times, err := strconv.ParseFloat(m[1], 64); err != nil || times > 3 {
			t.Errorf("step() against its own product: got\n%s", text)
		}
	}
}

// claim is that one statement takes another's time so many times.
var claim = regexp.MustCompile(`([0-9.]+)× (?:slower|faster)`)

// Nor is it the time between two readings of a clock: a session says so, once.
func TestClockReadByHand(t *testing.T) {
	n := open(t)
	n.run(matrices)
	n.run(`start := time.Now(); y = x.MatMul(w).Eval(); fmt.Println(time.Since(start))`)
	if text := n.said.take(); text != "" {
		t.Errorf("what is evaluated is in the time: got %q", text)
	}
	n.run(`start = time.Now(); y = x.MatMul(w); fmt.Println(time.Since(start))`)
	if text := n.said.take(); !strings.Contains(text, "before matmul f32[192 192] of In[3]:1 was computed: tensors are lazy") {
		t.Errorf("got %q", text)
	}
}

// The same holds for compiled programs without an Eval.
func TestGraphBuildingInPrograms(t *testing.T) {
	long.InCI(t, "measures for seconds")
	x, w := tensor.Randn(size, size).Eval(), tensor.Randn(size, size).Eval()
	if r := bench.Time(func() { _ = x.MatMul(w) }); r.Tally.Flops != product || r.Median < fastest()/2 {
		t.Errorf("bench.Time: got %v with %d flops, the fastest product takes %v s", r, r.Tally.Flops, fastest())
	}
	steady(t, func() string {
		c, err := bench.Compare(t.Context(), []bench.Case{
			{Name: "lazy", Run: func(n int) error {
				for range n {
					_ = x.MatMul(w)
				}
				return nil
			}},
			{Name: "evaluated", Run: func(n int) error {
				for range n {
					x.MatMul(w).Eval()
				}
				return nil
			}},
		}, bench.Options{Time: 200 * time.Millisecond})
		if err != nil || c.Lines[0].Result.Tally.Launches != 1 || c.Lines[1].Ratio > 3 {
			return fmt.Sprintf("bench.Compare: got %v, %v", c, err)
		}
		return ""
	})
}

// steady wants f to have nothing to say in one of three calls: what other programs do to a measurement is not
// there each time, and what mcs does is.
func steady(t *testing.T, f func() string) {
	t.Helper()
	what := f()
	for range 2 {
		if what != "" {
			what = f()
		}
	}
	if what != "" {
		t.Error(what)
	}
}

// Equal work that is computed once is named, and work that cannot be computed has no time.
func TestWorkThatWasNotDone(t *testing.T) {
	t.Parallel()
	n := open(t)
	n.run(matrices)
	if text := n.run(`%timeit -t 50ms for range 10 { _ = x.MatMul(w) }`).Text(80); !strings.Contains(text, "matmul f32[192 192] was asked for 9 times more, and computed once") {
		t.Errorf("ten equal products: got\n%s", text)
	}
	for name, cell := range map[string]string{
		"of a tensor that was freed": "%timeit -t 50ms z := x.Add(1).Eval(); _ = z.Exp(); z.Free()",
	} {
		if r := n.Run(t.Context(), cell); r.Err == nil {
			t.Errorf("%s: got %s, want an error", name, r.Shown[0].Text(80))
		}
	}
}

// Each run starts from the same state, and so does the code after it. If that is not possible, there is no
// time.
func TestStateDoesNotGrow(t *testing.T) {
	t.Parallel()
	n := open(t)
	n.run(matrices)
	n.run("before := p.Snapshot()\ncalls := 0\nhidden := func() func() { y := x; return func() { y = y.Sub(g.Mul(0.1)) } }()")
	const flops = 2 * size * size
	n.run("closure := func() { calls++; p = p.Sub(g.Mul(0.1)) }\nclosures := map[string]func(){\"again\": func() { closure() }}")
	for i, statement := range []string{`p = p.Sub(g.Mul(0.1))`, `update()`, `closure()`, `closures["again"]()`, `p.Set(p.Sub(g.Mul(0.1)))`, `calls++; p = p.Sub(g.Mul(0.1))`} {
		if i%3 > 0 && !long.CI() {
			continue
		}
		if r := n.timed("%timeit -t 50ms " + statement); r.Refused != "" || r.Tally.Flops != flops {
			t.Errorf("%s: got %d flops a run, want %d; %s", statement, r.Tally.Flops, flops, r.Refused)
		}
		n.run("%time " + statement)
		if strings.HasSuffix(statement, "()") {
			n.run("p, calls = before, 0") // the cell asked for one run
		}
		n.run("%kernels -diff " + statement)
		n.run("%profile -t 50ms " + statement)
		if text := n.run("tensor.MaxAbsDiff(p, before) + float64(calls)").Text(80); text != "0 float64" {
			t.Errorf("%s: p and calls have changed by %s", statement, text)
		}
		n.run("p, calls = before, 0")
	}
	for _, statement := range []string{
		`m["p"] = m["p"].Sub(g.Mul(0.1))`,
		`hidden()`,
		`box.Deep.Y = func() tensor.Tensor { if box.Deep.Y.IsNone() { return x }; return box.Deep.Y.Sub(g) }()`,
	} {
		if r := n.timed("%timeit -t 50ms " + statement); !strings.Contains(r.Refused, "each run starts from what the one before left; -setup gives each the same start") {
			t.Errorf("%s: got %v", statement, r)
		}
	}
	n.run("at := x")
	if r := n.timed(`%timeit -t 50ms -setup 'at = tensor.Randn(192, 192).MatMul(w)' at.Sub(g.Mul(0.1))`); r.Refused != "" || r.Uneven || r.Tally.Flops != flops {
		t.Errorf("the work of -setup: got %v, %d flops, want %d without it", r, r.Tally.Flops, flops)
	}
	if text := n.run("tensor.MaxAbsDiff(at, x)").Text(80); text != "0 float64" {
		t.Errorf("-setup has changed a variable by %s", text)
	}
	if r := n.timed(`%timeit -t 50ms -setup 'm["p"] = x' m["p"] = m["p"].Sub(g.Mul(0.1))`); r.Refused != "" || r.Tally.Flops != flops {
		t.Errorf("with -setup: got %v, %d flops", r, r.Tally.Flops)
	}
}

// So does the code after a run that failed.
func TestFailedRunsArePutBack(t *testing.T) {
	t.Parallel()
	n := open(t)
	n.run("p, calls := tensor.Ones(8).Eval(), 0\nfunc fail() { calls++; p = p.Add(1).Eval(); panic(\"no\") }\nfunc step() { calls++; p = p.Add(1) }")
	for _, cell := range []string{"%time calls++; p = p.Add(1); panic(1)", "%timeit -t 50ms fail()", "%bench -t 50ms p ; fail()", "%kernels fail()", "%kernels -t fail()", "%kernels -diff fail()",
		"%graph fail()", "%roofline fail()", "%profile fail()", "%profile -n 1 fail()", "%lprof fail fail()"} {
		if r := n.Run(t.Context(), cell); r.Err == nil {
			t.Errorf("%s: got no error", cell)
		}
		if text := n.run("fmt.Sprint(p.Sum().Item(), calls)").Text(80); text != `"8 0"` {
			t.Errorf("%s: the sum of p, which was 8, and calls, of which there were none, are %s", cell, text)
		}
		n.run("p, calls = tensor.Ones(8).Eval(), 0")
	}
	if text := n.run("%lprof -t 50ms step step()\nfmt.Sprint(p.Sum().Item(), calls)").Text(80); text != `"8 0"` {
		t.Errorf("%%lprof: the sum of p, which was 8, and calls, of which there were none, are %s", text)
	}
}

// A value that was computed once and is then returned has no time that beats the machine.
func TestMemoHasNoTime(t *testing.T) {
	t.Parallel()
	n := open(t)
	n.run(matrices)
	n.run(`memo := map[int]tensor.Tensor{}
func product() tensor.Tensor {
	if _, ok := memo[1]; !ok { memo[1] = x.MatMul(w).Eval() }
	return memo[1]
}
var have tensor.Tensor
func remembered() tensor.Tensor {
	if have.IsNone() { have = x.MatMul(w).Eval() }
	return have
}`)
	if r := n.timed(`%timeit -t 50ms product()`); !strings.Contains(r.Refused, "computed once") {
		t.Errorf("a memo in a map: got %v", r)
	}
	if r := n.timed(`%timeit -t 50ms remembered()`); r.Refused == "" && r.Tally.Flops != product {
		t.Errorf("a memo in a variable, which is put back: got %v with %d flops", r, r.Tally.Flops)
	}
	n.run("clear(memo)")
	if r := n.timed(`%timeit -t 50ms product().Add(1)`); !strings.Contains(strings.Join(r.Notes, "\n"), "the very first run, which is not timed, made 2 launches of 14.2 MFLOP") {
		t.Errorf("a memo of a part: got %v", r)
	}
	if text := n.run(`%bench -t 50ms product() ; x.MatMul(w)`).Text(80); !strings.Contains(text, "makes 1 launch, and product() 0") && !strings.Contains(text, "not compared") {
		t.Errorf("a memo against its product: that it computes nothing is missing in\n%s", text)
	}
	calls := 0
	ignores := func(int) error {
		calls++
		_ = x512(calls).Sum().Item()
		return nil
	}
	steady(t, func() string {
		if r, err := bench.Measure(t.Context(), ignores, bench.Options{Time: 50 * time.Millisecond}); err != nil || r.Refused == "" {
			return fmt.Sprintf("a function that ignores n: got %v, %v", r, err)
		}
		return ""
	})
}

func x512(i int) tensor.Tensor { return tensor.Full(float64(i), 64, 64).Eval() }

var averages = regexp.MustCompile(`\bmean\b`)

// Sides of a comparison that do different work are named.
func TestDifferentWorkIsNamed(t *testing.T) {
	t.Parallel()
	n := open(t)
	n.run(matrices)
	for i, tt := range []struct{ cell, want string }{
		{`x.MatMul(w) ; x.Slice(0, 0, 96).MatMul(w)`, "gives f32[96 192]"},
		{`x.MatMul(w) ; x.MatMul(w).MatMul(w)`, "makes 2 launches"},
		{`x.MatMul(w) ; w.MatMul(x)`, "differs from x.MatMul(w) by up to"},
		{`x.MatMul(w) ; x.Cast(dtype.BF16).MatMul(w.Cast(dtype.BF16)).Cast(dtype.F32)`, "bf16"},
		{`a := x.MatMul(w).Mul(2) ; b := x.MatMul(w)`, "differs from a by up to"},
		{`a := x.Sum().Item() ; b := x.Sum().Item() + 1`, "differs from a by up to"},
		{`a := []string{"p"} ; b := []string{"q"}`, "gives other values than a"},
		{`a := x.Sum().Item() ; b := x.Sum()`, "gives f32[], and a float64"},
	} {
		if i%3 > 0 && !long.CI() {
			continue
		}
		text := n.run("%bench -t 50ms " + tt.cell).Text(80)
		if !strings.Contains(text, tt.want) {
			t.Errorf("%s: want %q in\n%s", tt.cell, tt.want, text)
		}
		if averages.MatchString(text) { // of ratios, for example
			t.Errorf("%s: averages what is not to be averaged:\n%s", tt.cell, text)
		}
	}
	if text := n.run(`%bench -t 50ms a := x.MatMul(w) ; b := x.MatMul(w)`).Text(80); strings.Contains(text, "gives") || strings.Contains(text, "makes") {
		t.Errorf("equal work: got\n%s", text)
	}
}

// Sides that change each other are named: what was said of the first run of a side does not hold for its
// later ones.
func TestSidesThatChangeEachOther(t *testing.T) {
	t.Parallel()
	n := open(t)
	n.run(`m := llm.New(llm.Config{Vocab: 256, Layers: 1, Width: 64, Heads: 4, Hidden: 128, Seed: 1})
ids := tensor.RandInt(0, 256, 1, 32).Eval()
ad := lora.Inject(m, lora.Config{Rank: 8})`)
	text := n.run(`%bench -t 50ms base := m.Logits(ids) ; merged := func() tensor.Tensor { ad.Merge(); return m.Logits(ids) }()`).Text(1000)
	if !strings.Contains(text, "base: the runs did not all do the same") {
		t.Errorf("the one side merges the adapter of the other: got\n%s", text)
	}
	n.run("ad.Unmerge()")
	text = n.run(`%bench -t 50ms base := m.Logits(ids) ; again := m.Logits(ids.Add(0))`).Text(1000)
	if strings.Contains(text, "all do the same") {
		t.Errorf("sides that leave each other alone: got\n%s", text)
	}
}

// A variable that was not computed is computed inside of the clock, and launches of other goroutines are
// not counted.
func TestWhoseWorkItIs(t *testing.T) {
	n := open(t)
	n.run(matrices)
	n.run("late := x.MatMul(w)")
	if text := n.run("%time late").Text(80); !strings.Contains(text, "· 1 launch ·") {
		t.Errorf("%%time of a lazy variable: got\n%s", text)
	}
	n.run("stop := make(chan bool)\nstarted := make(chan bool)\ngo func() { close(started); for { select { case <-stop: return; default: x.Add(1).Eval() } } }()\n<-started")
	defer n.run("close(stop)")
	r := struct{ Launches, Others int }{}
	for range 20 {
		decode(t, n.run("%kernels for range 20 { x.MatMul(w).Eval() }"), &r)
		if r.Launches != 20 {
			t.Errorf("%d launches of 20", r.Launches)
		}
		if r.Others > 0 {
			return
		}
	}
	t.Error("the others' launches are not counted apart")
}

// Work that lies outside of a statement is not in its figures, and named: what a closure has left undone is
// computed before, and what others have computed, or compute meanwhile, is no time of the statement. Work
// that the statement itself asks for is in its time, and named, too, if something else has made it.
func TestWorkElsewhereIsNamed(t *testing.T) {
	const made = `kept := func() func() tensor.Tensor { l := x.MatMul(w); return func() tensor.Tensor { return l.Add(1) } }()`
	const replayed = "tensor.Compile(func(a ...tensor.Tensor) []tensor.Tensor { return []tensor.Tensor{a[0].MatMul(w)} })"
	const learn = `p := tensor.Randn(192, 192).Param()
opt := optim.AdamW{}.New([]nn.Param{nn.NewParam("p", &p)})
func learn() tensor.Tensor {
	opt.Update(tensor.Grad(p.MatMul(w).Sum(), p), 1e-3, tensor.Tensor{}).Commit()
	return p
}`
	const gate = "gate := make(chan bool)"
	const ahead = "ch := make(chan tensor.Tensor, 1)\ngo func() { ch <- x.MatMul(w).Eval() }()\ntime.Sleep(100*time.Millisecond)"
	for _, tt := range []struct {
		name, cell, command string
		want, never         string
	}{
		{"lazy in a closure", made, "%kernels kept()", "add         1", "matmul"},
		{"lazy in a closure, by %time", made, "%time kept();", "· 1 launch ·", "matmul"},
		{"lazy in a closure, profiled once", made, "%profile -n 1 kept()", "1 launch · 1 evaluation", "matmul"},
		{"asked for by a statement that is profiled once", made, "%profile -n 1 kept().Eval()", "in the time, though it was made before or elsewhere: matmul f32[192 192] of In[2]:1", "not in the time"},
		{"lazy in a map", `kept := map[string]tensor.Tensor{"l": x.MatMul(w)}` + "\nfunc get() tensor.Tensor { return kept[\"l\"].Add(1) }", "%kernels get()", "add         1", "matmul"},
		{"lazy in a sync.Once", "get := sync.OnceValue(func() tensor.Tensor { return x.MatMul(w) })\nget()", "%time get().Add(1);", "· 1 launch ·", "matmul"},
		{"asked for by the statement", made, "%time kept().Sum().Item()", "in the time, though it was made before or elsewhere: matmul f32[192 192] of In[2]:1", "not in the time"},
		{"computed ahead", ahead, "%time <-ch", "not in the time, because it was computed before: matmul f32[192 192] of In[2]", "meanwhile"},
		{"computed ahead, declared", ahead, "%time y2 := <-ch", "because it was computed before: matmul f32[192 192] of In[2]", "meanwhile"},
		{"computed ahead, counted", ahead, "%kernels <-ch", "because it was computed before: matmul f32[192 192] of In[2]", "meanwhile"},
		{"computed meanwhile", "ask, ch := make(chan bool), make(chan tensor.Tensor)\ngo func() { <-ask; ch <- x.MatMul(w).Eval() }()", "%time func() tensor.Tensor { ask <- true; return <-ch }()",
			"not in the time of this code, because others computed it meanwhile: matmul f32[192 192] of In[2]", "computed before"},
		{"lazy from a goroutine", "ch := make(chan tensor.Tensor)\ngo func() { ch <- x.MatMul(w) }()", "%time <-ch", "· 1 launch ·", "not in the time"},
		{"left to a goroutine", gate, "%time go func() { <-gate }()", "not in the time: what 1 goroutine will do that this code has started", "meanwhile"},
		{"left to two, timed again and again", gate, "%timeit -t 20ms for range 2 { go time.Sleep(9 * time.Millisecond) }", "not in the time: what 2 goroutines will do that this code has started", "meanwhile"},
		{"left to one, counted", gate, "%kernels go func() { <-gate }()", "not in the time: what 1 goroutine will do that this code has started", "meanwhile"},
		{"left to one, profiled", gate, "%profile -n 1 go func() { <-gate }()", "not in the time: what 1 goroutine will do that this code has started", "meanwhile"},
		{"waited for", "", "%time done := make(chan bool); go func() { _ = x.MatMul(w); close(done) }(); <-done", "· 1 launch ·", "in the time"},
		{"its own", "", "%time x.MatMul(w)", "· 1 launch ·", "in the time"},
		{"its own, replayed", "step := " + replayed + "\nstep(x)", "%time step(x)[0];", "· 1 launch ·", "in the time"},
		{"replayed before", "step := " + replayed + "\ny := step(x)\nfunc get() tensor.Tensor { return y[0] }", "%time get();", "because it was computed before: data f32[192 192] of In[2]:1", "meanwhile"},
		{"its own, set", "", "%time x.Set(x.MatMul(w)); x", "· 1 launch ·", "in the time"},
		{"its own, in the place of a weight", learn + "\nlearn()", "%time learn();", "launches · 0 copies", "in the time"},
		{"its own, read", "", "%time tensor.From(make([]float32, 5000));", "· 1 copy of 19.5 KiB", "in the time"},
	} {
		n := open(t)
		n.run("x, w := tensor.Randn(192, 192).Eval(), tensor.Randn(192, 192).Eval()")
		n.run(cmp.Or(tt.cell, "1"))
		if text := strings.Join(strings.Fields(n.run(tt.command).Text(200)), " "); !strings.Contains(text, strings.Join(strings.Fields(tt.want), " ")) || strings.Contains(text, tt.never) {
			t.Errorf("%s: want %q and no %q in\n%s", tt.name, tt.want, tt.never, text)
		}
	}
}

// A goroutine of an earlier cell that works during a measurement is named beside it.
func TestOtherCellsWork(t *testing.T) {
	if _, ok := machine.Spent(); !ok {
		t.Skip("the system does not tell the time that a process works")
	}
	n := open(t)
	const timing = "%timeit -t 200ms -- 1 + 1"
	alone := n.timed(timing).Machine.Beside
	n.run("stop := make(chan bool)\ngo func() { for { select { case <-stop: return; default: } } }()")
	defer n.run("close(stop)")
	with := alone
	for end := time.Now().Add(time.Minute); with < alone+0.05 && time.Now().Before(end); { // a busy machine may leave it little
		with = n.timed(timing).Machine.Beside
	}
	if alone > 0.3 || with < alone+0.05 {
		t.Errorf("other work keeps %v processors busy, and %v with a goroutine of another cell", alone, with)
	}
}

// Output of timed runs does not flood the screen.
func TestTimedPrints(t *testing.T) {
	t.Parallel()
	n := open(t)
	text := n.run(`%timeit -t 50ms fmt.Println("x")`).Text(80)
	if got := n.printed.take(); got != "x\n" || !strings.Contains(text, "lines that later runs printed") {
		t.Errorf("printed %q and\n%s", got, text)
	}
}

// What a kernel has not read is not in its bytes: a cache has room for more keys than there are.
func TestRoomIsNotRead(t *testing.T) {
	t.Parallel()
	n := open(t)
	n.run(`m := llm.New(llm.Config{Vocab: 256, Layers: 1, Width: 64, Heads: 4, Hidden: 128, Seed: 1})`)
	const most = 10 << 20 // ten tokens and the weights that each of them reads
	for _, kept := range []string{"", "Cache: dtype.BF16", "Cache: dtype.I8"} {
		statement := "%timeit -t 50ms m.Generate(ctx, \"one\", llm.Sampling{Tokens: 10, " + kept + "})"
		if r := n.timed(statement); r.Refused != "" || r.Tally.Bytes > most {
			t.Errorf("%s: got %d bytes, want %d at most; %s", statement, r.Tally.Bytes, most, r.Refused)
		}
	}
}

// Reading a prompt drops what the last block makes: a measurement neither computes that nor fails at it,
// however little was done before.
func TestPromptIsMeasured(t *testing.T) {
	t.Parallel()
	n := open(t)
	for _, layers := range []string{"1", "2"} {
		n.run("m := llm.New(llm.Config{Vocab: 256, Layers: " + layers + ", Width: 64, Heads: 4, Hidden: 128, Seed: 1})")
		for _, command := range []string{"%time", "%kernels", "%profile -n 1", "%timeit -t 20ms"} {
			if text := n.run(command + ` m.Generate(ctx, "one", llm.Sampling{Tokens: 3});`).Text(200); strings.Contains(text, "nobody read") {
				t.Errorf("%s, %s layers: got\n%s", command, layers, text)
			}
		}
	}
}

// An assertion that is written is checked, or refused.
func TestKernelAssertions(t *testing.T) {
	t.Parallel()
	n := open(t)
	n.run(matrices)
	for _, tt := range []struct {
		flags string
		want  string // of the error; nothing: none
	}{
		{"-assert 'launches <= 1'", ""},
		{"-assert 'launches < 1'", "launches < 1 does not hold: launches is 1"},
		{"-t -assert 'launches < 1'", "launches < 1 does not hold: launches is 1"},
		{"-fuse=off -assert 'launches <= 1'", "launches <= 1 does not hold: launches is 2"},
		{"-diff -assert 'launches <= 1'", ""},
		{"-diff -assert 'launches < 1'", "launches < 1 does not hold: launches is 1"},
		{"-source matmul_silu -assert 'launches < 1'", "-source shows a program"},
		{"-diff -t", "-diff counts"},
	} {
		r := n.Run(t.Context(), "%kernels "+tt.flags+" x.MatMul(w).Silu()")
		if (r.Err == nil) != (tt.want == "") || r.Err != nil && !strings.Contains(r.Err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.flags, r.Err, tt.want)
		}
	}
}

// A guard that looks at each result makes everything take longer, which all commands say.
func TestGuardIsNamed(t *testing.T) {
	t.Parallel()
	n := open(t)
	n.run(matrices)
	commands := []string{"%time x.MatMul(w)", "%timeit -t 20ms x.MatMul(w)", "%bench -t 20ms a := x ; b := x.MatMul(w)", "%kernels -t x.MatMul(w)", "%profile -n 2 x.MatMul(w)"}
	for _, state := range []string{"on", "off"} {
		n.run("%guard nan " + state)
		for _, command := range commands {
			if text := n.run(command).Text(200); strings.Contains(text, "the guard against NaN is on") != (state == "on") {
				t.Errorf("%%guard nan %s: got\n%s", state, text)
			}
		}
	}
}
