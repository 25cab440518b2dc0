// Package diagram draws steps that pass values on: as text for a terminal, as SVG, and in the DOT language
// of Graphviz.
//
// A [Diagram] lists its boxes in the order in which they run, so a value goes from a box to later boxes.
package diagram

import (
	"fmt"
	"strings"
)

// A Diagram has boxes, and the values between them.
type Diagram struct {
	Boxes []Box
	Foot  string // a line below the boxes, or empty
}

// A Box is one step.
type Box struct {
	Title string   // "matmul_bias_silu"
	Note  string   // its cost: "4.3 MiB · 8.5 M flops"
	Lines []string // its work, and its place in the source
	Tone  Tone
	In    []In
	Out   []Out
}

// An In is a value that a box reads.
type In struct {
	Box   int    // index of the box that makes the value; -1 if no box does
	Out   int    // which of that box's
	Label string // "f32[4 1024] 16.0 KiB"
}

// An Out is a value that a box makes.
type Out struct {
	Label string
	Kept  bool // it is a result, even if other boxes read it
}

// A Tone groups boxes by colour.
type Tone int

const (
	Plain Tone = iota
	Back
	Change
)

// DOT writes the diagram as a directed graph for Graphviz.
func (d *Diagram) DOT() string {
	var b strings.Builder
	b.WriteString("digraph {\n\trankdir=TB\n\tnode [shape=box style=\"rounded,filled\" fontname=\"sans-serif\" fontsize=11]\n\tedge [fontname=\"sans-serif\" fontsize=9 color=\"#888888\"]\n")
	for i, box := range d.Boxes {
		text := append([]string{numbered(i, box.Title)}, box.Lines...)
		if box.Note != "" {
			text = append(text, box.Note)
		}
		fmt.Fprintf(&b, "\tb%d [label=%s fillcolor=%q]\n", i, quoteDOT(text), fills[box.Tone])
	}
	for i, box := range d.Boxes {
		for k, in := range box.In {
			from := fmt.Sprintf("b%d", in.Box)
			if in.Box < 0 {
				from = fmt.Sprintf("s%d_%d", i, k)
				fmt.Fprintf(&b, "\t%s [shape=plain style=\"\" label=\"\"]\n", from)
			}
			fmt.Fprintf(&b, "\t%s -> b%d [label=%s]\n", from, i, quoteDOT([]string{in.Label}))
		}
		for k, out := range box.Out {
			if out.Kept {
				fmt.Fprintf(&b, "\tr%d_%d [shape=plain style=\"\" label=\"\"]\n\tb%d -> r%d_%d [label=%s]\n", i, k, i, i, k, quoteDOT([]string{out.Label}))
			}
		}
	}
	return b.String() + "}\n"
}

// quoteDOT writes lines as a string of the DOT language.
func quoteDOT(lines []string) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	for i, l := range lines {
		lines[i] = escape.Replace(l)
	}
	return `"` + strings.Join(lines, `\n`) + `"`
}

func numbered(i int, title string) string { return fmt.Sprintf("%d %s", i+1, title) }

// A port is a value of a box.
type port struct{ box, out int }

// readers lists the boxes that read each value.
func (d *Diagram) readers() map[port][]int {
	readers := map[port][]int{}
	for i, box := range d.Boxes {
		for _, in := range box.In {
			if in.Box >= 0 {
				p := port{in.Box, in.Out}
				readers[p] = append(readers[p], i)
			}
		}
	}
	return readers
}

// level says how many boxes lie on the longest way to each box.
func (d *Diagram) level() []int {
	level := make([]int, len(d.Boxes))
	for i, box := range d.Boxes {
		for _, in := range box.In {
			if in.Box >= 0 {
				level[i] = max(level[i], level[in.Box]+1)
			}
		}
	}
	return level
}
