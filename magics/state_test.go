package magics_test

import (
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/internal/testing/long"
	"github.com/mcs-notebook/mcs/magics"
	"github.com/mcs-notebook/mcs/repl/session"
)

// Each run of a statement starts from the same state, or the output names the variables that runs have found
// as the runs before them had left them.
func TestRunsThatGoOn(t *testing.T) {
	t.Parallel()
	s, err := session.New(session.Options{Commands: magics.Table{}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const cell = `type node struct { n int; next *node }
func (p *node) add() { p.n++ }
p, q := &node{}, node{next: &node{}}
mp, deep, xs, ys := map[int]int{}, map[string]map[int]int{"a": {}}, []int{1, 2}, []int{3, 1, 2}
var box any = &node{}
ch := make(chan int, 1_000_000)
count := func() func() int { n := 0; return func() int { n++; return n } }()
n, arr, x := 0, [3]int{}, tensor.Ones(8)
layers := []nn.Layer{nn.NewLinear(2, 2)}
w := []tensor.Tensor{tensor.Ones(2)}
text := bytes.NewBuffer(nil)
lazy := x.Exp()`
	if r := s.Run(t.Context(), cell); r.Err != nil {
		t.Fatal(r.Err)
	}
	for i, c := range []struct{ statement, names string }{
		{"mp[0]++", "mp"},
		{"p.n++", "p"},
		{"p.add()", "p"},
		{"q.next.n++", "q"},
		{"xs[0]++", "xs"},
		{"ys[0]--; sort.Ints(ys)", "ys"},
		{`deep["a"][7]++`, "deep"},
		{"box.(*node).n++", "box"},
		{"count()", "count"},
		{"ch <- 1", "ch"},
		{"w[0].Set(w[0].Add(1).Eval())", "w"},
		{"text.WriteByte(1)", "text"},
		{"n++", ""},
		{"arr[1]++", ""},
		{"q.n++", ""},
		{"xs = append(xs, 1)", ""},
		{"x.Sum().Item()", ""},
		{"lazy.Sum().Item()", ""},
		{"layers[0].Forward(tensor.Ones(3, 2))", ""},
		{"func() { m := map[int]int{}; m[1]++ }()", ""},
	} {
		for k, command := range []string{"%timeit -t 20ms ", "%profile -t 20ms "} {
			if (i+k)%3 > 0 && !long.CI() {
				continue
			}
			r := s.Run(t.Context(), command+c.statement)
			if r.Err != nil {
				t.Errorf("%s%s: %v", command, c.statement, r.Err)
				continue
			}
			text := strings.Join(strings.Fields(r.Shown[0].Text(1000)), " ")
			_, said, found := strings.Cut(text, "not put back is what they changed in ")
			name, _, _ := strings.Cut(said, ";")
			name, _, _ = strings.Cut(name, " ")
			if found != (c.names != "") || name != c.names {
				t.Errorf("%s%s: names %q, want %q, in %s", command, c.statement, name, c.names, text)
			}
		}
	}
}
