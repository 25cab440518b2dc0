package session

import (
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/internal/testing/long"
	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/session/internal/help"
)

// completeCells are the session that the completions of the test are asked in, one declaration a cell.
var completeCells = []string{
	hintCells,
	"type Shape interface { Area() float64; name() string }",
	"type Circle struct { R float64; Model }",
	"func (c Circle) Area() float64 { return 0 }\nfunc (c Circle) name() string { return `circle` }",
	"type Level int\nconst (Low Level = iota; Middle; High)",
	"func describe(l Level, s Shape, d time.Duration, title string) string { return `` }",
	"func makeCircle() Circle { return Circle{} }",
	"// counter counts.\nfunc counter(start int) func() int { return nil }",
	"type Config struct {\n\tRank int // of the adapter\n\tAlpha float64\n\tOn bool\n\tNext *Config\n}",
	"level := Low\nround := Circle{}\nround2 := &round\ntitle := `x`\nwait := time.Second",
	"shapes := []Shape{round}\nbyName := map[string]Circle{}\nwords := []string{`a`}\nch := make(chan Level, 1)\nctxs := []context.Context{}",
	"x := tensor.Zeros(2, 3)\nlist := []tensor.Tensor{x}\npairs := []Pair[string, int]{{}}",
	"import rnd `crypto/rand`",
	"42",
	"round",
}

func completeSession(t testing.TB) *Session {
	s, _ := newSession(t, Options{})
	for _, c := range completeCells {
		if r := s.Run(t.Context(), c); r.Err != nil {
			t.Fatalf("%s: %v", c, r.Err)
		}
	}
	return s
}

// In these cells | is the cursor. The list begins with the names of first, and has those of has and none of
// not. A "=" before first says that there is nothing else, a "-" that there is nothing at all.
func TestCompletions(t *testing.T) {
	s := completeSession(t)
	for _, c := range []struct{ cell, first, has, not string }{
		// members of values: variables, pointers, embedding, calls, indexes, generics, chains
		{"m.|", "=Forward Layers width", "", ""},
		{"m.F|", "=Forward", "", ""},
		{"m.f|", "=Forward", "", ""},
		{"round.|", "=Area Forward Layers Model R name width", "", ""},
		{"round2.A|", "=Area", "", ""},
		{"round.Model.|", "=Forward Layers width", "", ""},
		{"makeCircle().|", "Area Forward", "", ""},
		{"shapes[0].|", "=Area name", "", ""},
		{"(2*x + x).MatM|", "=MatMul", "", ""},
		{"x[0].MatM|", "=MatMul", "", ""},
		{"x[1:, 0].MatM|", "=MatMul", "", ""},
		{"y := -x[..., 0]\ny.MatM|", "=MatMul", "", ""},
		{"y := x[:, 0]\nif y[0].IsNo|", "=IsNone", "", ""},
		{"x[:, lev|", "level", "", ""},
		{"byName[\"a\"].R|", "=R", "", ""},
		{"pairs[0].|", "=Key Val", "", ""},
		{"pairs[0].Key.|", "-", "", ""},
		{"(&round).|", "Area", "", ""},
		{"Circle{}.|", "Area", "", ""},
		{"(*round2).|", "Area", "", ""},
		{"(<-ch).|", "-", "", ""},
		{"x.MatM|", "=MatMul", "", ""},
		{"x.MatMul(x).Sum|", "Sum", "", ""},
		{"list[0].Shape().|", "-", "", ""},
		{"list[1:][0].MatM|", "=MatMul", "", ""},
		{"x.\n\tMatMul(x).\n\tSof|", "Softmax", "", ""},
		{"ctx.|", "=Deadline Done Err Value", "", ""},
		{"ctxs[0].D|", "=Deadline Done", "", ""},
		{"Out[15].A|", "=Area", "", ""},
		{"_.Ar|", "=Area", "", ""},
		{"Shape(round).|", "=Area name", "", ""},
		{"shapes[0].(Circle).R|", "=R", "", ""},
		{"func() Circle { return round }().A|", "=Area", "", ""},
		{"struct{ A, B int }{}.|", "=A B", "", ""},
		{"Map(words, func(s string) Circle { return round })[0].A|", "=Area", "", ""},
		{"time.Now().Sub(time.Now()).Sec|", "=Seconds", "", ""},
		{"strings.NewReader(\"a\").Rea|", "Read ReadAt ReadByte ReadRune", "", ""},
		{"http.DefaultClient.Tim|", "=Timeout", "", ""},
		{"\"a\".|", "-", "", ""},
		{"3.|", "-", "", ""},
		{"words.|", "-", "", ""},
		{"nosuch.|", "-", "", ""},
		{"m.Layers.|", "-", "", ""},
		// method expressions, packages
		{"Circle.|", "=Area name", "", ""},
		{"(*Model).|", "=Forward", "", ""},
		{"strings.ToUp|", "=ToUpper ToUpperSpecial", "", ""},
		{"strings.toup|", "=ToUpper ToUpperSpecial", "", ""},
		{"strings.HSf|", "=HasSuffix", "", ""},
		{"tensor.Zer|", "Zeros", "", ""},
		{"rand.N|", "", "New NewPCG", ""},
		{"rnd.R|", "Read Reader", "", ""},
		{"math.Pi|", "=Pi", "", ""},
		{"import s \"strings\"\ns.Fie|", "Fields FieldsFunc", "", ""},
		{"import \"math/rand\"\nrand.Se|", "Seed", "", ""},
		{"json.Mar|", "Marshal MarshalIndent Marshaler", "", ""},
		{"atomic.In|", "Int32 Int64", "", ""},
		// names of the session
		{"ro|", "round round2", "", ""},
		{"tit|", "=title", "", ""},
		{"x + rou|", "round", "", ""},
		{"ROU|", "round round2", "", ""},
		{"dscr|", "=describe", "", ""},
		{"mkC|", "=makeCircle", "", ""},
		{"Ci|", "=Circle", "", ""},
		{"Lo|", "=Low", "", ""},
		{"stri|", "string strings", "", ""},
		{"tens|", "=tensor", "", ""},
		{"rn|", "=rnd", "", ""},
		{"appe|", "=append", "", ""},
		{"nosuchname|", "-", "", ""},
		{"|", "", "m level round", "strings"},
		{"x.|Sum", "", "Sum MatMul", ""},
		{"rou|nd", "round", "", ""},
		// locals of the unfinished cell
		{"func f(alpha int) {\n\talp|", "=alpha", "", ""},
		{"func f(alpha int) int {\n\treturn alp|", "=alpha", "", ""},
		{"func f(alpha int) (beta int) {\n\tbet|", "=beta", "", ""},
		{"func (q *Model) Save(path string) {\n\tq.|", "=Forward Layers width", "", ""},
		{"func f(in Circle) { in.R|", "=R", "", ""},
		{"func f(g func(Circle) Model) { g(round).Lay|", "=Layers", "", ""},
		{"func f[T Shape](v T) { v.|", "=Area name", "", ""},
		{"func f[T any](value T) { val|", "=value", "", ""},
		{"alpha := 1\nalp|", "=alpha", "", ""},
		{"alpha, beta := 1, round\nbeta.Ar|", "=Area", "", ""},
		{"var alpha Circle\nalpha.R|", "=R", "", ""},
		{"for i, v := range words {\n\tv2 := v\n\tv|", "v v2", "", ""},
		{"for i, circle := range byName {\n\tcircle.A|", "=Area", "", ""},
		{"for index := 0; ind|", "=index", "", ""},
		{"for index := 0; index < 3; ind|", "=index", "", ""},
		{"for _, shape := range shapes { shape.|", "=Area name", "", ""},
		{"if v, ok := shapes[0].(Circle); ok {\n\tv.R|", "=R", "", ""},
		{"if v, ok := shapes[0].(Circle); o|", "ok", "", ""},
		{"switch v := shapes[0].(type) {\ncase Circle:\n\tv.R|", "=R", "", ""},
		{"switch v := shapes[0].(type) {\ncase *Circle, Circle:\n\tv.|", "=Area name", "", ""},
		{"func() { inner := round; inner.R|", "=R", "", ""},
		{"f := func(inner Circle) float64 { return inner.|", "R Area Forward", "", ""},
		{"{ inner := 1; { innermost := 2 }; inn|", "=inner", "", ""},
		{"inner := 1\n{ inner := round; inner.R|", "=R", "", ""},
		{"alpha := 1\nalpha := round\nalpha.A|", "=Area", "", ""},
		{"func helper(n int) {}\nhelp|", "=helper", "", ""},
		{"help|\nfunc helper(n int) {}", "=helper", "", ""},
		{"func f() { help|\n}\nfunc helper(n int) {}", "=helper", "", ""},
		{"type Local struct{ Field int }\nvar l Local\nl.|", "=Field", "", ""},
		{"type Local struct{ Field int }\nfunc (l Local) Do() { l.|", "=Do Field", "", ""},
		{"total := 0\nfunc add(n int) { tota|", "=total", "", ""},
		{"select {\ncase got := <-ch:\n\tgo|", "got", "", ""},
		{"defer func() { err := recover(); er|", "err", "", ""},
		{"const limit = 3\nlim|", "=limit", "", ""},
		// broken code before the cursor
		{"a := = 1\nm.|", "=Forward Layers width", "", ""},
		{"func f() {\n\ta := = 1\n\tinner := round\n\tinner.R|", "=R", "", ""},
		{"if {\n\tm.|", "=Forward Layers width", "", ""},
		{"undefined(1)\nm.Lay|", "=Layers", "", ""},
		{"y := nosuch.Thing()\nm.Lay|", "=Layers", "", ""},
		{"for i := range {\nm.Lay|", "=Layers", "", ""},
		{"var q Nothing\nm.Lay|", "=Layers", "", ""},
		{"foo(m.|", "=Forward Layers width", "", ""},
		{"foo(m.|, 3)", "=Forward Layers width", "", ""},
		{"y := []int{1, 2, m.|", "Layers width", "", ""},
		{"%time m.Lay|", "-", "", ""},
		{"%who\nm.Lay|", "=Layers", "", ""},
		// arguments, the fitting ones first
		{"describe(|", "level", "Low Middle High", ""},
		{"describe(level, |", "round round2", "", ""},
		{"describe(level, round, |", "wait", "time.Second time.Minute", ""},
		{"describe(level, round, time.|", "Hour Microsecond Millisecond Minute Nanosecond Second", "", ""},
		{"describe(level, round, wait, |", "title", "", ""},
		{"train(|", "&m nil", "", ""},
		{"train(&|", "m", "", ""},
		{"m.Forward(m.|", "Layers width", "Forward", ""},
		{"x.MatMul(|", "x", "", ""},
		{"len(wo|", "=words", "", ""},
		{"append(words, t|", "title", "", ""},
		{"delete(byName, t|", "title", "", ""},
		{"strings.ToUpper(|", "title", "", ""},
		{"level = |", "level High Low Middle", "", ""},
		{"var l Level = |", "level", "Low High", ""},
		{"var n Level\nn = l|", "level", "len", "Low"},
		{"if level == |", "level", "Low High", ""},
		{"title == |", "title", "", ""},
		{"if !|", "false true", "", ""},
		{"byName[|", "title", "", ""},
		{"words[|", "", "level", ""},
		{"ch <- |", "level", "", ""},
		{"func f() Level { return |", "level", "Low High", ""},
		{"func f() (string, Level) { return title, |", "level", "", ""},
		{"func() Level { return |", "level", "Low High", ""},
		{"func f() { return lev|", "=level", "", ""}, // of a function without results
		// cases
		{"switch level {\ncase |", "level High Low Middle", "", ""},
		{"switch level {\ncase Low:\ncase |", "", "High Middle", ""},
		{"switch x.DType() {\ncase |", "", "dtype.F32", ""},
		{"switch x.DType() {\ncase dtype.F32:\ncase |", "", "dtype.F64", "dtype.F32"},
		{"switch v := shapes[0].(type) {\ncase |", "", "Circle Shape", ""},
		// literals
		{"Config{|", "=Rank:  Alpha:  On:  Next: ", "", ""},
		{"Config{A|", "Alpha: ", "", ""},
		{"Config{Rank: 3, |", "=Alpha:  On:  Next: ", "", ""},
		{"Config{|, Alpha: 2}", "=Rank:  On:  Next: ", "", ""},
		{"Config{R|: 3}", "Rank", "", "Rank: "},
		{"Config{Rank: |", "", "level", "Alpha: "},
		{"Config{On: |", "false true", "", ""},
		{"Config{Next: &|", "", "Config", ""},
		{"[]Config{{|", "=Rank:  Alpha:  On:  Next: ", "", ""},
		{"map[string]*Config{\"a\": {|", "=Rank:  Alpha:  On:  Next: ", "", ""},
		{"train(&Model{|", "=Layers:  width: ", "", ""},
		{"lora.Config{R|", "Rank: ", "", ""},
		{"http.Client{T|", "Transport:  Timeout: ", "", ""},
		{"Config{\n\tRank: 1,\n\tN|", "Next: ", "", ""},
		{"[]Level{|", "level", "Low", ""},
		{"map[Level]string{|", "level", "Low", ""},
		// types
		{"var v |", "Config Level Circle", "int string tensor", "round"},
		{"var v Ci|", "=Circle", "", ""},
		{"func f(a C|", "Config Circle", "", ""},
		{"func f(a tensor.T|", "Tensor", "", ""},
		{"func f(a int) C|", "Config Circle", "", ""},
		{"type T struct { a C|", "Config Circle", "", ""},
		{"[]C|", "Config Circle", "", ""},
		{"map[string]C|", "Config Circle", "", ""},
		{"make(chan L|", "Level", "", ""},
		{"shapes[0].(C|", "Config Circle", "", ""},
		{"func f(a *C|", "Config Circle", "", ""},
		{"new(C|", "Config Circle", "", ""},
		// keywords
		{"fun|", "func", "", ""},
		{"for i := ran|", "range", "", ""},
		{"for ran|", "range", "", ""},
		{"switch level {\n|", "case default", "", ""},
		{"switch level {\ncase Low:\n\tfal|", "fallthrough false", "", ""},
		{"for {\n\tbre|", "=break", "", ""},
		{"for {\n\tcon|", "", "continue const", ""},
		{"func f() {\n\tret|", "=return", "", ""},
		{"ret|", "-", "", ""},
		{"brea|", "-", "", ""},
		{"impo|", "import", "", ""},
		{"if true {\n} el|", "=else", "", ""},
		{"if true { } |", "=else", "", ""},
		{"outer:\nfor {\n\tbreak |", "=outer", "", ""},
		{"outer:\nfor {\n\tfor { continue ou|", "=outer", "", ""},
		// strings and comments
		{"import \"encoding/|", "", "encoding/json encoding/csv", ""},
		{"import (\n\t\"net/htt|", "net/http", "", ""},
		{"// m.|", "-", "", ""},
		{"/* m.|", "-", "", ""},
		{"\"m.|", "-", "", ""},
		{"'m|", "-", "", ""},
		{"x := 12|", "-", "", ""},
		{"x := 0xf|", "-", "", ""},
		// new names
		{"func na|", "-", "", ""},
		{"type Ci|", "-", "", ""},
		{"var ro|", "-", "", ""},
		{"for ro|:= range words {", "", "", ""},
	} {
		pos := strings.IndexByte(c.cell, '|')
		cell := strings.Replace(c.cell, "|", "", 1)
		from, list := s.Complete(cell, pos)
		var names []string
		for _, x := range list {
			names = append(names, x.Text)
			if x.Kind == "" || from > pos {
				t.Errorf("Complete(%q): item %+v from %d", c.cell, x, from)
			}
		}
		got := strings.Join(names, " ")
		if len(got) > 200 {
			got = got[:200] + "…"
		}
		first, exact := strings.CutPrefix(c.first, "=")
		switch {
		case c.first == "-":
			if len(list) > 0 {
				t.Errorf("Complete(%q) = %s; want nothing", c.cell, got)
			}
			continue
		case exact && strings.Join(names, " ") != first:
			t.Errorf("Complete(%q) = %s; want %s", c.cell, got, first)
		case !strings.HasPrefix(strings.Join(names, " ")+" ", first+" ") && first != "":
			t.Errorf("Complete(%q) = %s; want first %s", c.cell, got, first)
		}
		for _, name := range strings.Fields(c.has) {
			if !slices.Contains(names, name) {
				t.Errorf("Complete(%q) = %s; want %s among them", c.cell, got, name)
			}
		}
		if c.not != "" && slices.Contains(names, c.not) {
			t.Errorf("Complete(%q) = %s; want no %s", c.cell, got, c.not)
		}
	}
}

// Strings that name files are completed from the session's folder.
func TestCompletePaths(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"data.csv", "data.json", ".hidden", "sub/inner.txt"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, _ := newSession(t, Options{Dir: dir})
	for _, c := range []struct{ cell, from, want string }{
		{`os.ReadFile("`, "", "data.csv data.json sub/"},
		{`os.ReadFile("data.j`, "data.j", "data.json"},
		{"os.ReadFile(`da", "da", "data.csv data.json"},
		{`os.ReadFile("sub/`, "", "inner.txt"},
		{`x := "./d`, "d", "data.csv data.json"},
		{`os.Open(".`, ".", ".hidden"},
		{`import "./`, "", "sub/"},
		{`strings.ToUpper("da`, "", ""},
		{`os.ReadFile("nosuch/`, "", ""},
	} {
		from, list := s.Complete(c.cell, len(c.cell))
		var names []string
		for _, x := range list {
			names = append(names, x.Text)
		}
		if got := strings.Join(names, " "); got != strings.ReplaceAll(c.want, "/", string(filepath.Separator)) || c.cell[from:] != c.from {
			t.Errorf("Complete(%q) = %q from %q; want %q from %q", c.cell, got, c.cell[from:], c.want, c.from)
		}
	}
}

// The keys of a map are completed as Go writes them, without running code.
func TestCompleteKeys(t *testing.T) {
	s, _ := newSession(t, Options{})
	run(t, s, "type opts struct { Sizes map[uint8]bool; Names map[name]int }; type name string",
		"m := map[string]int{`lr`: 1, `layer 1`: 2, `a\"b\\c`: 3, `über`: 4}",
		"n := map[int]string{10: ``, -2: ``, 9: ``}; b := map[bool]int{true: 1}; f := map[float64]int{0.5: 1}",
		"deep := map[string]map[string]int{`x`: {`inner`: 1}}; o := &opts{map[uint8]bool{7: true}, map[name]int{`n1`: 1}}",
		"func get() map[string]int { panic(`run`) }; var empty map[string]int; p := map[*int]int{nil: 1}; names := map[string]tensor.Tensor{`w.0`: tensor.Ones(1)}",
		"t := data.NewTable().Set(`town`, []int{1}).Set(`city`, []int{2})")
	for _, c := range []struct{ cell, from, want string }{
		{`m["`, "", `a\"b\\c|layer 1|lr|über`},
		{"m[`", "", "a\"b\\c|layer 1|lr|über"},
		{`m["l`, "l", "layer 1|lr"},
		{`m["layer `, "layer ", "layer 1"},
		{`m["a\"`, `a\"`, `a\"b\\c`},
		{`m["z`, "", ""},
		{`m[`, "", `"a\"b\\c"|"layer 1"|"lr"|"über"`},
		{`fmt.Println(m["lr"], m["la`, "la", "layer 1"},
		{`m["lr"] = m["ü`, "ü", "über"},
		{`n[`, "", "-2|9|10"},
		{`b[`, "", "true"},
		{`f[`, "", "0.5"},
		{`deep["`, "", "x"},
		{`deep["x"]["`, "", "inner"},
		{`deep["y"]["`, "", ""},
		{`o.Sizes[`, "", "7"},
		{`o.Names["`, "", "n1"},
		{`names["w`, "w", "w.0"},
		{`get()["`, "", ""},
		{`t.Group("`, "", "town|city"},
		{`t.Select("town", "ci`, "ci", "city"},
		{`t.Rename("`, "", "town|city"},
		{`t.Rename("city", "`, "", ""},
		{`t.Head(1).Group("`, "", ""},
		{`empty["`, "", ""},
		{`m := map[string]int{}; m["`, "", ""}, // another m
		{`f := func(m map[string]int) { m["`, "", ""},
	} {
		from, list := s.Complete(c.cell, len(c.cell))
		var names []string
		for _, x := range list {
			if x.Kind == "key" {
				names = append(names, x.Text)
			}
		}
		if got := strings.Join(names, "|"); got != c.want || c.cell[from:] != c.from {
			t.Errorf("Complete(%q) = %q from %q; want %q from %q", c.cell, got, c.cell[from:], c.want, c.from)
		}
	}
	run(t, s, "stop := make(chan int); go func() { for i := 0; ; i++ { select { case <-stop: return; default: n[i%100] = `` } } }()")
	if _, list := s.Complete(`m["`, 3); len(list) > 0 {
		t.Errorf("got %v while a goroutine runs, want nothing", list)
	}
	run(t, s, "close(stop)")
}

// Each completion says what it is: its signature or type and the first sentence about it.
func TestCompletionDetails(t *testing.T) {
	s := completeSession(t)
	for _, c := range []struct{ cell, want string }{
		{"m.Forw", "Forward method (x int, rest ...string) (y int, err error)"},
		{"cou", "counter func (start int) func() int: counter counts."},
		{"Config{Ran", "Rank:  field int: of the adapter"},
		{"strings.ToUpp", "ToUpper func (s string) string: ToUpper returns s with all Unicode letters mapped to their upper case."},
		{"math.Pi", "Pi const float64 = 3.14159"},
		{"Midd", "Middle const Level = 1"},
		{"Circ", "Circle type struct"},
		{"titl", "title var string"},
		{"prin", "print func (args ...T): Writes to the standard error, for debugging."},
		{"rnd", "rnd package crypto/rand: "},
	} {
		_, list := s.Complete(c.cell, len(c.cell))
		if len(list) == 0 {
			t.Errorf("Complete(%q): nothing", c.cell)
			continue
		}
		x := list[0]
		got := x.Text + " " + x.Kind + " " + x.Detail
		if x.Doc != "" {
			got += ": " + x.Doc
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("Complete(%q)[0] = %q, want %q", c.cell, got, c.want)
		}
	}
}

// A cursor anywhere in any cell causes no panic, and an inserted completion parses if the text did.
func TestCompleteEverywhere(t *testing.T) {
	files, err := filepath.Glob("testdata/*.cells")
	if err != nil {
		t.Fatal(err)
	}
	step := 79
	switch {
	case *everyByte:
		step = 1
	case long.CI():
		step = 43
	}
	s := completeSession(t)
	places, inserted, at := 0, 0, 0
	for _, file := range files {
		for _, seq := range readSequences(t, file) {
			for _, c := range seq.cells {
				for ; at <= len(c.src); at += step {
					places++
					s.Hint(c.src, at)
					inserted += insertEach(t, s, c.src, at)
				}
				at -= len(c.src)
			}
		}
	}
	if places < 100 || inserted < 1000 {
		t.Errorf("%d places, %d completions tried: too few to tell", places, inserted)
	}
}

var everyByte = flag.Bool("everybyte", false, "complete at each byte of all test cells, not a sample")

// insertEach inserts the completions of a place one by one, and says how many it has tried.
func insertEach(t *testing.T, s *Session, cell string, at int) (n int) {
	from, list := s.Complete(cell, at)
	if from < 0 || from > at {
		t.Fatalf("Complete(%q, %d): replaces from %d", cell, at, from)
	}
	for at < len(cell) && (cell[at] == '_' || cell[at] >= '0' && cell[at] <= '9' || cell[at]|0x20 >= 'a' && cell[at]|0x20 <= 'z') {
		at++ // in the middle of a word, the completion takes all of it
	}
	if from == at || cell[from] <= '9' || token.IsKeyword(cell[from:at]) || !parses(cell) {
		return 0
	}
	for i, x := range list {
		if i > 10 {
			break
		}
		switch x.Kind {
		case "var", "func", "method":
			n++
			if text := cell[:from] + x.Text + cell[at:]; !parses(text) {
				t.Errorf("Complete(%q, %d): %s makes it %q, which does not parse", cell, at, x.Text, text)
			}
		}
	}
	return n
}

// parses says whether the statements and declarations of a cell do.
func parses(src string) bool {
	for _, p := range cell.Join(cell.Split(src)) {
		text := p.Text(src)
		switch p.Kind {
		case cell.Statement:
			text = "func cell() {" + text + "\n}"
		case cell.Command:
			continue
		}
		if _, err := parser.ParseFile(token.NewFileSet(), "", "package p;"+text, parser.SkipObjectResolution); err != nil {
			return false
		}
	}
	return true
}

// BenchmarkComplete holds the dearest places: all members of the largest packages, all names, long cells.
func BenchmarkComplete(b *testing.B) {
	s := completeSession(b)
	long := strings.Repeat("func f() { for i := range words { fmt.Println(i, round.Area(), title) } }\nf()\n", 100)
	for _, c := range []struct{ name, cell string }{
		{"syscall-like package", "unicode."},
		{"largest type", "x."},
		{"all names", "describe(level, "},
		{"one letter", "s"},
		{"package members", "http."},
		{"after 200 lines", long + "round."},
		{"in a long function", "func g() {\n" + strings.Repeat("\tif title == `a` { words = append(words, strings.ToUpper(title)) }\n", 200) + "\tround."},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if _, list := s.Complete(c.cell, len(c.cell)); len(list) == 0 {
					b.Fatal("nothing")
				}
			}
		})
	}
	b.Run("in a session of 4000 names", func(b *testing.B) {
		s, _ := newSession(b, Options{})
		var cell strings.Builder
		for i := range 2000 {
			fmt.Fprintf(&cell, "// f%d is one of many.\nfunc f%d(x int) int { return x }\nvar v%d int\n", i, i, i)
		}
		if r := s.Run(b.Context(), cell.String()); r.Err != nil {
			b.Fatal(r.Err)
		}
		for b.Loop() {
			if _, list := s.Complete("len(", 4); len(list) != help.MaxListed {
				b.Fatal(len(list))
			}
		}
	})
	b.Run("first use of a package", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			s, _ := newSession(b, Options{})
			b.StartTimer()
			if _, list := s.Complete("http.", 5); len(list) == 0 {
				b.Fatal("nothing")
			}
		}
	})
}
