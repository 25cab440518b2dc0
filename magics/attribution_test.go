package magics_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/magics"
	"github.com/mcs-notebook/mcs/repl/session"
)

var profiles = flag.Int("profiles", 15, "how many programs TestProfileFindsLine writes and profiles")

// A program is cells, the statement to profile, and the lines that its time goes to, with their weights.
type program struct {
	r         *rand.Rand
	cells     []string
	lines     []string // of the last cell, which is being written
	heavy     map[string]float64
	names     int
	statement string
}

// heavy lines take milliseconds, light ones microseconds. Ints, words and x are variables of the first cell.
var (
	heavyGo = []string{
		"for i := range 30000 { s += i % 7 }",
		"for i, k := 0, 1; i < 20000; i++ { k = k*3%1001; s += k }",
		"{ c := slices.Clone(ints[:500]); slices.SortFunc(c, func(a, b int) int { return b - a }); s += c[0] }",
		"{ c := make([]int, len(ints)); copy(c, ints); sort.Ints(c); s += c[1] }",
		"s += strings.Count(words, \"no\") + strings.Count(words, \"aba\") + strings.Count(words, \"b\")",
		"for k := range 300 { m := map[int]int{}; for i := range 20 { m[i] = k }; s += len(m) }",
		"s += fib(16)",
		"for i := range 1500 { s += len(fmt.Sprint(float64(i) / 3)) }",
		"{ p := []byte(words); for range 40 { p = bytes.ToUpper(p) }; s += int(p[3]) }",
		"s += len(regexp.MustCompile(`(a|b)*c`).FindAllString(words[:40000], -1))",
	}
	heavyTensors = []string{
		"s += int(x.MatMul(x).MatMul(x).Sum().Item())",
		"s += int(x.Sort(1).Sum().Item())",
		"s += int(x.Exp().Sin().Exp().Sin().Exp().Sum().Item())",
		"{ y := tensor.Randn(300, 300); s += int(y.Sum().Item()) }",
		"s += int(x.CumSum(0).Sum().Item())",
		"s += int(x.Softmax(1).MatMul(x).Sum().Item())",
	}
	// What is made in one line and computed in another one.
	lazyTensors = []string{"x.MatMul(x).MatMul(x)", "x.Sort(1)", "tensor.Randn(300, 300)", "x.MatMul(x).Relu().MatMul(x)"}
	light       = []string{
		"s += 3", "s++", "if s < 0 { s = 1 }", "s += len(ints)", "for i := range 5 { s += i }", "{ t := strings.ToUpper(\"ab\"); s += len(t) }",
		"s += int(small.Sum().Item())", "for _, v := range ints[:4] { s ^= v }", "s += len(strconv.Itoa(s))", "s = max(s, 1) - 1", "s += func() int { return 1 }()",
		"s += tiny(2)", "s += acc.add(1)",
	}
)

const beginning = `ints := make([]int, 60000)
for i := range ints { ints[i] = i * 7919 % 60001 }
words := strings.Repeat("abanono", 60000)
x, small := tensor.Randn(250, 250).Eval(), tensor.Ones(3).Eval()
func fib(n int) int { if n < 2 { return n }; return fib(n-1) + fib(n-2) }
func tiny(n int) int { return n + 1 }
type counter struct{ n int }
func (c *counter) add(n int) int { c.n += n; return c.n % 3 }
acc := &counter{}
type worker interface{ do(s int) int }
func each[T any](list []T, f func(T)) { for _, v := range list { f(v) } }`

func (p *program) pick(list []string) string { return list[p.r.IntN(len(list))] }

func (p *program) fresh(kind string) string {
	p.names++
	return kind + strconv.Itoa(p.names)
}

func (p *program) add(format string, args ...any) {
	p.lines = append(p.lines, fmt.Sprintf(format, args...))
}

func (p *program) lights() {
	for range p.r.IntN(3) {
		p.add("\t%s", p.pick(light))
	}
}

// note notes that the next line is a heavy one.
func (p *program) note(weight float64) {
	p.heavy[fmt.Sprintf("In[%d]:%d", len(p.cells)+1, len(p.lines)+1)] += weight
}

// end ends the cell, maybe: what follows may stand in the same one.
func (p *program) end() {
	if len(p.lines) > 0 && p.r.IntN(2) == 0 {
		p.flush()
	}
}

func (p *program) flush() {
	if len(p.lines) > 0 {
		p.cells, p.lines = append(p.cells, strings.Join(p.lines, "\n")), nil
	}
}

// heavyLine writes the heavy work.
func (p *program) heavyLine() {
	switch p.r.IntN(4) {
	case 0: // made here, computed below
		y := p.fresh("y")
		p.note(1)
		p.add("\t%s := %s", y, p.pick(lazyTensors))
		p.lights()
		p.add("\t%s.Eval()", y)
	case 1:
		p.note(1)
		p.add("\t%s", p.pick(heavyTensors))
	default:
		p.line(p.pick(heavyGo), 1)
	}
}

// line writes a heavy line of Go. What calls fib is charged there.
func (p *program) line(text string, weight float64) {
	if strings.Contains(text, "fib(") {
		p.heavy["In[1]:5"] += weight
	} else {
		p.note(weight)
	}
	p.add("\t%s", text)
}

// inside puts work within some statement.
func (p *program) inside(work func()) {
	p.lights()
	switch p.r.IntN(7) {
	case 0:
		p.add("\tif s >= -1 {")
	case 1:
		p.add("\tfor range 1 {")
	case 2:
		p.add("\tswitch { default:")
	case 3:
		p.add("\tfunc() {")
		work()
		p.add("\t}()")
		p.lights()
		return
	case 4:
		f := p.fresh("f")
		p.add("\t%s := func(n int) int {", f)
		p.lights()
		work()
		p.add("\treturn s + n")
		p.add("\t}")
		p.lights()
		p.add("\ts += %s(2)", f)
		p.lights()
		return
	default:
		work()
		p.lights()
		return
	}
	work()
	p.add("\t}")
	p.lights()
}

// function declares a function of some kind that does work, and returns an expression that calls it.
func (p *program) function(work func()) (call string) {
	name := p.fresh("g")
	body := func(end string) {
		p.inside(work)
		p.add("\treturn s")
		p.add("%s", end)
	}
	switch p.r.IntN(9) {
	case 0:
		p.add("type T%s struct{ k int }", name)
		p.add("func (t *T%s) run(s int) int {", name)
		body("}")
		call = fmt.Sprintf("(&T%s{3}).run(s)", name)
	case 1:
		p.add("type T%s struct{ k int }", name)
		p.add("func (t T%s) do(s int) int {", name)
		p.add("\ts += t.k")
		body("}")
		call = fmt.Sprintf("worker(T%s{1}).do(s)", name)
	case 2:
		p.add("%s := func(s int) int {", name)
		body("}")
		call = name + "(s)"
	case 3: // at the end of a recursion
		p.add("func %s(n, s int) int {", name)
		p.add("\tif n > 0 {")
		p.add("\t\treturn %s(n-1, s) + 1", name)
		p.add("\t}")
		body("}")
		call = fmt.Sprintf("%s(%d, s)", name, 1+p.r.IntN(20))
	case 4: // in a goroutine
		p.add("func %s(s int) int {", name)
		p.add("\tdone := make(chan int)")
		p.add("\tgo func() {")
		p.inside(work)
		p.add("\tdone <- s")
		p.add("\t}()")
		p.add("\t{ s := s; %s; _ = s }", p.pick(light[:6])) // a launch would wait for the processor that the goroutine has
		p.add("\treturn <-done")
		p.add("}")
		call = name + "(s)"
	case 5:
		p.add("func %s(s int) int {", name)
		p.add("\tvar wg sync.WaitGroup")
		p.add("\twg.Add(1)")
		p.add("\tgo func() {")
		p.add("\tdefer wg.Done()")
		p.inside(work)
		p.add("\t}()")
		p.add("\twg.Wait()")
		p.add("\treturn s")
		p.add("}")
		call = name + "(s)"
	case 6: // called by a generic function, or by compiled code
		p.add("func %s(s int) int {", name)
		p.add("\t%s", p.pick([]string{"each([]int{1}, func(int) {", "slices.IndexFunc([]int{1}, func(int) bool {"}))
		work()
		if strings.Contains(strings.Join(p.lines, "\n")[strings.LastIndex(strings.Join(p.lines, "\n"), "func "+name):], "IndexFunc") {
			p.add("\treturn true")
		}
		p.add("\t})")
		p.lights()
		p.add("\treturn s")
		p.add("}")
		call = name + "(s)"
	default:
		p.add("func %s(s int) int {", name)
		p.add("\tdefer func() { tiny(1) }()")
		body("}")
		call = name + "(s)"
	}
	p.end()
	return call
}

// newProgram writes a program.
func newProgram(seed uint64) *program {
	p := &program{r: rand.New(rand.NewPCG(seed, 21)), heavy: map[string]float64{}, cells: []string{beginning}}
	work := p.heavyLine
	if p.r.IntN(5) == 0 { // two lines in a known ratio
		text, times := p.pick(heavyGo[:3]), 4+p.r.IntN(3)
		work = func() {
			p.line(text, 1)
			p.lights()
			p.line(fmt.Sprintf("for range %d { %s }", times, text), float64(times))
		}
	}
	call := p.function(work)
	for range p.r.IntN(3) {
		below := call
		call = p.function(func() { p.add("\ts += %s", below) })
	}
	p.flush()
	p.statement = strings.ReplaceAll(call, "(s)", "(1)")
	p.statement = strings.ReplaceAll(p.statement, ", s)", ", 1)")
	return p
}

// A row is a line of %profile's table.
type row struct {
	line  string
	share float64
}

// profiled runs the program and returns the lines of its profile, the heaviest first.
func (p *program) profiled(t *testing.T, budget time.Duration) (rows []row, text string) {
	s, err := session.New(session.Options{Commands: magics.Table{}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, cell := range p.cells {
		if r := s.Run(t.Context(), cell); r.Err != nil {
			t.Fatalf("%v\n%s", r.Err, cell)
		}
	}
	r := s.Run(t.Context(), fmt.Sprintf("%%profile -t %v %s", budget, p.statement))
	if r.Err != nil {
		t.Fatalf("%v\n%s\n%s", r.Err, strings.Join(p.cells, "\n// %%\n"), p.statement)
	}
	text = r.Shown[0].Text(400)
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(strings.TrimRight(line, " \n"), "  ")
		if fields := strings.Fields(rest); len(fields) > 2 && (strings.HasPrefix(name, "In[") || name == "unknown") {
			share, err := strconv.ParseFloat(fields[2], 64)
			if err != nil {
				t.Fatalf("%v in %q", err, line)
			}
			rows = append(rows, row{name, share})
		}
		if line == "\n" || strings.HasPrefix(line, "kernel ") {
			break
		}
	}
	return rows, text
}

// judge says whether a profile names the lines that take the time, in their order, or says that it does not
// know, or names others.
func (p *program) judge(rows []row) string {
	var want []string
	for line := range p.heavy {
		want = append(want, line)
	}
	slices.SortFunc(want, func(a, b string) int { return int(p.heavy[b] - p.heavy[a]) })
	first := rows[0].line
	switch {
	case first == "unknown" || strings.Contains(first, " + ") && strings.Contains(first, want[0]):
		return "unknown"
	case first != want[0]:
		return "wrong"
	}
	if len(want) > 1 {
		second := slices.IndexFunc(rows, func(r row) bool { return r.line == want[1] })
		if second < 0 {
			return "wrong"
		}
		ratio, is := p.heavy[want[0]]/p.heavy[want[1]], rows[0].share/rows[second].share
		if is < ratio/3 || is > ratio*3 {
			return "wrong"
		}
	}
	return "right"
}

// The line that takes the time of a program is the first of its profile, whatever kind of function it is in,
// and whichever line asks for the value of a tensor. What cannot be told is said to be unknown; nothing is
// wrong.
func TestProfileFindsLine(t *testing.T) {
	count, again := map[string]int{}, 0
	for seed := range uint64(*profiles) {
		p := newProgram(seed)
		verdict, text := "", ""
		for try := range 6 { // the machine may be held up, which takes time of any line: what is wrong is so each time
			var rows []row
			rows, text = p.profiled(t, 80*time.Millisecond<<(2*min(try, 2)))
			if verdict = p.judge(rows); verdict == "right" {
				break
			}
			again++
		}
		count[verdict]++
		if verdict != "right" {
			t.Logf("program %d, %s: want %v\n%s\n%%profile %s\n%s", seed, verdict, p.heavy, strings.Join(p.cells[1:], "\n// %%\n"), p.statement, text)
		}
	}
	t.Logf("%v, %d profiles made again", count, again)
	if count["wrong"] > 0 || count["right"]*200 < 195**profiles {
		t.Errorf("got %v, want 195 of 200 right and none wrong", count)
	}
}
