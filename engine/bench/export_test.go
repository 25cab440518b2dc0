package bench_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"golang.org/x/perf/benchfmt"

	"github.com/mcs-notebook/mcs/engine/bench"
	"github.com/mcs-notebook/mcs/internal/testing/benchtest"
)

// measured is a comparison of 2 ms with 3 ms, on a machine that says what it is.
func measured(t *testing.T) *bench.Comparison {
	m := benchtest.New(1)
	m.Self = bench.Machine{CPU: "Abacus 2", Cores: 4, Threads: 2, OS: "linux/amd64", Go: "go1.26", Device: "cpu: 2 threads", Load: 0.5, Steal: -1, Others: -1}
	inspect := func(run func(int) error) func() (bench.Tally, error) {
		return func() (bench.Tally, error) { return bench.Tally{Launches: 3, Allocs: 7, Device: 1.5e-3}, run(1) }
	}
	a, b := m.Work(2*time.Millisecond, 0.01), m.Work(3*time.Millisecond, 0.01)
	c := compare(t, m, bench.Options{}, bench.Work{Name: "a", Run: a, Inspect: inspect(a)}, bench.Work{Name: "x.Add(1) | y", Run: b, Inspect: inspect(b)})
	return c
}

// What benchstat reads is what was measured.
func TestBenchfmt(t *testing.T) {
	text, err := measured(t).Benchfmt()
	if err != nil {
		t.Fatal(err)
	}
	reader := benchfmt.NewReader(bytes.NewReader(text), "measured")
	times := map[string][]float64{}
	for reader.Scan() {
		r, ok := reader.Result().(*benchfmt.Result)
		if !ok {
			t.Fatalf("got %+v in\n%s", reader.Result(), text)
		}
		sec, ok := r.Value("sec/op")
		if launches, _ := r.Value("launches/op"); !ok || launches != 3 || r.GetConfig("cpu") != "Abacus 2" || r.GetConfig("goarch") != "amd64" || r.GetConfig("steal") != "" {
			t.Errorf("got %+v", r)
		}
		times[r.Name.String()] = append(times[r.Name.String()], sec)
	}
	if err := reader.Err(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{"Work/name=a-2": 2e-3, "Work/name=x.Add(1)_|_y-2": 3e-3} {
		got := times[name]
		if len(got) < 6 || len(got) > 30 || math.Abs(got[0]/want-1) > 0.05 {
			t.Errorf("%s: got %v, want 6 to 30 times of %v s", name, got, want)
		}
	}
}

func TestCSV(t *testing.T) {
	text, err := measured(t).CSV()
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(rows) != 3 {
		t.Fatalf("got %v, %v", rows, err)
	}
	second := map[string]string{}
	for i, name := range rows[0] {
		second[name] = rows[2][i]
	}
	if second["name"] != "x.Add(1) | y" || second["verdict"] != "slower" || !strings.HasPrefix(second["median"], "0.00") || second["device"] != "0.0015" || !strings.HasPrefix(second["host"], "0.001") {
		t.Errorf("got %v", second)
	}
}

func TestMarkdown(t *testing.T) {
	text := measured(t).Markdown()
	for _, want := range []string{"| a | 2.00 ms | ", `| x.Add(1) \| y | `, "× slower [", "a against itself: ", "Abacus 2 · 4 processors"} {
		if !strings.Contains(text, want) {
			t.Errorf("got\n%s\nwant %q in it", text, want)
		}
	}
	for _, line := range strings.Split(text, "\n")[:4] {
		if n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|"); n != 7 {
			t.Errorf("%q has %d bars, want 7", line, n)
		}
	}
}

func TestJSON(t *testing.T) {
	text, err := measured(t).JSON()
	if err != nil {
		t.Fatal(err)
	}
	var c bench.Comparison
	if err := json.Unmarshal(text, &c); err != nil || len(c.Lines) != 2 || len(c.Lines[1].Result.Times) != c.Lines[1].Result.Samples {
		t.Errorf("got %+v, %v", c, err)
	}
}

// The reason for which there is no time stands in every text.
func TestRefusedInEveryText(t *testing.T) {
	const reason = "it ignores n"
	c := measured(t)
	c.Lines[1].Result = &bench.Result{Refused: reason}
	text := map[string]string{"Text": c.Text(80), "Markdown": c.Markdown(), "Histogram": c.Lines[1].Result.Histogram(40)}
	for name, f := range map[string]func() ([]byte, error){"Benchfmt": c.Benchfmt, "CSV": c.CSV, "JSON": c.JSON} {
		b, err := f()
		if err != nil {
			t.Fatal(err)
		}
		text[name] = string(b)
	}
	for name, got := range text {
		if !strings.Contains(got, reason) {
			t.Errorf("%s: got\n%s\nwant the reason in it", name, got)
		}
	}
	reader := benchfmt.NewReader(strings.NewReader(text["Benchfmt"]), "refused")
	for reader.Scan() {
		if r, ok := reader.Result().(*benchfmt.Result); !ok || !strings.Contains(r.Name.String(), "name=a-") {
			t.Errorf("got %+v, want the results of a alone", reader.Result())
		}
	}
}

func TestHistogram(t *testing.T) {
	r := &bench.Result{Median: 2e-3}
	for i := range 1000 {
		x := 2e-3
		switch {
		case i%10 == 0:
			x = 3e-3
		case i%205 == 1:
			x = 1
		}
		r.Times = append(r.Times, x)
	}
	const want = "█\n█                  ▂\n▲ median\n2.00 ms      3.00 ms\n5 samples beyond, the longest 1.00 s"
	if got := r.Histogram(20); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	same := &bench.Result{Median: 1, Times: []float64{1, 1, 1}}
	if got := same.Histogram(20); !strings.HasPrefix(got, "█\n█\n▲ median\n1.00 s") {
		t.Errorf("all the same: got\n%s", got)
	}
	if got := (&bench.Result{Refused: "it ignores n"}).Histogram(20); got != "no time: it ignores n" {
		t.Errorf("nothing measured: got %q", got)
	}
}
