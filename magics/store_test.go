package magics_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/magics"
	"github.com/mcs-notebook/mcs/repl/session"
)

// What %store keeps has the same values in another session: tensors, maps of them, the parameters of modules.
func TestStore(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	open := func() func(cell string) string {
		s, err := session.New(session.Options{Commands: magics.Table{}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return func(cell string) (text string) {
			r := s.Run(t.Context(), cell)
			for _, v := range r.Shown {
				text += v.Text(80)
			}
			if r.Err != nil {
				text += r.Err.Error()
			}
			return text
		}
	}
	run := open()
	const shown = "fmt.Sprint(w.Floats(), h.Cast(dtype.F32).Floats(), both[`w`].Floats(), m.Forward(w).Floats())"
	if out := run(`w, h := tensor.Randn(2, 3), tensor.Range(4).Cast(dtype.BF16); both := map[string]tensor.Tensor{"w": w, "h": h}; m := nn.NewLinear(3, 2)`); out != "" {
		t.Fatal(out)
	}
	values := run(shown)
	if out := run("%store w h both m"); out != "" {
		t.Fatal(out)
	}
	for _, c := range []struct{ cell, want string }{
		{"%store n", "n is not a variable"},
		{"n := 3\n%store n", "n is a int, want a tensor, a map of tensors or a module"},
		{"%store -r nothing", "nothing is kept of nothing"},
		{"%store -d nothing", "nothing is kept of nothing"},
		{"%store -r -d w", "want one of them"},
		{"%store -d ../w", "got ../w, want the name of a variable"},
		{"%store -r ../w", "got ../w, want the name of a variable"},
		{"%store", "4 values in "},
	} {
		if got := run(c.cell); !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.cell, got, c.want)
		}
	}

	run = open()
	if got := run("%store -r"); !strings.Contains(got, "m was a module, and the session has none with this name") {
		t.Errorf("got %q", got)
	}
	run("m := nn.NewLinear(3, 2)") // with other weights
	if got := run("%store -r"); got != "" {
		t.Error(got)
	}
	if got := run(shown); got != values {
		t.Errorf("got %s, want %s", got, values)
	}
	s, err := session.New(session.Options{Commands: magics.Table{}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.Run(t.Context(), "mine := 1")
	for line, want := range map[string]string{"%store -r ": "[both h m w]", "%store -d b": "[both]", "%store ": "[mine]", "%store m": "[mine]"} {
		var names []string
		_, list := magics.Table{}.Complete(s, line, len(line))
		for _, c := range list {
			names = append(names, c.Text)
		}
		if got := fmt.Sprint(names); got != want {
			t.Errorf("%q completes to %s, want %s", line, got, want)
		}
	}
	run("%store -d w h both m")
	if got := run("%store"); !strings.Contains(got, "nothing is kept") {
		t.Errorf("got %q", got)
	}
}

// A cell that runs again brings back what it had stored, and neither deletes nor brings what was another's.
func TestStoredAgain(t *testing.T) {
	for _, c := range []struct{ cell, want string }{
		{"w := f()\n%store w", "w := f()\n%store -r w"},
		{"%store -r a b", "%store -r a b"},
		{"%store", ""},
		{"%store -r", "%store -r"},
		{"%store -d w", ""},
	} {
		if got := magics.Again(c.cell); got != c.want {
			t.Errorf("%q: got %q, want %q", c.cell, got, c.want)
		}
	}
}
