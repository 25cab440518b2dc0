package bench

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"

	"github.com/mcs-notebook/mcs/internal/units"
)

// Table is the result as a comparison of one line, with a name: what exports a comparison exports it.
func (r *Result) Table(name string) *Comparison {
	return &Comparison{Lines: []Line{{Name: name, Result: r, Ratio: 1, Low: 1, High: 1, Verdict: "same", Apart: -1}}, Same: Ratio{1, 1, 1}}
}

// exportedSamples is how many lines a case has at most in the benchmark format. What reads it takes lines for
// independent; more of them, of neighbours that are alike, would make it sure of differences that are none.
const exportedSamples = 30

// Benchfmt is the comparison in the Go benchmark format (https://golang.org/design/14313-benchmark-format),
// which benchstat reads: `benchstat -col /name FILE`. Each line is the median of neighbouring samples; what
// was refused has none.
func (c *Comparison) Benchfmt() ([]byte, error) {
	var out bytes.Buffer
	w := benchfmt.NewWriter(&out)
	for _, l := range c.Lines {
		r := l.Result
		size := 1
		for len(r.Times)/size > exportedSamples {
			size += 2
		}
		if len(r.Times) == 0 {
			fmt.Fprintf(&out, "# %s: no time: %s\n", oneLine(l.Name), oneLine(r.Refused)) // who reads the format passes over it
			continue
		}
		for _, x := range batches(r.Times, size) {
			res := &benchfmt.Result{Name: benchfmt.Name(r.benchmarkName(l.Name)), Iters: r.PerSample * size, Config: r.Machine.config()}
			res.Values = []benchfmt.Value{{Value: x, Unit: "sec/op", OrigValue: x * 1e9, OrigUnit: "ns/op"}}
			for _, each := range []struct {
				unit  string
				value float64
			}{{"B/op", r.Tally.Heap}, {"allocs/op", r.Tally.Allocs}, {"launches/op", float64(r.Tally.Launches)}, {"FLOP/op", float64(r.Tally.Flops)},
				{"device-sec/op", r.Tally.Device}} {
				if each.value > 0 {
					res.Values = append(res.Values, benchfmt.Value{Value: each.value, Unit: each.unit})
				}
			}
			if err := w.Write(res); err != nil {
				return nil, err
			}
		}
	}
	return out.Bytes(), nil
}

// benchmarkName is the name of a case as the format has it: without spaces and slashes.
func (r *Result) benchmarkName(name string) string {
	text := "Work"
	if name != "" {
		text += "/name=" + strings.Map(func(c rune) rune {
			if c <= ' ' || c == '/' {
				return '_'
			}
			return c
		}, name)
	}
	return fmt.Sprintf("%s-%d", text, max(1, r.Machine.Threads))
}

// config is the machine as lines of configuration.
func (m Machine) config() (list []benchfmt.Config) {
	goos, goarch, _ := strings.Cut(m.OS, "/")
	for _, each := range []struct{ key, value string }{
		{"goos", goos}, {"goarch", goarch}, {"cpu", m.CPU}, {"go", m.Go}, {"device", m.Device}, {"mcs", m.Engine}, {"power", m.Power},
		{"processors", strconv.Itoa(m.Cores)}, {"mhz", known(m.MHz - 1)}, {"load", known(m.Load)}, {"steal", known(m.Steal)}, {"others", known(m.Others)},
	} {
		if value := oneLine(each.value); value != "" {
			list = append(list, benchfmt.Config{Key: each.key, Value: []byte(value), File: true})
		}
	}
	return list
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// known is a number, or nothing for one below 0.
func known(x float64) string {
	if x < 0 {
		return ""
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}

// csvColumns are the columns of CSV, with what stands in them for a line. Times are in seconds.
var csvColumns = []struct {
	name string
	of   func(l Line) any
}{
	{"name", func(l Line) any { return l.Name }},
	{"median", func(l Line) any { return l.Result.Median }},
	{"low", func(l Line) any { return l.Result.Low }},
	{"high", func(l Line) any { return l.Result.High }},
	{"min", func(l Line) any { return l.Result.Min }},
	{"p25", func(l Line) any { return l.Result.P25 }},
	{"p75", func(l Line) any { return l.Result.P75 }},
	{"first", func(l Line) any { return l.Result.First }},
	{"floor", func(l Line) any { return l.Result.Floor }},
	{"host", func(l Line) any { return l.Result.Host() }},
	{"device", func(l Line) any { return l.Result.Tally.Device }},
	{"samples", func(l Line) any { return l.Result.Samples }},
	{"runs_per_sample", func(l Line) any { return l.Result.PerSample }},
	{"launches", func(l Line) any { return l.Result.Tally.Launches }},
	{"flops", func(l Line) any { return l.Result.Tally.Flops }},
	{"bytes", func(l Line) any { return l.Result.Tally.Bytes }},
	{"allocs", func(l Line) any { return l.Result.Tally.Allocs }},
	{"heap", func(l Line) any { return l.Result.Tally.Heap }},
	{"ratio", func(l Line) any { return l.Ratio }},
	{"ratio_low", func(l Line) any { return l.Low }},
	{"ratio_high", func(l Line) any { return l.High }},
	{"verdict", func(l Line) any { return l.Verdict }},
	{"refused", func(l Line) any { return l.Result.Refused }},
}

// Host is how many seconds of a run the device did not work; 0 where the device's time is not known.
func (r *Result) Host() float64 {
	if r.Tally.Device <= 0 {
		return 0
	}
	return max(0, r.Median-r.Tally.Device)
}

// CSV is a line of names and one for each case, times in seconds.
func (c *Comparison) CSV() ([]byte, error) {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	row := make([]string, len(csvColumns))
	for i, column := range csvColumns {
		row[i] = column.name
	}
	err := w.Write(row)
	for _, l := range c.Lines {
		for i, column := range csvColumns {
			row[i] = fmt.Sprint(column.of(l))
		}
		if err == nil {
			err = w.Write(row)
		}
	}
	w.Flush()
	return out.Bytes(), err
}

// Markdown is a table of GitHub's Markdown, with what disturbs the figures and the machine below it.
func (c *Comparison) Markdown() string {
	var b strings.Builder
	b.WriteString("| | median | 95 % | min | " + c.heading() + " | launches |\n|---|--:|---|--:|---|--:|\n")
	for i, l := range c.Lines {
		r := l.Result
		interval, least := "", ""
		if r.Refused == "" {
			interval = fmt.Sprintf("%s – %s", units.Seconds(r.Low), units.Seconds(r.High))
			least = units.Seconds(r.Min)
		}
		versus := ""
		if i > 0 || c.Baseline != "" {
			versus = l.Versus()
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %d |\n", cell(l.Name), l.median(), interval, least, cell(versus), r.Tally.Launches)
	}
	for _, note := range c.Remarks() {
		b.WriteString("\n" + cell(note) + "  ")
	}
	fmt.Fprintf(&b, "\n%s\n", cell(c.Lines[0].Result.Machine.String()))
	return b.String()
}

// cell is text that stays within its place in a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "*", `\*`, "_", `\_`, "<", "&lt;").Replace(text)
}
