package session

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/repl/display"
)

// The cells in testdata are sequences: `// %% name` starts a session, `// %%` the next cell of it. What
// follows `// > ` is the cell's output, then the values that it shows, then its error. A cell with `//
// timeout` is interrupted after a while. After a cell with `// ended` the next one waits until no goroutine
// of a cell is left.

type testCell struct {
	src, want string
	line      int
}

type sequence struct {
	name  string
	cells []testCell
}

func readSequences(t testing.TB, file string) (list []sequence) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var c *testCell
	for i, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		switch {
		case strings.HasPrefix(line, "// %%"):
			if name := strings.TrimSpace(strings.TrimPrefix(line, "// %%")); name != "" {
				list = append(list, sequence{name: name})
			}
			s := &list[len(list)-1]
			s.cells = append(s.cells, testCell{line: i + 1})
			c = &s.cells[len(s.cells)-1]
		case strings.HasPrefix(line, "// >"):
			c.want += strings.TrimPrefix(strings.TrimPrefix(line, "// >"), " ") + "\n"
		default:
			c.src += line + "\n"
		}
	}
	return list
}

// transcript returns the text that a person would see of a cell.
func transcript(s *Session, out *output, src string) string {
	ctx := context.Background()
	if strings.Contains(src, "// timeout") {
		c, cancel := context.WithCancel(ctx)
		defer cancel()
		ctx = c
		go cancelRunning(s, ctx, cancel, 50*time.Millisecond)
	}
	out.Reset()
	r := s.Run(ctx, strings.TrimSuffix(src, "\n"))
	text := out.String()
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	for _, v := range r.Shown {
		text += v.Text(100) + "\n"
	}
	if r.Err != nil {
		text += r.Err.Error() + "\n"
	}
	for strings.Contains(src, "// ended") && s.rt.Busy() {
		time.Sleep(time.Millisecond)
	}
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// cancelRunning interrupts a cell some time after its code has begun to run: on a busy machine the check
// alone may take long.
func cancelRunning(s *Session, ctx context.Context, cancel func(), after time.Duration) {
	for ctx.Err() == nil {
		if s.rt.Current() != nil {
			time.Sleep(after)
			cancel()
		}
		time.Sleep(time.Millisecond)
	}
}

func TestCells(t *testing.T) {
	files, err := filepath.Glob("testdata/*.cells")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cells: %v", err)
	}
	n := 0
	for _, file := range files {
		for _, seq := range readSequences(t, file) {
			n += len(seq.cells)
			t.Run(strings.TrimSuffix(filepath.Base(file), ".cells")+"/"+seq.name, func(t *testing.T) {
				s, out := newSession(t, Options{})
				for _, c := range seq.cells {
					if got := transcript(s, out, c.src); got != c.want {
						t.Errorf("%s:%d:\n%s\ngot:\n%s\nwant:\n%s", file, c.line, c.src, indent(got), indent(c.want))
					}
				}
			})
		}
	}
	t.Logf("%d cells", n)
}

func indent(s string) string {
	return "\t" + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n\t")
}

// newSession makes a session whose output goes to the buffer.
func newSession(t testing.TB, o Options) (*Session, *output) {
	t.Helper()
	var out output
	o.Stdout, o.Stderr = &out, &out
	o.Render = func(v display.Value, _ int) display.Value {
		if _, notice := v.(display.Lines); notice {
			return v // whole, as without a screen
		}
		return display.Render(v, 100, nil)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, &out
}

// output is the printed text of cells. Their goroutines may print at any time.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) Reset() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.b.Reset()
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}
