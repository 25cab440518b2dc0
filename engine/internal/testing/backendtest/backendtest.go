// Package backendtest is the conformance suite that a backend has to pass.
//
// [Run] walks the op table. For each op there are cases (cases_*.go) over the dtypes that the op takes, over
// shapes of rank 0, without elements, of odd sizes, and large enough for vectors and several threads, over
// strided, flipped and broadcast operands, and over special values. Without -long most types run a third of
// the cases, and those of a processor without CI=1 a sixth. Each case is a little graph; it is built twice,
// evaluated on the reference and on the backend, and the results must agree within the row's tolerance.
// Random graphs (graphs.go) are longer, so that the planner has something to fuse, and contract.go checks the
// other promises of the interface.
//
// The file record/NAME.txt lists the ops and types that a backend has run; the documentation of the ops is
// made from it. Run fails when it has run others than these; go test -record writes the file.
package backendtest

import (
	"embed"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/ref"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/plan"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

var update = flag.Bool("record", false, "write which ops the backend has run")

// Run holds the backend that open returns against the reference. Its package's tests call it.
func Run(t *testing.T, open func() (backend.Backend, error)) {
	s := check(t, open)
	if !testing.Short() && !t.Failed() {
		kind, _, _ := strings.Cut(s.dev.Backend().Info().Name, ":") // one record for all devices of a kind
		s.checkRecord(t, kind)
	}
}

// Check is Run for a backend of which no record is kept.
func Check(t *testing.T, open func() (backend.Backend, error)) { check(t, open) }

// Few is a part of Check for a backend that is slow: of each op up to four cases with one type, and two
// random graphs.
func Few(t *testing.T, open func() (backend.Backend, error)) { newSuite(t, open, true).check(t) }

// Part is Few, and Run with -long or -record.
func Part(t *testing.T, open func() (backend.Backend, error)) {
	if long.Tests() || *update {
		Run(t, open)
	} else {
		Few(t, open)
	}
}

// Ops is Check for some ops, or else for all that have cases, with some types alone.
func Ops(t *testing.T, open func() (backend.Backend, error), dtypes []dtype.Type, ops ...ir.Op) {
	s := newSuite(t, open, false)
	s.dtypes = dtypes
	if len(ops) == 0 {
		for _, r := range ir.Rows() {
			if HasCases(r.Op) {
				ops = append(ops, r.Op)
			}
		}
	}
	for _, op := range ops {
		r := ir.RowOf(op)
		t.Run(r.Name, func(t *testing.T) { s.op(t, *r, casesOf(op)) })
	}
}

func check(t *testing.T, open func() (backend.Backend, error)) *suite {
	s := newSuite(t, open, false)
	s.check(t)
	return s
}

func newSuite(t *testing.T, open func() (backend.Backend, error), few bool) *suite {
	b, err := open()
	if err != nil {
		t.Fatal(err)
	}
	_, rehearsed := b.(interface{ Texts() map[string]string })
	percent := debug.SetGCPercent(400) // thousands of small graphs: a tenth of the time
	t.Cleanup(func() { debug.SetGCPercent(percent) })
	return &suite{
		dev: backend.NewDevice("tested", b), exact: newReference(t), dtypes: b.Info().DTypes, few: few, quick: b.Info().Threads > 0 && !long.CI() && !*update, rehearsed: rehearsed,
		tried: map[ir.Op]bool{}, passed: map[ir.Op]map[dtype.Type]bool{},
	}
}

func (s *suite) check(t *testing.T) {
	for _, r := range ir.Rows() {
		cases := casesOf(r.Op)
		if len(cases) == 0 {
			if !withoutCases[r.Op] {
				t.Errorf("%s has no cases", r.Name)
			}
			continue
		}
		t.Run(r.Name, func(t *testing.T) { s.op(t, r, cases) })
	}
	t.Run("user kernels", func(t *testing.T) { s.kernels(t) })
	t.Run("random graphs", func(t *testing.T) { s.graphs(t) })
	t.Run("halves", func(t *testing.T) { s.halves(t) })
	t.Run("errors", func(t *testing.T) { s.errors(t) })
	t.Run("contract", func(t *testing.T) { s.contract(t) })
}

// withoutCases are the rows that give a backend no work by themselves, which the cases of other rows use, and
// the one whose meaning is a text: see kernels.
var withoutCases = map[ir.Op]bool{
	ir.Leaf: true, ir.Const: true, ir.Pick: true, ir.To: true, ir.Detach: true, ir.Checkpoint: true, ir.UserKernel: true,
}

// HasCases says whether a backend runs cases of an op, and so has it in its record.
func HasCases(op ir.Op) bool { return !withoutCases[op] }

func newReference(t *testing.T) *backend.Device {
	b, err := ref.Open()
	if err != nil {
		t.Fatal(err)
	}
	return backend.NewDevice("reference", b)
}

type suite struct {
	dev, exact *backend.Device
	dtypes     []dtype.Type
	few        bool           // see Few
	quick      bool           // see share
	rehearsed  bool           // the backend only notes what a GPU's compiles: nobody looks at its numbers
	tried      map[ir.Op]bool // -run chooses some
	passed     map[ir.Op]map[dtype.Type]bool
}

// op runs the cases of a row with each dtype that its rule accepts, see share.
func (s *suite) op(t *testing.T, r ir.Row, cases []Case) {
	s.tried[r.Op] = true
	dtypes := s.dtypes
	if s.few { // most ops take the first, and then that is all
		dtypes = append([]dtype.Type{dtype.F32}, dtypes...)
		cases = spaced(cases)
	}
	for _, dt := range dtypes {
		ran, ok := 0, true
		for i, c := range cases {
			if n := s.share(dt, len(cases)); len(cases) > 6 && i%n != int(dt)%n && c.Name != "special values" {
				continue
			}
			tolerance := r.Tol
			if r.Rounds && dt.Size() == 2 {
				tolerance = 2 * ulp(dt) // each term of a sum is rounded, and terms may cancel
			}
			switch s.agree(t, fmt.Sprintf("%s %v", c.Name, dt), dt, tolerance, c) {
			case agreed:
				ran++
			case differed:
				ok = false
			}
		}
		if ran > 0 && ok {
			if s.passed[r.Op] == nil {
				s.passed[r.Op] = map[dtype.Type]bool{}
			}
			s.passed[r.Op][dt] = true
		}
		if s.few && (ran > 0 || !ok) {
			break
		}
	}
	if s.passed[r.Op] == nil && !t.Failed() {
		t.Errorf("no case of %s accepts a dtype of the backend", r.Name)
	}
}

// spaced are the first case and three more, from all over the list.
func spaced(cases []Case) []Case {
	if len(cases) <= 4 {
		return cases
	}
	var list []Case
	for i := range 4 {
		list = append(list, cases[i*(len(cases)-1)/3])
	}
	return list
}

// share says of how many of an op's cases a type runs one. The loops of most types have the same source, for
// another Go type; so each of these runs only a third of the cases, and the special values. So do all types
// of the hundreds of cases of products with codes: F32, F16 and BF16 run another third each. A processor's
// types each run a sixth without CI=1.
func (s *suite) share(dt dtype.Type, cases int) int {
	own := dt == dtype.I32 || dt == dtype.F32 || dt == dtype.BF16
	switch like := dt == dtype.Bool || dt == dtype.U8 || dt == dtype.I64 || dt == dtype.F16 || dt == dtype.F64; {
	case long.Tests() && (own || like):
		return 1
	case s.quick:
		return 6
	case own && cases <= 100:
		return 1
	}
	return 3
}

type outcome int

const (
	notForDType outcome = iota
	agreed
	differed
)

// agree evaluates a case on both devices and compares.
func (s *suite) agree(t *testing.T, name string, dt dtype.Type, tolerance float64, c Case) outcome {
	t.Helper()
	c = c.kept()
	var want []Values
	if !s.rehearsed {
		var err error
		want, err = Evaluate(s.exact, name, dt, c)
		if err == errNotForDType {
			return notForDType
		}
		if err != nil {
			t.Errorf("%s: reference: %v", name, err)
			return differed
		}
	}
	got, err := Evaluate(s.dev, name, dt, c)
	if err == errNotForDType { // a cast to a dtype that the backend does not have
		return notForDType
	}
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return differed
	}
	if c.Tol > 0 {
		tolerance = c.Tol
	}
	if c.Narrowed && dt.Size() == 2 {
		tolerance += ulp(dt) / 4
	}
	tolerance *= roundings(dt)
	for i := range want {
		if c.Rounded {
			got[i].round(&want[i])
		}
		if err := got[i].compare(&want[i], tolerance, c.Elementwise); err != nil {
			t.Errorf("%s: result %d: %v", name, i, err)
			return differed
		}
	}
	return agreed
}

// roundings is how many times larger a rounding error in dt is than one in float32, the type in which
// backends compute all types but F64.
func roundings(dt dtype.Type) float64 {
	if dt == dtype.F64 {
		return 0x1p-29
	}
	return 1
}

// Evaluate builds a case on a device and returns its results.
func Evaluate(dev *backend.Device, name string, dt dtype.Type, c Case) (results []Values, err error) {
	nodes, err := build(dev, name, dt, c)
	if err != nil {
		return nil, err
	}
	if err := plan.Run(scope.Context(), nodes); err != nil {
		return nil, err
	}
	for _, n := range nodes {
		v, err := read(n)
		if err != nil {
			return nil, err
		}
		results = append(results, v)
	}
	return results, nil
}

// errors runs cases with mistakes that depend on the data, so that the backend itself has to notice them.
func (s *suite) errors(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(b *B) *ir.Node
	}{
		{"gather beyond the end", func(b *B) *ir.Node {
			return b.New(ir.Gather, ir.Attr{}, b.Normal(dtype.F32, 3, 2), b.Ints(dtype.I64, []int{2}, 1, 3))
		}},
		{"gather before the start", func(b *B) *ir.Node {
			return b.New(ir.Gather, ir.Attr{}, b.Normal(dtype.F32, 3, 2), b.Ints(dtype.I64, []int{2}, 0, -4))
		}},
		{"scatter beyond the end", func(b *B) *ir.Node {
			return b.New(ir.ScatterAdd, ir.Attr{}, b.Normal(dtype.F32, 3, 2), b.Ints(dtype.I64, []int{1}, 3), b.Normal(dtype.F32, 1, 2))
		}},
		{"overwrite beyond the end", func(b *B) *ir.Node {
			return b.New(ir.Overwrite, ir.Attr{}, b.Normal(dtype.F32, 3, 2), b.Ints(dtype.I64, []int{1}, 3), b.Normal(dtype.F32, 1, 2))
		}},
		{"dequantize_take beyond the end", func(b *B) *ir.Node {
			q := ir.Quant{K: 3, N: 5, Bits: 4, Group: 32, DType: dtype.F32}
			return b.New(ir.DequantizeTake, q.Attr(), append([]*ir.Node{b.Ints(dtype.I64, []int{1}, 5)}, b.Quantised(q, dtype.F32)...)...)
		}},
		{"a target that is no class", func(b *B) *ir.Node {
			ce := b.New(ir.CrossEntropy, ir.Attr{Index: -100}, b.Normal(dtype.F32, 2, 5), b.Ints(dtype.I64, []int{2}, 4, 5))
			return b.New(ir.Pick, ir.Attr{}, ce)
		}},
	} {
		_, err := Evaluate(s.dev, c.name, dtype.F32, Case{Build: func(b *B, _ dtype.Type) []*ir.Node { return []*ir.Node{c.build(b)} }})
		if err == nil {
			t.Errorf("%s: no error", c.name)
		}
		if err := s.dev.Sync(t.Context()); err != nil {
			t.Errorf("%s: a second time: %v", c.name, err)
		}
	}
	// After an error the backend still works.
	s.agree(t, "after an error", dtype.F32, 1e-6, casesOf(ir.Add)[1])
}

//go:embed record
var records embed.FS

// Record returns, for each op by name, the dtypes that a backend has run; nil if the backend has no record.
func Record(name string) map[string][]string {
	text, err := records.ReadFile("record/" + name + ".txt")
	if err != nil {
		return nil
	}
	ran := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		op, dtypes, _ := strings.Cut(strings.TrimSpace(line), ":")
		ran[op] = strings.Fields(dtypes)
	}
	return ran
}

// checkRecord compares the record with what has run; it keeps what -run has left out.
func (s *suite) checkRecord(t *testing.T, name string) {
	var text strings.Builder
	recorded := Record(name)
	for _, r := range ir.Rows() {
		if kept := recorded[r.Name]; !s.tried[r.Op] && kept != nil {
			text.WriteString(r.Name + ": " + strings.Join(kept, " ") + "\n")
		}
		if len(s.passed[r.Op]) == 0 {
			continue
		}
		text.WriteString(r.Name + ":")
		for _, dt := range dtype.All() {
			if s.passed[r.Op][dt] {
				text.WriteString(" " + dt.String())
			}
		}
		text.WriteString("\n")
	}
	if *update {
		// Tests run in their package's folder: a backend's, or that of a device for tests.
		dir := "../../testing/backendtest/record/"
		if _, err := os.Stat(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir+name+".txt", []byte(text.String()), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	old, _ := records.ReadFile("record/" + name + ".txt")
	if !slices.Equal(strings.Fields(string(old)), strings.Fields(text.String())) {
		t.Errorf("record/%s.txt is not what was run: go test -record writes it", name)
	}
}
