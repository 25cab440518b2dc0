package magics

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/session"
)

func varMagics() []*Magic {
	return []*Magic{{
		Name: "whos", Family: "Variables", Args: "[NAME…]", Takes: TakesNames,
		Summary: "list variables with type, shape and size",
		Help:    "Functions, types and constants of the session follow the variables.",
		Example: "%whos\n%whos x w",
		run:     runWhos,
	}, {
		Name: "show", Family: "Variables", Args: "[NAME]", Takes: TakesNames,
		Summary: "show a value with nothing left out",
		Help:    "Of a variable, of Out[n], or of the last result.",
		Example: "%show\n%show Out[3]\n%show table",
		run: func(_ context.Context, c *call) (display.Value, error) {
			return c.s.Whole(strings.TrimSpace(c.rest))
		},
	}, {
		Name: "del", Family: "Variables", Args: "NAME…", needs: "name", Takes: TakesNames,
		Summary: "forget names and free what they hold",
		Example: "%del x w",
		run:     runDel,
	}, {
		Name: "reset", Family: "Variables",
		Summary: "forget all names of the session",
		Help:    "The history stays.",
		run: func(_ context.Context, c *call) (display.Value, error) {
			c.s.Reset()
			return nil, nil
		},
	}, {
		Name: "tb", Family: "Variables",
		Summary: "the whole trace of the last panic",
		run:     runTraceback,
	}, &storeMagic}
}

func runWhos(_ context.Context, c *call) (display.Value, error) {
	missing := map[string]bool{}
	for _, name := range c.words() {
		missing[name] = true
	}
	all := len(missing) == 0
	t := display.NewTable("name", "type", "shape", ">bytes", ">cell")
	total := int64(0)
	for _, kind := range []string{"var", "const", "func", "type", "import"} {
		for _, v := range c.s.Vars() {
			if v.Kind != kind || !all && !missing[v.Name] {
				continue
			}
			delete(missing, v.Name)
			typ := v.Type
			if kind != "var" && !strings.HasPrefix(typ, kind) {
				typ = strings.TrimSpace(kind + " " + typ)
			}
			shape, size := measure(v.Value)
			total += size
			t.Add(display.Cell{Text: v.Name, Role: display.Name}, typ, shape, sizeCell(size), v.Cell)
		}
	}
	for name := range missing {
		return nil, c.errorf("%s is not a name of the session", name)
	}
	if len(t.Rows) == 0 {
		return display.Text("no names yet"), nil
	}
	if total > 0 {
		t.Foot = units.Bytes(total) + " in all"
	}
	return t, nil
}

// measure returns the shape of a tensor, or the length of a slice, array, map or string, and the size in
// bytes of the tensors in it, or of its elements where they have one that a reader would expect.
func measure(v any) (shape string, size int64) {
	list := tensorsIn(v)
	for _, t := range list {
		size += int64(t.Size()) * int64(t.DType().Size())
	}
	if t, ok := v.(tensor.Tensor); ok {
		if len(list) == 0 { // none, or freed
			return "", 0
		}
		return fmt.Sprint(t.Shape()), size
	}
	rv := reflect.ValueOf(v)
	switch rv.Kind() {
	case reflect.Slice, reflect.Array:
		if size == 0 {
			size = int64(rv.Len()) * int64(rv.Type().Elem().Size())
		}
		return strconv.Itoa(rv.Len()), size
	case reflect.String:
		return strconv.Itoa(rv.Len()), int64(rv.Len())
	case reflect.Map:
		return strconv.Itoa(rv.Len()), size
	}
	return "", size
}

func runDel(_ context.Context, c *call) (display.Value, error) {
	vars := c.s.Vars()
	names := strings.FieldsFunc(c.rest, func(r rune) bool { return r == ' ' || r == ',' })
	for _, name := range names {
		if !slices.ContainsFunc(vars, func(v session.Var) bool { return v.Name == name }) {
			return nil, c.errorf("%s is not a name of the session; nothing was deleted", name)
		}
	}
	large := false
	for _, v := range vars {
		large = large || slices.Contains(names, v.Name) && len(tensorsIn(v.Value)) > 0
	}
	for _, name := range names {
		if err := c.s.Delete(name); err != nil {
			return nil, c.errorf("%w", err)
		}
	}
	if large {
		giveBack()
	}
	return nil, nil
}

// collect finds the tensors that nothing refers to any more. The second collection frees the memory that
// finalizers of the first released.
func collect() {
	runtime.GC()
	runtime.GC()
}

// giveBack returns the memory of such tensors to the system.
func giveBack() {
	collect()
	for _, d := range device.Opened() {
		d.FreeCache()
	}
}

func runTraceback(_ context.Context, c *call) (display.Value, error) {
	p := c.s.LastPanic()
	if p == nil {
		return display.Text("no panic so far"), nil
	}
	lines := []string{fmt.Sprintf("panic: %v", p.Value)}
	for _, f := range p.Frames {
		lines = append(lines, fmt.Sprintf("  %s:%d %s", f.Place(), f.Col, f.Func))
	}
	if len(p.Stack) > 0 {
		lines = append(lines, "all frames, innermost first:")
		for _, s := range p.Stack {
			lines = append(lines, "  "+s)
		}
	}
	return display.Text(strings.Join(lines, "\n")), nil
}
