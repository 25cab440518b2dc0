package lesson

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/repl/script/mcsfile"
)

const text = `// %% [markdown]
// Products.

// %% exercise dot
func dot(x, y *tensor.Tensor) *tensor.Tensor {
	return nil
}
`

const key = `// %% [markdown] hint dot
// First multiply.

// %% [markdown] hint dot
// Then add.

// %% check dot points=2
import "math"

check.Close(t, dot(tensor.Ones(3), tensor.Ones(3)), math.Abs(-3))

// %% solution dot
func dot(x, y *tensor.Tensor) *tensor.Tensor { return x.Mul(y).Sum() }

// %% wrong dot
func dot(x, y *tensor.Tensor) *tensor.Tensor { return x.Mul(y) }
// > ...shape...
`

func TestKey(t *testing.T) {
	l, err := New(mcsfile.Parse("01-products.mcs", text), mcsfile.Parse("01-products.key.mcs", key))
	if err != nil {
		t.Fatal(err)
	}
	e := l.Of(l.File.Code()[0])
	switch {
	case l.Name != "01-products" || len(l.Exercises) != 1 || e == nil || e.Points != 2:
		t.Errorf("got %+v", l)
	case len(e.Hints) != 2 || e.Hints[1] != "Then add." || !strings.HasSuffix(e.Solution, "Sum() }"):
		t.Errorf("got %+v", e)
	case len(e.Wrong) != 1 || e.Wrong[0].Want[0] != "...shape...":
		t.Errorf("got %+v", e.Wrong)
	case !strings.HasPrefix(strings.TrimSpace(e.CheckCell()), "import \"math\"\n\n{"):
		t.Errorf("got the cell %s", e.CheckCell())
	}
}

// TestMistakes: what a teacher writes wrongly is named, with its place.
func TestMistakes(t *testing.T) {
	for _, c := range []struct{ name, lesson, key, want string }{
		{"no name", "// %% exercise\nx := 1\n", "", "l.mcs:2: got an exercise without a name"},
		{"twice", text + text, "", "l.mcs:12: exercise dot is there twice"},
		{"no check", text, "// %% solution dot\nx := 1\n", "exercise dot has no check"},
		{"another exercise", text, "// %% check dots\nx := 1\n", `k.mcs:2: check: the lesson has no exercise "dots"`},
		{"a word", text, "// %% chekc dot\nx := 1\n", `got a cell "chekc dot", want check`},
		{"points", text, "// %% check dot points=many\nx := 1\n", "got points=many"},
		{"points of a hint", text, "// %% [markdown] hint dot points=1\n// x\n", "hint: got points=1, which a check has"},
		{"two checks", text, "// %% check dot\nx := 1\n// %% check dot\nx := 1\n", "k.mcs:4: exercise dot has two cells check"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := New(mcsfile.Parse("l.mcs", c.lesson), mcsfile.Parse("k.mcs", c.key))
			if err == nil && c.key == "" {
				_, err = New(mcsfile.Parse("l.mcs", c.lesson), nil)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// TestSeal: learners get lessons whose keys cannot be read and still check.
func TestSeal(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "given")
	for name, text := range map[string]string{"a.mcs": text, "a.key.mcs": key, "data/rows.csv": "1,2\n", "work/a.mcs": text, ".git/config": "x"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(from, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(from, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := Seal(from, to); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"data/rows.csv": true, "work": false, ".git": false} {
		if _, err := os.Stat(filepath.Join(to, name)); (err == nil) != want {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for _, bad := range []string{from, filepath.Join(from, "data"), filepath.Join(from, "x", "y")} {
		if err := Seal(from, bad); err == nil || !strings.Contains(err.Error(), "want a folder beside it") {
			t.Errorf("to %s: got %v", bad, err)
		}
	}
	if err := Seal(from, from+"/../"+filepath.Base(from)); err == nil {
		t.Error("wrote the lessons over themselves")
	}
	given, err := ReadFolder(to)
	if err != nil || len(given) != 1 || given[0].Exercises[0].Points != 2 {
		t.Fatalf("got %v, %v", given, err)
	}
	packed, _ := os.ReadFile(filepath.Join(to, "a.key"))
	if _, err := os.Stat(filepath.Join(to, "a.key.mcs")); err == nil || strings.Contains(string(packed), "Sum") {
		t.Error("the key can be read")
	}
	if err := os.WriteFile(filepath.Join(to, "a.key"), packed[:len(packed)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFolder(to); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("got %v for half a key", err)
	}
	if err := os.WriteFile(filepath.Join(to, "a.key.mcs"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Seal(from, to); err == nil || !strings.Contains(err.Error(), "can be read by learners") {
		t.Errorf("got %v for an open key", err)
	}
}
