package magics

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/display/diagram"
)

func graphMagics() []*Magic {
	return []*Magic{{
		Name: "graph", Family: "Timing", Args: "STATEMENT", needs: "statement", Takes: TakesGo, Cell: true,
		Flags: []Flag{
			{Name: "fuse", Kind: Choice, Choices: []string{"on", "off"}, Help: "with fusion on or off for this statement"},
			{Name: "n", Kind: Integer, Default: "50", Help: "show so many launches"},
			{Name: "o", Kind: Text, Arg: "FILE", Outside: true, Help: "write the graph to a file: .svg, .dot or .json"},
		},
		Summary: "what a statement launches, what was fused, and what goes from launch to launch",
		Help: "The statement runs once. A box is a launch: its kernel, the operations that were fused into it with their shapes, the lines\n" +
			"that they come from, what it reads and what it makes. A line beside the boxes is a value on its way from the launch that makes it\n" +
			"to those that read it.",
		Example: "%graph x.MatMul(w).Silu().Softmax(-1)\n%graph -fuse=off x.MatMul(w).Silu()\n%graph -o step.svg tensor.Grad(loss, w)",
		run:     runGraph,
	}}
}

func runGraph(ctx context.Context, c *call) (display.Value, error) {
	w, err := c.prepare()
	if err != nil {
		return nil, err
	}
	if choice := c.text("fuse"); choice != "" {
		ctx = tensor.WithFusion(ctx, choice == "on")
	}
	r, err := w.record(ctx, profile.RecordTraced)
	if err != nil {
		return nil, err
	}
	if len(r.Trace.Launches) == 0 {
		return display.Text("nothing was launched"), nil
	}
	if file := c.text("o"); file != "" {
		return c.writeGraph(file, r)
	}
	return diagramOf(r.Trace, max(c.number("n"), 1)), nil
}

// writeGraph writes a graph in the form that the file's name asks for.
func (c *call) writeGraph(file string, r *profile.Recording) (display.Value, error) {
	d := diagramOf(r.Trace, len(r.Trace.Launches))
	var text []byte
	var err error
	switch filepath.Ext(file) {
	case ".svg":
		text = []byte(d.SVG())
	case ".dot":
		text = []byte(d.DOT())
	case ".json":
		text, err = r.JSON()
	default:
		return nil, c.errorf("-o %s: want a name that ends in .svg, .dot or .json", file)
	}
	if err != nil {
		return nil, c.errorf("%w", err)
	}
	return c.wrote(file, text)
}

// wrote writes a file that a command was asked for, and says so.
func (c *call) wrote(file string, text []byte) (display.Value, error) {
	if err := durable.WriteFile(c.path(file), durable.Text(string(text))); err != nil {
		return nil, c.errorf("%w", err)
	}
	return display.Text(fmt.Sprintf("wrote %s, %s", file, units.Bytes(int64(len(text))))), nil
}

// diagramOf draws the first launches of a trace.
func diagramOf(t *profile.Trace, most int) *diagram.Diagram {
	d := &diagram.Diagram{}
	for i := range t.Launches[:min(most, len(t.Launches))] {
		d.Boxes = append(d.Boxes, boxOf(&t.Launches[i]))
	}
	var bytes, flops int64
	for i := range t.Launches {
		bytes, flops = bytes+t.Launches[i].Bytes, flops+t.Launches[i].Flops
	}
	parts := []string{units.Plural(int64(len(t.Launches)), "launch")}
	if n := len(t.Evals); n > 1 {
		parts[0] += fmt.Sprintf(" in %s", units.Plural(int64(n), "evaluation"))
	}
	parts = append(parts, units.Bytes(bytes), units.Count(float64(flops))+" flops")
	if more := len(t.Launches) - len(d.Boxes) + t.Dropped; more > 0 {
		parts = append(parts, fmt.Sprintf("%s not shown (-n N)", units.Plural(int64(more), "launch")))
	}
	d.Foot = strings.Join(parts, " · ")
	return d
}

var tones = map[string]diagram.Tone{"backward": diagram.Back, "optimizer": diagram.Change}

func boxOf(l *profile.Launch) diagram.Box {
	box := diagram.Box{Title: l.Kernel, Note: units.Bytes(l.Bytes)}
	if l.Flops > 0 {
		box.Note += " · " + units.Count(float64(l.Flops)) + " flops"
	}
	if ops := opsOf(l); ops != "" {
		box.Lines = append(box.Lines, ops)
	}
	box.Lines = append(box.Lines, profile.Origins(l)...)
	for _, o := range l.From {
		box.Tone = max(box.Tone, tones[o.Pass])
	}
	for _, v := range l.Reads {
		box.In = append(box.In, diagram.In{Box: v.Launch, Out: v.Write, Label: labelOf(v)})
	}
	for _, v := range l.Writes {
		box.Out = append(box.Out, diagram.Out{Label: labelOf(v), Kept: v.Result})
	}
	return box
}

// opsOf lists what was fused: "matmul f32[4 6] → silu → sum f32[4]". A type stands where it is another one
// than before.
func opsOf(l *profile.Launch) string {
	var parts []string
	for i, op := range l.Ops {
		text := op.Name
		if i == 0 || l.Ops[i-1].DType != op.DType || !slices.Equal(l.Ops[i-1].Shape, op.Shape) {
			text += fmt.Sprintf(" %v%v", op.DType, op.Shape)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " → ")
}

func labelOf(v profile.Value) string {
	text := fmt.Sprintf("%v%v", v.DType, v.Shape)
	if v.Bytes > 0 {
		text += " " + units.Bytes(v.Bytes)
	}
	return text
}
