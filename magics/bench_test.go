package magics_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/perf/benchfmt"

	"github.com/mcs-notebook/mcs/engine/bench"
	"github.com/mcs-notebook/mcs/magics"
	"github.com/mcs-notebook/mcs/repl/session"
)

// A ticking clock is ahead of the true one by the nanoseconds that cells have spent, which stand in the
// environment: the process has that in common with its cells. If they are odd the caches are empty. Next to
// what is spent, what the cells truly take is nothing.
type ticking struct {
	start   time.Time
	machine bench.Machine
}

func (c *ticking) Now() time.Duration {
	return time.Since(c.start) + time.Duration(spent())
}

// spent is what cells have spent.
func spent() int {
	n, _ := strconv.Atoi(os.Getenv("MCS_TEST_SPENT"))
	return n
}

func (c *ticking) Sync() error            { return nil }
func (c *ticking) Machine() bench.Machine { return c.machine }
func (c *ticking) Evict()                 { os.Setenv("MCS_TEST_SPENT", strconv.Itoa(spent()|1)) }

func (c *ticking) Ceilings(context.Context, bool) (bench.Ceilings, error) {
	return bench.Ceilings{}, nil
}

// spend is for cells: it takes some times five seconds, and five more with empty caches.
const spend = `func spend(fives int) {
	n, _ := strconv.Atoi(os.Getenv("MCS_TEST_SPENT"))
	if n&1 == 1 {
		fives += 5
	}
	os.Setenv("MCS_TEST_SPENT", strconv.Itoa(n&^1 + fives*int(5*time.Second)))
}`

// A simulated session has a clock that moves when its cells say so.
type simulated struct {
	*testing.T
	*session.Session
	stderr strings.Builder
}

func simulate(t *testing.T, m bench.Machine) *simulated {
	t.Helper()
	t.Setenv("MCS_TEST_SPENT", "0")
	n := &simulated{T: t}
	s, err := session.New(session.Options{Dir: t.TempDir(), Stderr: &n.stderr, Commands: magics.Table{Clock: &ticking{time.Now(), m}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	n.Session = s
	n.shows(spend, "")
	return n
}

// shows runs a cell that works, and looks for each line of want in what it shows, in that order.
func (n *simulated) shows(cell, want string) {
	n.Helper()
	if got, err := n.shown(cell); err != nil {
		n.Errorf("%s\n%v", cell, err)
	} else {
		n.contains(cell, got, want)
	}
}

func (n *simulated) contains(cell, got, want string) {
	n.Helper()
	rest := got
	for line := range strings.Lines(want) {
		line = strings.TrimSpace(line)
		at := strings.Index(rest, line)
		if at < 0 {
			n.Errorf("%s\ngot:\n%s\nwant in it:\n%s", cell, got, line)
			return
		}
		rest = rest[at+len(line):]
	}
}

func (n *simulated) shown(cell string) (text string, err error) {
	r := n.Session.Run(n.Context(), cell)
	for _, v := range r.Shown {
		text += v.Text(80)
	}
	return text, r.Err
}

func (n *simulated) read(file string) string {
	n.Helper()
	text, err := os.ReadFile(filepath.Join(n.Dir(), file))
	if err != nil {
		n.Error(err)
	}
	return string(text)
}

var quiet = bench.Machine{CPU: "Cray-1", Cores: 2, Threads: 2, OS: "linux/amd64", Go: "go1.26", Device: "cpu", MHz: 80, Load: 0.5, Steal: 0, Others: 0.1}

// What stands beside the figures, and what the flags of %timeit and %bench add to it. In their order: what is
// compared with a baseline was saved before.
func TestMeasuringFlags(t *testing.T) {
	n := simulate(t, quiet)
	for _, tt := range []struct{ name, cell, want string }{
		{"the machine stands with each result", "%timeit -t 10m spend(3)", `
			15.0 s  median of 11 runs, known to 0.1 %
			95 % [15.0 s, 15.0 s] · min 15.0 s · middle half 15.0 s – 15.0 s
			interpreter alone
			2 processors at 80 MHz · load 0.5 · 0.1 of them busy with other work · steal 0 %`},
		{"and with each table", "%bench -t 10m a := spend(3) ; b := spend(6)", `
			   median  vs a                       launches
			a  15.0 s                                    0
			b  30.0 s  2.00× slower [2.00, 2.00]         0
			a against itself: 1× [1, 1]
			2 processors at 80 MHz · load 0.5 · 0.1 of them busy with other work · steal 0 %`},
		{"empty caches have a figure of their own", "%timeit -t 10m -cold spend(3)", "15.0 s  median\ncold: 40.0 s"},
		{"and a column", "%bench -t 10m -cold a := spend(3) ; b := spend(1)", `
			   median  vs a                         cold  launches
			a  15.0 s                             40.0 s         0
			b  5.00 s  3.00× faster [3.00, 3.00]  30.0 s         0`},
		{"all that is known", "%timeit -t 10m -w spend(3)", `
			first run
			host – · device – ·
			allocations of
			Cray-1 · 2 processors · cpu · linux/amd64 · go1.26 · 80 MHz · load 0.5`},
		{"as a table", "%bench -t 10m -w a := spend(3) ; b := spend(1)", `
			   median  vs a             min   first  host  device  allocs     heap  launches
			a  15.0 s                15.0 s
			–       –
			Cray-1`},
		{"how often which time", "%timeit -t 10m -hist spend(3)", "spend(3)\n█\n▲ median"},
		{"a baseline", "%bench -t 10m -save base.json a := spend(3) ; b := spend(6)", "saved as base.json; -vs base.json compares with it"},
		{"each is compared with its own", "%bench -t 10m -vs base.json a := spend(6) ; b := spend(3) ; c := spend(6)", `
			   median  vs base.json               launches
			a  30.0 s  2.00× slower [2.00, 2.00]         0
			b  15.0 s  2.00× faster [2.00, 2.00]         0
			c  30.0 s  not compared                      0
			c: is not in base.json`},
		{"a statement by itself", "%timeit -t 10m -save one.json spend(3)", "saved as one.json"},
		{"is compared as it is now", "%timeit -t 10m -vs one.json spend(6)", "30.0 s\nvs one.json: 2.00× slower [2.00, 2.00]\nit was spend(3)"},
		{"what surely holds", "%bench -t 10m -assert 'a <= 1.1*b' a := spend(3) ; b := spend(6)",
			"a <= 1.1*b: true (a takes 15.0 s, b takes 30.0 s; left over right 0.455 [0.455,"},
		{"of one statement", "%timeit -t 10m -assert 'spend(3) < 20s' spend(3)", "spend(3) < 20s: true (spend(3) takes 15.0 s, 20.0 s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n.T = t
			n.shows(tt.cell, tt.want)
		})
	}
}

// What fails says why; the figures of an assertion that does not hold are shown all the same.
func TestMeasuringFlagErrors(t *testing.T) {
	n := simulate(t, quiet)
	for _, tt := range []struct{ name, cell, shown, err string }{
		{"false", "%bench -t 10m -assert 'b <= 1.1*a' a := spend(3) ; b := spend(6)", "2.00× slower",
			"%bench: -assert: b <= 1.1*a: false (b takes 30.0 s, a takes 15.0 s; left over right 1.82 [1.82, 1.82])"},
		{"too few samples to know", "%timeit -t 1s -assert 'spend(3) < 20s' spend(3)", "15.0 s",
			"%timeit: -assert: spend(3) < 20s: not known"},
		{"no condition", "%bench -assert 'a' a := spend(3) ; b := spend(6)", "", "%bench: -assert: got \"a\", want two sides"},
		{"no such case", "%bench -assert 'a < c' a := spend(3) ; b := spend(6)", "", "%bench: -assert: got \"c\", want a number"},
		{"no baseline", "%timeit -vs none.json spend(3)", "", "%timeit: -vs: bench: there is no baseline"},
		{"IPython's -o", "%timeit -o spend( 3 )", "", "%timeit: -o: got spend(, want a name that ends in .txt, .json, .csv or .md; the result itself is _ in the next cell"},
		{"no format", "%timeit -o out.xml spend(3)", "", "%timeit: -o: got out.xml, want a name that ends in .txt, .json, .csv or .md"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n.T = t
			shown, err := n.shown(tt.cell)
			if err == nil {
				t.Fatal("no error")
			}
			n.contains(tt.cell, err.Error(), tt.err)
			if n.contains(tt.cell, shown, tt.shown); tt.shown == "" && shown != "" {
				t.Errorf("shows %q before it fails", shown)
			}
		})
	}
}

// A machine that is not quiet is named before anything is measured on it, and another one than that of the
// baseline with the result.
func TestMeasuringOnAnotherMachine(t *testing.T) {
	n := simulate(t, quiet)
	file := filepath.Join(n.Dir(), "base.json")
	n.shows("%timeit -t 10m -save base.json spend(3)", "saved as base.json")
	if n.stderr.Len() > 0 {
		t.Errorf("a quiet machine is said to be %q", n.stderr.String())
	}
	busy := quiet
	busy.CPU, busy.Steal, busy.Others = "Cray-2", 0.2, 1.5
	n = simulate(t, busy)
	n.shows("%timeit -t 10m -vs "+file+" spend(3)", "vs "+file+"\nanother machine: processor: Cray-2, then Cray-1")
	n.contains("stderr", n.stderr.String(), `
		the machine is not quiet: other processes keep 1.5 of 2 processors busy
		the machine is not quiet: 20 % of the processors' time is given to other machines`)
}

// Beside a baseline it does not matter how the statements differ from each other.
func TestAgainstABaselineOnly(t *testing.T) {
	n := simulate(t, quiet)
	n.shows("x, y := tensor.Ones(2), tensor.Ones(2).Add(1)", "")
	n.shows("%bench -t 50ms -save two.json a := x.Exp() ; b := y.Exp()", "b: differs from a")
	r := n.Session.Run(t.Context(), "%bench -t 50ms -vs two.json a := x.Exp() ; b := y.Exp()")
	if r.Err != nil || len(r.Shown) != 1 {
		t.Fatalf("got %v", r.Err)
	}
	if text := r.Shown[0].Text(0); strings.Contains(text, "from a") || strings.Contains(text, "itself") || !strings.Contains(text, "vs two.json") {
		t.Errorf("got\n%s\nwant nothing on how b differs from a", text)
	}
}

// With -sweep each number stands in place of a name, in the statements and in -setup. What is asked of the
// figures is asked of each.
func TestSweep(t *testing.T) {
	n := simulate(t, quiet)
	n.shows("type box struct{ n int }\nb := box{2}\nk := 0", "")
	for _, tt := range []struct{ name, cell, want string }{
		{"of one statement", "%timeit -t 10m -sweep n=1..4*2 spend(n)", `
			n  spend(n)
			1    5.00 s
			2    10.0 s
			4    20.0 s
			spend(n) grows as n^1.0
			2 processors at 80 MHz
			s spend(n)
			20 ┤
			⣀⠤
			n`},
		{"of several, with a field of that name", "%bench -t 10m -sweep n=1,3 a := spend(n) ; b := spend(b.n*n)", `
			n       a       b  vs a
			1  5.00 s  10.0 s  2.00× slower [2.00, 2.00]
			3  15.0 s  30.0 s  2.00× slower [2.00, 2.00]
			a grows as n^1.0
			b grows as n^1.0`},
		{"with -setup", "%timeit -t 10m -setup 'k = 2*n' -sweep n=1,2 spend(k+n)", "1      15.0 s\n2      30.0 s"},
		{"with empty caches", "%timeit -t 10m -cold -sweep n=1,3 spend(n)", `
			spend(n) n=1  5.00 s  30.0 s
			spend(n) n=3  15.0 s  40.0 s`},
		{"saved", "%timeit -t 10m -save sweep.json -sweep n=1,3 spend(n)", "saved as sweep.json"},
		{"against that", "%timeit -t 10m -vs sweep.json -sweep n=1,3 spend(2*n)", `
			not compared`},
		{"each value against its own", "%bench -t 10m -save two.json -sweep n=1,3 a := spend(n) ; b := spend(2*n)", "saved as two.json"},
		{"then", "%bench -t 10m -vs two.json -sweep n=1,3 a := spend(2*n) ; b := spend(2*n)", `
			a n=1  10.0 s  2.00× slower [2.00, 2.00]
			b n=1  10.0 s  ~ no difference
			a n=3  30.0 s  2.00× slower [2.00, 2.00]`},
		{"asserted for each", "%bench -t 10m -assert 'a < b' -sweep n=1,3 a := spend(n) ; b := spend(2*n)", `
			n = 1: a < b: true
			n = 3: a < b: true`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n.T = t
			n.shows(tt.cell, tt.want)
		})
	}
	n.T = t
	for cell, want := range map[string]string{
		"%timeit -sweep n=4..1 spend(n)":                                    `%timeit: -sweep: got "n=4..1", want values that grow`,
		"%timeit -sweep n=1,2 spend(k)":                                     "%timeit: -sweep: n is in no statement",
		"%timeit -sweep b=1,2 spend(x.b)":                                   "%timeit: -sweep: b is in no statement",
		"%timeit -sweep 2n=1,2 spend(n)":                                    `%timeit: -sweep: got "2n", want a name and values`,
		"%timeit -sweep k=1,2 k = 3; spend(k)":                              "%timeit: -sweep: k = 3; spend(k) sets k",
		"%timeit -t 10m -sweep n=1,2 -assert 'spend(n) < 9s' spend(n)":      "%timeit: -assert: n = 2: spend(n) < 9s: false",
		"%bench -sweep n=1,2 a := spend(n) ; b := tensor.Ones(n).MatMul(n)": "%bench: n = 1: ",
	} {
		if _, err := n.shown(cell); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", cell, err, want)
		}
	}
}

// What was measured is the value of the cell: _ and Out[n], like that of an expression.
func TestMeasuredValues(t *testing.T) {
	n := simulate(t, quiet)
	for _, tt := range []struct{ name, cell, want string }{
		{"a result", "%timeit -t 10m spend(3)", "15.0 s  median"},
		{"has its figures", "math.Round(_.Median)", "15"},
		{"to go on with", "r := Out[2]; r.Samples", "11"},
		{"also when others have come", "Out[2].Text(0)", "15.0 s  median of 11 runs"},
		{"a comparison", "%bench -t 10m a := spend(3) ; b := spend(6)", "a against itself"},
		{"has lines", "_.Lines[1].Verdict", "slower"},
		{"and can be exported", "strings.Contains(Out[6].Markdown(), \"2.00× slower\")", "true"},
		{"a sweep", "%timeit -t 10m -sweep n=1..4*2 spend(n)", "grows as n^1.0"},
		{"has points", "len(_.Points)", "3"},
		{"launches", "%kernels tensor.Ones(3).Add(1)", "1 launch"},
		{"can be counted", "_.Launches", "1"},
		{"and what is no value leaves _ as it is", "%whos", "spend"},
		{"so", "_ + 1", "2"},
		{"in a loop", "for n := range 2 { r := bench.Time(func() { time.Sleep(5 * time.Millisecond); tensor.Ones(n + 2).Exp() }); fmt.Println(r.Tally.Launches, r.Text(0) != \"\") }", ""},
		{"unkeyed", `c, err := bench.Compare(ctx, []bench.Case{{"one", func(int) error { return nil }}, {"two", func(n int) error { return nil }}}, bench.Options{Time: 1e6}); err == nil && len(c.Lines) == 2`, "true"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n.T = t
			n.shows(tt.cell, tt.want)
		})
	}
}

// What -o writes can be read by those for whom it is: benchstat's reader, and those of JSON, CSV and
// Markdown.
func TestMeasuredFiles(t *testing.T) {
	n := simulate(t, quiet)
	type figures = map[string]float64 // seconds by name
	for _, tt := range []struct {
		name, cell, file string
		read             func(text string) (map[string]float64, error)
		want             figures
	}{
		{"benchstat", "%bench -t 10m -o out.txt a := spend(3) ; b := spend(6)", "out.txt", fromBenchfmt, figures{"Work/name=a-2": 15, "Work/name=b-2": 30}},
		{"JSON", "%bench -t 10m -o out.json a := spend(3) ; b := spend(6)", "out.json", fromJSON, figures{"a": 15, "b": 30}},
		{"CSV", "%bench -t 10m -o out.csv a := spend(3) ; b := spend(6)", "out.csv", fromCSV, figures{"a": 15, "b": 30}},
		{"Markdown", "%bench -t 10m -o out.md a := spend(3) ; b := spend(6)", "out.md", fromMarkdown, figures{"a": 15, "b": 30}},
		{"one statement", "%timeit -t 10m -o one.json spend(3)", "one.json", fromJSON, figures{"spend(3)": 15}},
		{"a sweep", "%timeit -t 10m -o sweep.csv -sweep n=1,3 spend(n)", "sweep.csv", fromCSV, figures{"spend(n) n=1": 5, "spend(n) n=3": 15}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n.T = t
			n.shows(tt.cell, "wrote "+tt.file)
			got, err := tt.read(n.read(tt.file))
			if err != nil || len(got) != len(tt.want) {
				t.Fatalf("got %v, %v, want %v", got, err, tt.want)
			}
			for name, want := range tt.want {
				if math.Abs(got[name]-want) > 0.02 {
					t.Errorf("%s: got %v s, want %v", name, got[name], want)
				}
			}
		})
	}
}

func fromBenchfmt(text string) (map[string]float64, error) {
	got := map[string]float64{}
	for r := benchfmt.NewReader(strings.NewReader(text), "out.txt"); r.Scan(); {
		switch rec := r.Result().(type) {
		case *benchfmt.Result:
			got[rec.Name.String()], _ = rec.Value("sec/op")
			if cpu := rec.GetConfig("cpu"); cpu != "Cray-1" {
				return got, fmt.Errorf("cpu: got %q", cpu)
			}
		case *benchfmt.SyntaxError:
			return got, rec
		}
	}
	return got, nil
}

func fromJSON(text string) (map[string]float64, error) {
	var c bench.Comparison
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return nil, err
	}
	got := map[string]float64{}
	for _, l := range c.Lines {
		got[l.Name] = l.Result.Median
		if l.Result.Machine.CPU != "Cray-1" || len(l.Result.Times) != l.Result.Samples {
			return got, fmt.Errorf("%s: got %d times of %d samples on %q", l.Name, len(l.Result.Times), l.Result.Samples, l.Result.Machine.CPU)
		}
	}
	return got, nil
}

func fromCSV(text string) (map[string]float64, error) {
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return nil, err
	}
	name, median := slices.Index(rows[0], "name"), slices.Index(rows[0], "median")
	got := map[string]float64{}
	for _, row := range rows[1:] {
		if got[row[name]], err = strconv.ParseFloat(row[median], 64); err != nil {
			return got, err
		}
	}
	return got, nil
}

func fromMarkdown(text string) (map[string]float64, error) {
	got := map[string]float64{}
	for _, line := range strings.Split(text, "\n")[2:] {
		cells := strings.Split(line, "|")
		if len(cells) < 7 {
			break // the table is over
		}
		took, err := time.ParseDuration(strings.ReplaceAll(strings.TrimSpace(cells[2]), " ", ""))
		if err != nil {
			return got, err
		}
		got[strings.TrimSpace(cells[1])] = took.Seconds()
	}
	return got, nil
}

// Sides that give other values are named, unless -check=false leaves the values alone; other shapes are named
// all the same.
func TestCheck(t *testing.T) {
	n := simulate(t, quiet)
	n.shows("func wide(k int) tensor.Tensor { spend(1); return tensor.Full(2, k) }\nfunc off(k int) tensor.Tensor { spend(1); return tensor.Full(3, k) }", "")
	for _, tt := range []struct {
		flag, b string
		want    string
		checked bool
	}{
		{"", "off(3)", "b: differs from a by up to 50 % of the largest value, more than by rounding", true},
		{"-check", "off(3)", "b: differs from a by up to", true},
		{"-check=false", "off(3)", "a against itself", false},
		{"-check=false", "off(4)", "b: gives f32[4], and a f32[3]", false},
	} {
		t.Run(tt.flag+" "+tt.b, func(t *testing.T) {
			n.T = t
			cell := "%bench -t 10m " + tt.flag + " a := wide(3) ; b := " + tt.b
			got, err := n.shown(cell)
			if err != nil {
				t.Fatal(err)
			}
			n.contains(cell, got, tt.want)
			if strings.Contains(got, "of the largest value") != tt.checked {
				t.Errorf("got:\n%s", got)
			}
		})
	}
}
