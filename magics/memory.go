package magics

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/repl/display"
)

// memoryBy returns a table of the memory of live tensors, at most most rows: one for each tensor, for each
// line of a cell that made them, or for each set of variables that hold them.
func (c *call) memoryBy(by string, most int) display.Value {
	list := tensor.LiveMemory()
	holders := c.holders(list)
	type group struct {
		name    string
		tensors int
		bytes   int64
		others  []string
	}
	groups := map[string]*group{}
	var order []*group
	var all, unheld int64
	for i, l := range list {
		all += l.Bytes
		held := strings.Join(holders[i], ", ")
		if held == "" {
			held = "–"
			unheld += l.Bytes
		}
		made := strings.TrimSpace(l.From.Place + " " + strings.TrimPrefix(l.From.Op, "leaf"))
		key, other := made, held
		switch by {
		case "cell":
			key = cmp.Or(l.From.Place, "unknown")
		case "variable":
			key, other = held, made
		case "tensor":
			key = fmt.Sprint(i)
		}
		g := groups[key]
		if g == nil {
			g = &group{name: key}
			if by == "tensor" {
				g.name = strings.TrimSpace(fmt.Sprintf("%s %v%v", l.Name, l.DType, l.Shape))
				g.others = append(g.others, made)
			}
			groups[key] = g
			order = append(order, g)
		}
		g.tensors++
		g.bytes += l.Bytes
		if !slices.Contains(g.others, other) {
			g.others = append(g.others, other)
		}
	}
	slices.SortStableFunc(order, func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.name, b.name))
	})
	headings := map[string][]string{"tensor": {"tensor", ">bytes", "made by", "held by"}, "cell": {"made at", ">tensors", ">bytes", "held by"},
		"variable": {"held by", ">tensors", ">bytes", "made by"}}
	t := display.NewTable(headings[by]...)
	for _, g := range order[:min(most, len(order))] {
		name := display.Cell{Text: g.name, Role: display.Name}
		if by == "tensor" {
			t.Add(name, display.BytesCell(g.bytes), g.others[0], strings.Join(g.others[1:], ", "))
			continue
		}
		t.Add(name, g.tensors, display.BytesCell(g.bytes), strings.Join(g.others, ", "))
	}
	foot := []string{fmt.Sprintf("%s in %s", units.Bytes(all), units.Plural(int64(len(list)), "tensor"))}
	if unheld > 0 {
		foot = append(foot, units.Bytes(unheld)+" held by no variable")
	}
	if more := device.InUse() - all; more > 0 {
		foot = append(foot, units.Bytes(more)+" in use besides")
	}
	if n := len(order) - most; n > 0 {
		foot = append(foot, fmt.Sprintf("%d more lines (-n N)", n))
	}
	t.Foot = strings.Join(foot, " · ")
	if len(list) == 0 {
		return display.Lines(t.Foot)
	}
	return t
}

// holders lists, for each piece of memory, the session variables that reach a tensor in it, also through
// unexported fields.
func (c *call) holders(list []tensor.Live) [][]string {
	held := make([][]string, len(list))
	for _, v := range c.s.Vars() {
		if v.Kind != "var" || v.Value == nil {
			continue
		}
		s := settler{seen: map[seenPointer]bool{}, private: true}
		root := reflect.New(reflect.TypeOf(v.Value)).Elem() // reflect reads unexported fields only of an addressable value
		root.Set(reflect.ValueOf(v.Value))
		s.value(root, 0)
		for _, i := range tensor.Find(s.found, list) {
			if i >= 0 && !slices.Contains(held[i], v.Name) {
				held[i] = append(held[i], v.Name)
			}
		}
	}
	return held
}
