package data

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// folder makes files and returns where they are.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestReadText(t *testing.T) {
	dir := folder(t, map[string]string{
		"b.go": "B", "a.go": "A", "a_test.go": "T", "sub/c.go": "C", "note.txt": "N",
		".hidden": "H", ".git/config": "G", "binary": "\x00\x01", "latin1.go": "\xe9", "empty.go": "",
	})
	tests := []struct {
		path               string
		except, extensions []string
		want, err          string
	}{
		{path: "", want: "A\nT\nB\nN\nC"},
		{path: "", extensions: []string{".go"}, want: "A\nT\nB\nC"},
		{path: "", extensions: []string{"_test.go", ".txt"}, want: "T\nN"},
		{path: "", except: []string{"_test.go"}, extensions: []string{".go"}, want: "A\nB\nC"},
		{path: "a.go", want: "A"},
		{path: ".hidden", want: "H"},
		{path: "a.go", extensions: []string{".txt"}, err: "no text file that ends in .txt"},
		{path: "", extensions: []string{".rs"}, err: "no text file that ends in .rs"},
		{path: "binary", err: "no text file"},
		{path: "missing", err: "missing"},
	}
	for _, test := range tests {
		got, err := ReadTextExcept(filepath.Join(dir, test.path), test.except, test.extensions...)
		if test.err != "" {
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%+v: got %v, want the error to say %s", test, err, test.err)
			}
			continue
		}
		if err != nil || got != test.want {
			t.Errorf("%+v: got %q, %v", test, got, err)
		}
	}
}

func TestGoSource(t *testing.T) {
	root := folder(t, map[string]string{"src/net/http/server.go": "package http"})
	t.Setenv("GOROOT", root)
	t.Setenv("PATH", "")
	if got, want := GoSource("net/http"), filepath.Join(root, "src", "net", "http"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := GoSource("net/none"); got != "" {
		t.Errorf("a package that is not there: got %q", got)
	}
	t.Setenv("GOROOT", "")
	if got := GoSource("net/http"); got != "" {
		t.Errorf("without Go: got %q", got)
	}
}

func TestSplit(t *testing.T) {
	tests := []struct {
		text        string
		share       float64
		first, rest string
	}{
		{"ab\ncd\nef\n", 0.5, "ab\ncd\n", "ef\n"},
		{"abcd", 0.5, "ab", "cd"},
		{"aééé", 0.3, "aé", "éé"},
		{"", 0.5, "", ""},
		{"abc", 1, "abc", ""},
		{"abc", 0, "", "abc"},
	}
	for _, test := range tests {
		if first, rest := Split(test.text, test.share); first != test.first || rest != test.rest {
			t.Errorf("Split(%q, %g): got %q, %q, want %q, %q", test.text, test.share, first, rest, test.first, test.rest)
		}
	}
}

func TestEachEpochHasEveryWindowOnce(t *testing.T) {
	for size := 5; size < 60; size++ {
		b := Windows(strings.Repeat("x", size), 4, 3)
		perEpoch := b.Len()
		var starts []int
		for n := 0; len(starts) < 3*perEpoch; n++ {
			starts = append(starts, b.starts(n)...)
		}
		for epoch := range 3 {
			one := slices.Sorted(slices.Values(starts[epoch*perEpoch : (epoch+1)*perEpoch]))
			for i, s := range one {
				if s < 0 || s+4 >= size || i > 0 && s != one[i-1]+4 {
					t.Fatalf("text of %d, epoch %d: windows of 4 start at %v", size, epoch, one)
				}
			}
		}
	}
}

// TestBatchDependsOnItsNumberOnly: batch 7 is the same, whichever batches were asked for before it.
func TestBatchDependsOnItsNumberOnly(t *testing.T) {
	text := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 4)
	straight, jumping := Windows(text, 16, 4), Windows(text, 16, 4)
	var want [][]int
	for n := range 12 {
		want = append(want, straight.starts(n))
	}
	for _, n := range []int{11, 0, 7, 3, 7, 10, 1} {
		if got := jumping.starts(n); !slices.Equal(got, want[n]) {
			t.Errorf("batch %d: windows at %v, want %v", n, got, want[n])
		}
	}
	other := Windows(text, 16, 4)
	other.Seed = 1
	if slices.Equal(other.starts(0), want[0]) {
		t.Error("another seed gives the same order")
	}
}

func TestBatch(t *testing.T) {
	b := Windows("hello", 4, 1)
	batch, err := b.Batch(0)
	if err != nil {
		t.Fatal(err)
	}
	if got := batch.Inputs.Ints(); !slices.Equal(got, []int{'h', 'e', 'l', 'l'}) {
		t.Errorf("inputs %v", got)
	}
	if got := batch.Targets.Ints(); !slices.Equal(got, []int{'e', 'l', 'l', 'o'}) || batch.Tokens() != 4 {
		t.Errorf("targets %v, %d tokens", got, batch.Tokens())
	}
	for _, bad := range []*Batches{Windows("four", 4, 1), Windows("text", 0, 1), Windows("text", 1, 0)} {
		if _, err := bad.Batch(0); err == nil {
			t.Errorf("%v: got no error", bad)
		}
	}
}

func TestFingerprint(t *testing.T) {
	same, again := Windows("some text", 2, 3).Fingerprint(), Windows("some text", 2, 3).Fingerprint()
	if same != again {
		t.Error("equal data have different fingerprints")
	}
	seeded := Windows("some text", 2, 3)
	seeded.Seed = 1
	for _, other := range []*Batches{Windows("some texts", 2, 3), Windows("some text", 3, 3), Windows("some text", 2, 2), seeded} {
		if other.Fingerprint() == same {
			t.Errorf("%v has the fingerprint of other data", other)
		}
	}
}
