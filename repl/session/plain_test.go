package session

import (
	"context"
	"strings"
	"testing"
	"time"
)

// Where neither the interpreter's data nor Go's types are as this package knows them, Go's programs behave at
// least as under the interpreter with our checker alone: 517 of 775.
func TestPlainPrograms(t *testing.T) {
	list := goPrograms(t)
	for i := range list {
		list[i].plain = true
	}
	if n := runCorpus(t, "", list); n.passed*775 < 517*n.total {
		t.Errorf("%d of %d programs behave as under go run, want 517 of 775", n.passed, n.total)
	}
}

// A session says so once, and values of cells' types have their methods in any and in compiled interfaces.
func TestPlainSession(t *testing.T) {
	t.Setenv("MCS_PLAIN", "1")
	var out strings.Builder
	s, err := New(Options{Stdout: &out, Stderr: &out})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	run := func(src string) {
		t.Helper()
		if err := s.Run(context.Background(), src).Err; err != nil {
			t.Errorf("%s: %v", src, err)
		}
	}
	run(`type Celsius float64
func (c Celsius) String() string { return fmt.Sprintf("%.1f°", float64(c)) }
type Lost struct{ Name string }
func (l *Lost) Error() string { return l.Name + " is lost" }
func find(name string) error { return fmt.Errorf("find: %w", &Lost{name}) }
type Words []string
func (w Words) Len() int { return len(w) }
func (w Words) Less(i, j int) bool { return w[i] < w[j] }
func (w Words) Swap(i, j int) { w[i], w[j] = w[j], w[i] }
type named interface{ Error() string }`)
	run(`fmt.Println(Celsius(36.6), []any{Celsius(1)})`)
	run(`var lost *Lost
err := find("key")
fmt.Println(err, errors.As(err, &lost), lost.Name)`)
	run(`w := Words{"b", "a"}
sort.Sort(w)
var n any = lost
_, isNamed := n.(named)
_, isWords := n.(Words)
fmt.Println(w, isNamed, isWords, n == any(lost))`)
	want := "36.6° [1.0°]\nfind: key is lost true key\n[a b] true false true\n"
	line, printed, _ := strings.Cut(out.String(), "\n")
	if !strings.Contains(line, "MCS_PLAIN is set") || printed != want {
		t.Errorf("got %q, want a line about MCS_PLAIN and %q", out.String(), want)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if s.Run(ctx, `for { w[0] = "c" }`).Err == nil {
		t.Error("an endless loop ended by itself")
	}
}
