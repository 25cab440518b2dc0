package terminal

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/internal/testing/long"
	"github.com/mcs-notebook/mcs/tests/terminal/screen"
)

var (
	soak     = flag.Int("soak", 0, "how many cells TestSoak types; 0: 250 in CI, and else 80")
	soakSeed = flag.Uint64("soakseed", 1, "what TestSoak's cells are made from")
)

// declared is the first cell of the soak: types whose values misbehave in every way when they are shown.
const declared = `type Bad struct{ kind string }
func (b Bad) String() string { return do(b.kind, b) }
type Err struct{ kind string }
func (e *Err) Error() string { return do(e.kind, e) }
func do(kind string, v any) string {
	switch kind {
	case "panics": panic("on purpose")
	case "recurses": return fmt.Sprint(v)
	case "spins": for {}
	case "waits": select {}
	case "receives": <-make(chan int)
	case "sleeps": time.Sleep(time.Hour)
	case "exits": runtime.Goexit()
	case "is huge": return strings.Repeat("x", 20<<20)
	}
	return kind
}
type Loop struct{ self any }
x, big := tensor.Randn(3), tensor.Randn(1500, 1500).Eval()
kinds := []string{"panics", "recurses", "spins", "waits", "receives", "sleeps", "exits", "is huge"}`

// A soakCell is typed, and its output is checked.
type soakCell struct {
	text  string
	shows string // must stand in its output
	hangs bool   // it is interrupted when it has printed "begun"
}

// A soaker makes cells and knows the value of each variable.
type soaker struct {
	r    *rand.Rand
	vars map[string]int
}

// next makes a cell.
func (k *soaker) next() soakCell {
	name := fmt.Sprintf("v%d", k.r.IntN(30))
	old, known := k.vars[name]
	if !known || k.r.IntN(6) == 0 {
		k.vars[name] = k.r.IntN(1_000_000)
		return soakCell{text: fmt.Sprintf("%s := %d", name, k.vars[name])}
	}
	switch p := k.r.IntN(100); {
	case p < 30:
		return soakCell{text: name, shows: fmt.Sprintf("]: %d\n", old)}
	case p < 38:
		k.vars[name]++
		return soakCell{text: fmt.Sprintf("func() { defer func() { %s++ }(); recover() }(); %s", name, name), shows: fmt.Sprintf("]: %d\n", old+1)}
	case p < 62:
		return k.pick(failing, name)
	case p < 76:
		return k.pick(odd, name)
	case p < 78:
		return k.pick(costly, name)
	}
	return k.pick(hanging, name)
}

// pick is one of the cells of a list; NAME is a variable that must not change.
func (k *soaker) pick(list []soakCell, name string) soakCell {
	c := list[k.r.IntN(len(list))]
	c.text = strings.ReplaceAll(c.text, "NAME", name)
	return c
}

// failing are cells that end in an error.
var failing = []soakCell{
	{text: `NAME := strconv.Atoi("x")`, shows: "invalid syntax"},
	{text: `NAME = strconv.Atoi("x")`, shows: "invalid syntax"},
	{text: `NAME := data.ReadText("no such file")`, shows: "no such file"},
	{text: "x.Take(tensor.From([]int{99}), 0)", shows: "out of range"},
	{text: "NAME, x.Take(tensor.From([]int{99}), 0)", shows: "out of range"},
	{text: "tensor.Zeros(1 << 40)", shows: "memory"},
	{text: "NAME + nothing", shows: "undefined: nothing"},
	{text: "[]int{}[NAME]", shows: "index out of range"},
	{text: "panic(Bad{`panics`})", shows: "panic: "},
	{text: "panic(&Err{`panics`})", shows: "panic: "},
	{text: "error(&Err{`panics`})", shows: "panic: on purpose"},
	{text: "Bad{`exits`}", shows: "runtime.Goexit was called"},
	{text: "y := x.Take(tensor.From([]int{99}), 0)\r%show y", shows: "out of range"},
	{text: "runtime.Goexit()"},
	{text: "os.Exit(1)", shows: "exit"},
}

// odd has cells whose values are hard to show.
var odd = []soakCell{
	{text: "Bad{`panics`}", shows: "<String panics: on purpose>"},
	{text: "Bad{`is huge`}", shows: "more bytes"},
	{text: "[]Bad{{`fine`}, {`panics`}}", shows: "panics: on purpose"},
	{text: "s := make([]any, 1); s[0] = s; s", shows: "]: "},
	{text: `m := map[string]any{}; m["self"] = m; m`, shows: "self"},
	{text: "l := &Loop{}; l.self = l; l", shows: "]: "},
	{text: "make([]int, 1 << 20)", shows: "more"},
	{text: "x.Add(x).Mul(x)", shows: "f32[3]"},
	{text: "go func() { panic(`in a goroutine`) }(); time.Sleep(20 * time.Millisecond)", shows: "panic in goroutine"},
	{text: "go func() { for range 100 { time.Sleep(time.Millisecond) } }()"},
	{text: "%whos", shows: "bytes"},
	{text: "x?", shows: "f32[3]"},
}

// costly are cells that would use up the machine.
var costly = []soakCell{
	{text: "Bad{`recurses`}", shows: "stack limit reached"},
	{text: "[]any{&Err{`recurses`}}", shows: "stack limit reached"},
	{text: "func() { var f func(int) int; f = func(n int) int { return f(n+1) + 1 }; f(0) }()", shows: "stack limit reached"},
}

// hanging are cells that end when they are interrupted.
var hanging = []soakCell{
	{text: `fmt.Println("begun"); for { NAME++; NAME-- }`},
	{text: `fmt.Println("begun"); select {}`},
	{text: `fmt.Println("begun"); time.Sleep(time.Hour); NAME = 0`},
	{text: `fmt.Println("begun"); Bad{"spins"}`},
	{text: `fmt.Println("begun"); Bad{"waits"}`},
	{text: `fmt.Println("begun"); []any{1, Bad{"receives"}}`},
	{text: `fmt.Println("begun"); &Err{"sleeps"}`},
	{text: `fmt.Println("begun"); panic(&Err{"spins"})`},
	{text: `fmt.Println("begun"); bad := Bad{"waits"}; fmt.Println(bad); NAME = 0`},
	{text: `fmt.Println("begun"); for { big = big.MatMul(big).Tanh().Eval() }`},
	{text: `fmt.Println("begun"); y := big; for range 60 { y = y.MatMul(big).Tanh() }; y`},
	{text: `fmt.Println("begun"); sort.Slice(kinds, func(i, j int) bool { for {} }); NAME = 0`},
	{text: `fmt.Println("begun"); defer func() { fmt.Print() }(); for {}`},
}

// Whatever cells do, no assigned value is lost, and the prompt comes back. The limit for that is two
// seconds after Ctrl-C, with more for a test on a shared machine.
func TestSoak(t *testing.T) {
	t.Parallel()
	cells := *soak
	switch {
	case long.Tests():
		cells = 10_000
	case cells > 0:
	case long.CI():
		cells = 250
	default:
		cells = 80
	}
	for i := range hanging {
		hanging[i].hangs = true
	}
	p := newHome(t).open(nil)
	p.Send(pasteStart + declared + pasteEnd + "\r")
	n, row := soakReady(t, p, 2)
	k := &soaker{r: rand.New(rand.NewPCG(*soakSeed, 0)), vars: map[string]int{}}
	var waited []time.Duration
	start := time.Now()
	try := func(c soakCell) {
		p.Send(c.text + "\r")
		if c.hangs {
			p.Wait("a cell that begins", func() bool { return strings.Contains(p.Since(row), "\nbegun") })
			time.Sleep(time.Duration(k.r.IntN(60)) * time.Millisecond)
			pressed := time.Now()
			p.Send(ctrlC)
			defer func() { waited = append(waited, time.Since(pressed)) }()
		}
		was, lines := row, strings.Count(c.text, "\r")
		n, row = soakReady(t, p, n+1+lines)
		if out := p.Since(was); !strings.Contains(out, c.shows) {
			t.Errorf("cell %d, %s: no %q in\n%.2000s", n-1, c.text, c.shows, out)
		}
	}
	for range cells {
		if try(k.next()); t.Failed() {
			return
		}
	}
	for _, name := range slices.Sorted(maps.Keys(k.vars)) {
		try(soakCell{text: name, shows: fmt.Sprintf("]: %d\n", k.vars[name])})
	}
	slices.Sort(waited)
	longest := waited[len(waited)-1]
	t.Logf("%d cells in %v; %d interrupted, the prompt came back after %v (median), %v (99 %%), %v (longest); %d after more than 2 s", cells,
		time.Since(start).Round(time.Second), len(waited), waited[len(waited)/2], waited[len(waited)*99/100], longest,
		len(waited)-slices.IndexFunc(append(waited, time.Hour), func(d time.Duration) bool { return d > 2*time.Second }))
	if longest > 20*time.Second {
		t.Errorf("after Ctrl-C the prompt took %v to come back", longest)
	}
	leave(t, p)
}

// soakReady waits for the empty prompt of a cell and gives its number and row.
func soakReady(t *testing.T, p *screen.Program, n int) (number, row int) {
	t.Helper()
	want := fmt.Sprintf("In [%d]:", n)
	p.Wait(want, func() bool {
		_, _, line := p.Cursor()
		return line == want
	})
	_, row, _ = p.Cursor()
	return n, row
}
