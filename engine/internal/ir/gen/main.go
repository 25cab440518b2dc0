// Command gen writes docs/ops.md from the op table, and from the records of what each backend has run.
package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	_ "github.com/mcs-notebook/mcs/engine/internal/backend/all"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/testing/backendtest"
)

// path is docs/ops.md as seen from package ir, where go generate runs.
const path = "../../../docs/ops.md"

func main() {
	if err := os.WriteFile(path, []byte(page()), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

const head = `<!-- Generated from the op table by ` + "`go generate ./engine/internal/ir`" + `. -->

# Ops

Everything that the engine computes is made of these ops. Package tensor is what people write; it broadcasts, converts dtypes
and builds them. Each op says what it computes, where its gradient comes from, and how far a backend's float32 result
may be from the reference's float64 one, as a share of the result's largest magnitude. ` + "`Attr`" + ` are an op's settings
and ` + "`Src`" + ` its operands; both are in package ir.

F16 and BF16 are stored so and computed in f32. A value that lies between two ops of one launch stays f32 there; one that is
evaluated or goes from launch to launch is rounded. So what is evaluated on the way can change last bits of f16 and bf16, as
fusion does: ` + "`%kernels`" + ` shows the launches. With fusion off (` + "`tensor.WithFusion(ctx, false)`" + `) each op rounds its result,
and the bits are those of evaluating one op after the other.

Complex numbers are pairs of real ones here: package tensor makes an operation on them of these ops
([dtypes](dtypes.md#complex-numbers)).

Gradients are rules on the graph, each checked against central differences in float64. No gradient flows through
integers and booleans.
`

var families = []struct {
	family ir.Family
	title  string
}{
	{ir.FamilyLeaf, "Leaves"},
	{ir.FamilyRandom, "Random numbers"},
	{ir.FamilyView, "Views"},
	{ir.FamilyCopy, "Copies that no view can express"},
	{ir.FamilyElementwise, "Elementwise"},
	{ir.FamilyReduce, "Reductions"},
	{ir.FamilyMatMul, "Linear algebra"},
	{ir.FamilyRow, "Rows"},
	{ir.FamilyAttention, "Attention"},
	{ir.FamilyConv, "Convolutions and pooling"},
	{ir.FamilyIndex, "Along an axis, and by index"},
	{ir.FamilyOptimizer, "Optimizers"},
	{ir.FamilyKernel, "Kernels that people write"},
}

// page returns the whole document.
func page() string {
	var b strings.Builder
	b.WriteString(head)
	for _, f := range families {
		fmt.Fprintf(&b, "\n## %s\n", f.title)
		for _, r := range ir.Rows() {
			if r.Family == f.family {
				fmt.Fprintf(&b, "\n**%s** %s %s\n", r.Name, r.Doc, gradient(r)+tolerance(r))
			}
		}
	}
	b.WriteString(backends())
	return b.String()
}

// gradient says how the op is differentiated, where the doc does not.
func gradient(r ir.Row) string {
	switch {
	case r.Grad != nil || r.Op == ir.Pick:
		return "*Differentiable.*"
	}
	return "*No gradient: " + r.NoGrad + ".*"
}

func tolerance(r ir.Row) string {
	switch {
	case r.Family == ir.FamilyLeaf || r.Family == ir.FamilyView || r.Family == ir.FamilyCopy || r.Family == ir.FamilyKernel:
		return ""
	case r.Tol == 0:
		return " *Exact.*"
	}
	return fmt.Sprintf(" *Within %g.*", r.Tol)
}

// backends is the table of what ran where.
func backends() string {
	names, never := recorded()
	var b strings.Builder
	b.WriteString("\n## What each backend has run\n\n")
	b.WriteString("The conformance suite, `engine/internal/testing/backendtest`, runs each op in each dtype that it takes and compares with ref.\n")
	b.WriteString("A dtype that is missing was not run. `emulated` is the backend of GPUs, whose kernels the processor runs thread by\n")
	b.WriteString("thread (`engine/internal/testing/emulated`).")
	if len(never) > 0 {
		fmt.Fprintf(&b, " Not recorded: %s, which nobody has run yet.", strings.Join(never, ", "))
	}
	b.WriteString("\n\n")
	fmt.Fprintf(&b, "Integers are %s; floats are %s.\n\n", list(dtype.Type.Int), list(dtype.Type.Float))
	fmt.Fprintf(&b, "| op | %s |\n|---|%s\n", strings.Join(names, " | "), strings.Repeat("---|", len(names)))
	records := make([]map[string][]string, len(names))
	for i, name := range names {
		records[i] = backendtest.Record(name)
	}
	for _, r := range ir.Rows() {
		if !backendtest.HasCases(r.Op) {
			continue
		}
		fmt.Fprintf(&b, "| %s |", r.Name)
		for _, record := range records {
			run := strings.Join(record[r.Name], " ")
			run = strings.Replace(run, list(dtype.Type.Int), "integers", 1)
			run = strings.Replace(run, list(dtype.Type.Float), "floats", 1)
			if run == "" {
				run = "–"
			}
			fmt.Fprintf(&b, " %s |", run)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// recorded are the backends that have run the suite, the slowest first, and those that never have.
func recorded() (names, never []string) {
	for _, name := range append([]string{"emulated"}, backend.Names()...) {
		if backendtest.Record(name) == nil {
			never = append(never, name)
		} else {
			names = append(names, name)
		}
	}
	slices.Reverse(names)
	return names, never
}

// list names the dtypes of a kind.
func list(kind func(dtype.Type) bool) string {
	var names []string
	for _, dt := range dtype.All() {
		if kind(dt) {
			names = append(names, dt.String())
		}
	}
	return strings.Join(names, " ")
}
