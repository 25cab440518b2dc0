package magics

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcs-notebook/mcs/engine/bench"
	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/session"
)

func profileMagics() []*Magic {
	budget := Flag{Name: "t", Kind: Duration, Default: "1s", Help: "repeat the statement for so long"}
	runs := Flag{Name: "n", Kind: Integer, Default: "0", Help: "repeat it so often instead"}
	return []*Magic{{
		Name: "profile", Family: "Timing", Varies: true, Args: "STATEMENT", needs: "statement", Takes: TakesGo, Cell: true,
		Flags: []Flag{budget, runs,
			{Name: "o", Kind: Text, Arg: "FILE", Outside: true, Help: "write a flame graph (.svg), a trace for Perfetto (.json), a profile of Go functions and lines for go tool pprof (.pb.gz), or one run on a Mac's GPU for Xcode (.gputrace)"}},
		Summary: "where the time of a statement goes: lines of cells, and kernels",
		Help: "The statement runs once, so that plans are there, and then again and again. Each line has the time that passed while it was the\n" +
			"innermost one under way, in kernels, in the rest of the engine and in Go. Kernels are timed one by one and belong to the line that\n" +
			"made the tensor, gradients to the line whose gradients they are, the rest of an evaluation to the line that asks for it. Lines\n" +
			"whose work one kernel does stand together, \"In[3]:2 + In[3]:5\", because their times cannot be told apart; but a product is the\n" +
			"work of its line, whatever small things the kernel does with it. For the time in Go the line under way is looked at 250 times\n" +
			"in each second of it, with -n and with short -t a thousand times, and less often during evaluations. While the statement waits\n" +
			"for goroutines, the time is that of the lines which these have under way. That stops nothing, but each call of a function takes\n" +
			"some 10 ns longer, which is said where it is 1 %. Kernels follow, as in %kernels -t. If evaluations take less than 50 µs, 32\n" +
			"runs are recorded and 32 are not, in turns: the median of those that were not shows what recording costs. All else is of the\n" +
			"runs that were recorded.\n" +
			"-n 1 runs the statement once: for those that change something. A .pb.gz file has the CPU time of Go functions, those of the\n" +
			"engine and of the interpreter, which go tool pprof shows first; -sample_index=wall shows the lines, with the time that passed.\n" +
			"A .gputrace is what Metal did in the last of two runs; macOS writes one if mcs was started with METAL_CAPTURE_ENABLED=1.",
		Example: "%profile m.Logits(ids)\n%profile -n 1 step()\n%profile -o flame.svg m.Logits(ids)\n%profile -o trace.json m.Logits(ids)",
		run:     runProfile,
	}, {
		Name: "lprof", Family: "Timing", Varies: true, Args: "FUNCTION CALL", Takes: TakesGo,
		Flags:   []Flag{budget, runs},
		Summary: "the time of each line of a function that a cell has declared",
		Help: "The call runs as in %profile. A line has the time that passed while it was under way, with all that it called, and that of the\n" +
			"kernels that compute what was made under it, there or later. Lines whose work one kernel does have a row of their own below.",
		Example: "%lprof attention model.Forward(x)",
		run:     runLineProfile,
	}}
}

// profiled is what %profile and %lprof have measured.
type profiled struct {
	runs    int
	parts   []part          // of time that is the statement's: the runs; of one run what went before Inputs, and after it
	lasted  atomic.Int64    // the parts, in nanoseconds
	bare    []time.Duration // runs that were not recorded
	record  *profile.Recording
	samples []session.Sample
	follow  time.Duration // of the parts, what it took to follow calls
	spans   []span
	goesOn  []string      // that runs went on from the runs before them
	machine bench.Machine // the machine while the runs went on
}

// A part is a time that began after so much of the recording.
type part struct{ start, took time.Duration }

func (p part) end() time.Duration { return p.start + p.took }

// pprofFile is what the names of files for go tool pprof end in.
const pprofFile = ".pb.gz"

// A span is a time in which one thing was done.
type span struct {
	at, took time.Duration
	lines    []string // of cells, the outermost first
	in       string   // "kernels", "engine", "Go"
	what     string   // the kernel
}

// sampleEvery is how much time in Go lies between two looks at which line is under way: a millisecond, but of
// work that is repeated for long so much that there are 250 looks, or 4 ms. More of them tell no more than
// the runs differ by.
func sampleEvery(n int, budget time.Duration) time.Duration {
	if n > 0 {
		return time.Millisecond // nobody knows how long that takes
	}
	return min(max(budget/250, time.Millisecond), 4*time.Millisecond)
}

// leastGo is the share of time in Go that looks are taken for at least.
const leastGo = 0.2

// untilLook is how long to wait for the next look, if evaluations have taken so much of the time that has
// passed. Their time is known without looks, and each look holds up small kernels. So where there is less
// time in Go there are fewer looks: the error that they leave in a line's share is the same.
func untilLook(every, passed, evaluating time.Duration) time.Duration {
	if passed <= 0 {
		return every
	}
	inGo := 1 - evaluating.Seconds()/passed.Seconds()
	return time.Duration(float64(every) / min(max(inGo, leastGo), 1))
}

// profiled runs the work over and over, looked at. Go's CPU profile of the runs is written to cpu unless that
// is nil. With turns, work of short evaluations is recorded in every other turn only.
func (c *call) profiled(ctx context.Context, w *work, cpu io.Writer, turns bool) (p *profiled, err error) {
	n, budget := c.number("n"), c.duration("t")
	if n != 1 {
		if _, err := w.once(ctx); err != nil {
			return nil, err
		}
	}
	p = &profiled{}
	if cpu != nil {
		if err := pprof.StartCPUProfile(cpu); err != nil { // a cell has begun one
			return nil, c.errorf("%w", err)
		}
		defer pprof.StopCPUProfile()
	}
	watch := bench.NewWatch(c.table.Clock)
	how := watching{every: sampleEvery(n, budget), only: n == 1}
	if turns && n <= 0 {
		how.short = 50 * time.Microsecond
	}
	err = p.watch(ctx, c.s, w, how, func(passed time.Duration) bool {
		return n > 0 && p.runs < n || n <= 0 && passed < budget
	})
	p.machine = watch.Machine()
	p.goesOn = c.goesOn()
	p.record.Remarks = append(p.record.Remarks, p.goesOn...)
	p.span()
	return p, err
}

// watching is how work is watched.
type watching struct {
	every time.Duration // see sampleEvery
	only  bool          // this is one run, and the first one
	// Evaluations that take less than short are recorded in every other turn only: what it costs to record
	// them can be seen then, and half of it is saved.
	short time.Duration
}

// turn is how many runs are recorded, or not recorded, one after the other.
const turn = 32

// watch runs the work as long as more says so, which gets the time that has passed.
func (p *profiled) watch(ctx context.Context, s *session.Session, w *work, how watching, more func(passed time.Duration) bool) (err error) {
	var remarks []string
	p.record = profile.RecordTraced(ctx, func(ctx context.Context) {
		start := time.Now()
		sampling := s.Sample(func() time.Duration {
			_, evaluating := profile.Evaluating(ctx)
			return untilLook(how.every, time.Duration(p.lasted.Load()), evaluating)
		})
		defer func() { p.samples, p.follow = sampling.Stop(), sampling.Took }()
		l := tensor.NewLedger(ctx)
		defer l.Close()
		var results []tensor.Tensor
		left := w.look()
		// The session is entered once: entering it for each run would draw samples to the ends of runs,
		// because that is where goroutines change.
		err = w.stmt.Within(l.Context(), func() error {
			for begun := time.Now(); ctx.Err() == nil; {
				results, err = p.run(w, l, start, how.only)
				w.restore()
				if err == nil && p.runs%turn == 0 && p.short(ctx, l, how.short) {
					err = p.runBare(l.Context(), w)
				}
				if err != nil || !more(time.Since(begun)) {
					return err
				}
			}
			return nil
		})
		if err == nil {
			remarks = append(bench.Remarks(l, results...), left()...)
		}
		w.restore() // a stop or a panic has ended the loop
	})
	p.record.Remarks = remarks
	return err
}

// short says whether evaluations have taken less than a time, on average. Work that leaves something to be
// computed needs the ledger in each run.
func (p *profiled) short(ctx context.Context, l *tensor.Ledger, than time.Duration) bool {
	n, took := profile.Evaluating(ctx)
	return n > 0 && took/time.Duration(n) < than && l.Sum().Settled == 0
}

// runBare runs the work for a turn without recording it.
func (p *profiled) runBare(ctx context.Context, w *work) error {
	resume, queues := profile.Pause(ctx), device.Queues()
	defer resume()
	for range turn {
		at := time.Now()
		_, err := w.stmt.Loop(1)
		if err == nil && queues {
			err = device.Sync()
		}
		p.bare = append(p.bare, time.Since(at))
		w.restore()
		if err != nil {
			return err
		}
	}
	return nil
}

// run runs the work once. If that is the only run, none has computed before it what others had left undone.
func (p *profiled) run(w *work, l *tensor.Ledger, start time.Time, only bool) ([]tensor.Tensor, error) {
	at := time.Now()
	defer func() {
		took := time.Since(at)
		p.parts = append(p.parts, part{at.Sub(start), took})
		p.lasted.Add(int64(took))
		p.runs++
	}()
	v, err := w.stmt.Loop(1)
	if err == nil && only {
		p.parts = append(p.parts, part{at.Sub(start), time.Since(at)})
		err = l.Inputs()
		at = time.Now()
	}
	if err != nil {
		return nil, err
	}
	results := tensorsIn(v)
	return results, l.Eval(results...)
}

// span divides the time. What evaluations take is known, and so is the line that asks for each. What passes
// besides counts to the line of the nearest sample: so a sample that comes late, because the processors are
// busy with kernels, gives no line the time of the kernels.
func (p *profiled) span() {
	t := p.record.Trace
	launch := 0
	for i, e := range t.Evals {
		for ; launch < len(t.Launches) && t.Launches[launch].Eval == i; launch++ {
			l := &t.Launches[launch]
			p.spans = append(p.spans, span{l.Start, l.Time, madeBy(l, e.Stack), doing(l), l.Kernel})
		}
		p.spans = append(p.spans, span{e.Start, e.End - e.Start - e.Busy, e.Stack, "engine", ""})
	}
	var ends, from time.Duration
	eval, run := 0, 0
	if n := len(p.parts); n > 0 {
		ends = p.parts[n-1].end()
	}
	between := func(to time.Duration, lines []string) {
		rest := time.Duration(0)
		for ; run < len(p.parts); run++ { // what passes between runs is none of the statement's
			each := p.parts[run]
			rest += max(0, min(to, each.end())-max(from, each.start))
			if each.end() > to {
				break
			}
		}
		for ; eval < len(t.Evals); eval++ {
			e := &t.Evals[eval]
			rest -= max(0, min(to, e.End)-max(from, e.Start))
			if e.End > to {
				break
			}
		}
		if rest > 0 {
			p.spans = append(p.spans, span{from, rest, lines, "Go", ""})
		}
		from = to
	}
	seen := p.samplesOfRuns()
	for i, s := range seen {
		to := ends
		if i+1 < len(seen) {
			to = min(ends, (s.At+seen[i+1].At)/2)
		}
		if to > from {
			lines := s.Lines
			if s.Apart {
				lines = []string{ownWork}
			}
			between(to, lines)
		}
	}
	if len(seen) == 0 {
		between(ends, nil)
	}
}

// madeBy is the lines whose work a launch is, the outermost first, or those that asked for it if nobody
// knows. If it does the work of several at once, the last line names them all, below the lines that they
// share.
func madeBy(l *profile.Launch, asked []string) []string {
	makers := l.Makers()
	switch len(makers) {
	case 0:
		return asked
	case 1:
		return makers[0]
	}
	shared, names := slices.Clone(makers[0]), []string{}
	for _, m := range makers {
		n := 0
		for n < min(len(shared), len(m)) && shared[n] == m[n] {
			n++
		}
		shared, names = shared[:n], append(names, m[len(m)-1])
	}
	return append(shared, strings.Join(names, sharing))
}

// sharing stands between lines whose times cannot be told apart.
const sharing = " + "

// oneKernel is said of such lines.
const oneKernel = "// one kernel does the work of these lines: their times cannot be told apart"

// doing is what a span of a launch says that its lines did.
func doing(l *profile.Launch) string {
	for _, o := range l.From {
		if o.Pass != "backward" {
			return "kernels"
		}
	}
	if len(l.From) > 0 {
		return "gradients"
	}
	return "kernels"
}

// ownWork is the line of what passes in a run before its code begins and after it.
const ownWork = "%profile"

// samplesOfRuns are those within runs: between them marks are left of the run before.
func (p *profiled) samplesOfRuns() (list []session.Sample) {
	run := 0
	for _, s := range p.samples {
		for run < len(p.parts) && p.parts[run].end() < s.At {
			run++
		}
		if run < len(p.parts) && p.parts[run].start <= s.At {
			list = append(list, s)
		}
	}
	return list
}

func runProfile(ctx context.Context, c *call) (display.Value, error) {
	file := c.text("o")
	if filepath.Ext(file) == ".gputrace" {
		return c.capture(ctx, file)
	}
	if known := strings.HasSuffix(file, pprofFile) || slices.Contains([]string{".svg", ".json"}, filepath.Ext(file)); file != "" && !known {
		return nil, c.errorf("-o %s: want a name that ends in .svg, .json, .pb.gz or .gputrace", file)
	}
	w, err := c.prepare()
	if err != nil {
		return nil, err
	}
	var cpu io.Writer
	var buffer bytes.Buffer
	if strings.HasSuffix(file, pprofFile) {
		cpu = &buffer
	}
	p, err := c.profiled(ctx, w, cpu, file == "") // a file has all runs, one after the other
	if err != nil {
		return nil, err
	}
	if file != "" {
		text, err := p.file(file, buffer.Bytes())
		if err != nil {
			return nil, c.errorf("%w", err)
		}
		return c.wrote(file, text)
	}
	shown, notes := values{c.lineTable(p)}, p.record.Notes()
	if len(p.record.Trace.Launches) > 0 {
		k := &kernelTimes{Usage: p.record.Usage(), Launches: p.record.Launches, Evals: len(p.record.Trace.Evals), Copies: p.record.Copies, Copied: p.record.CopiedBytes,
			notes: notes, dropped: p.record.Trace.Dropped}
		k.Usage.Wall = 0 // between runs nothing is the statement's
		for _, each := range p.parts {
			k.Usage.Wall += each.took
		}
		if err := k.hold(ctx, p.record); err != nil {
			return nil, c.errorf("%w", err)
		}
		shown, notes = append(shown, k), nil
	}
	return append(shown, display.Lines(strings.Join(append(notes, p.summary(), p.machine.Brief()), "\n"))), nil
}

// capture lets the default device write one run for its vendor's tools, after one that makes the plans.
func (c *call) capture(ctx context.Context, file string) (display.Value, error) {
	w, err := c.prepare()
	if err != nil {
		return nil, err
	}
	if _, err := w.once(ctx); err != nil {
		return nil, err
	}
	stop, err := device.Default().Capture(c.path(file))
	if err != nil {
		return nil, c.errorf("-o %s: %w", file, err)
	}
	_, err = w.once(ctx)
	if failed := stop(); err == nil && failed != nil {
		err = c.errorf("-o %s: %w", file, failed)
	}
	if err != nil {
		return nil, err
	}
	return display.Text("wrote " + file + ", one run: open it with Xcode"), nil
}

// summary says how often the statement ran and how long that took.
func (p *profiled) summary() string {
	sorted := slices.Sorted(slices.Values(p.times()))
	n := len(sorted)
	text := fmt.Sprintf("%s, median %s", units.Plural(int64(n), "run"), units.Duration(median(sorted)))
	if n > 1 {
		text += fmt.Sprintf(" (IQR %s – %s)", units.Duration(sorted[n/4]), units.Duration(sorted[(3*n-1)/4]))
	}
	if n := len(p.bare); n > 0 {
		text += fmt.Sprintf(" · %s that were not recorded, median %s", units.Plural(int64(n), "run"), units.Duration(median(p.bare)))
	}
	if share := p.follow.Seconds() / max(time.Duration(p.lasted.Load()).Seconds(), 1e-9); share >= 0.01 {
		text += fmt.Sprintf(" · about %s of that to follow calls", units.Percent(share))
	}
	text += fmt.Sprintf(" · %s", units.Plural(int64(len(p.samples)), "sample"))
	return text
}

// times are those of the runs.
func (p *profiled) times() []time.Duration {
	list := make([]time.Duration, p.runs)
	for i, each := range p.parts {
		list[min(i, p.runs-1)] += each.took
	}
	return list
}

func median(times []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// lineTable is the time by line of cells.
func (c *call) lineTable(p *profiled) display.Value {
	type row struct {
		line  string
		time  time.Duration
		doing map[string]time.Duration
	}
	var rows []*row
	var all time.Duration
	for _, s := range p.spans {
		line := "unknown"
		if n := len(s.lines); n > 0 {
			line = s.lines[n-1]
		}
		i := slices.IndexFunc(rows, func(r *row) bool { return r.line == line })
		if i < 0 {
			i = len(rows)
			rows = append(rows, &row{line: line, doing: map[string]time.Duration{}})
		}
		rows[i].time += s.took
		rows[i].doing[s.in] += s.took
		all += s.took
	}
	if len(rows) == 0 {
		return display.Text("nothing took any time")
	}
	slices.SortStableFunc(rows, func(a, b *row) int { return cmp.Compare(b.time, a.time) })
	t := display.NewTable("line", ">time", ">%", "=in", "~source")
	const most = 20
	for _, r := range rows[:min(most, len(rows))] {
		addLine(t, display.Cell{Text: r.line, Role: display.Name}, r.time, all, r.doing, c.sourceLine(r.line))
	}
	if n := len(rows) - most; n > 0 {
		t.Foot = fmt.Sprintf("%d more lines", n)
	}
	return t
}

// addLine adds the row of a line that took a part of all the time, with what was done in it, the longest
// first: "kernels 80 %, engine 20 %".
func addLine(t *display.Table, line any, took, all time.Duration, doing map[string]time.Duration, source string) {
	share := display.Cell{Text: units.Digits(100 * took.Seconds() / max(all.Seconds(), 1e-12))}
	names := slices.SortedFunc(maps.Keys(doing), func(a, b string) int { return cmp.Or(cmp.Compare(doing[b], doing[a]), cmp.Compare(a, b)) })
	var parts []string
	for _, name := range names[:min(2, len(names))] {
		parts = append(parts, fmt.Sprintf("%s %s", name, units.Percent(doing[name].Seconds()/max(took.Seconds(), 1e-12))))
	}
	t.Add(line, display.SecondsCell(took.Seconds()), share, strings.Join(parts, ", "), display.Cell{Text: source, Role: display.Code})
}

// sourceLine is the text of a line that a place names; empty if that is not one of a cell's lines.
func (c *call) sourceLine(place string) string {
	switch {
	case place == ownWork:
		return "// starts and ends the statement"
	case strings.Contains(place, sharing):
		return oneKernel
	}
	var n, line int
	if _, err := fmt.Sscanf(place, "In[%d]:%d", &n, &line); err != nil {
		return ""
	}
	return strings.TrimSpace(cell.Line(c.cellText(n), line))
}

// cellText is the text of a cell that has run.
func (c *call) cellText(n int) string {
	for _, ran := range c.s.History() {
		if ran.N == n {
			return ran.Source
		}
	}
	return ""
}
