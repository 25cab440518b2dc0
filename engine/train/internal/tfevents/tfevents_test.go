package tfevents

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// at is a time in seconds.
func at(seconds float64) time.Time { return time.Unix(0, int64(seconds*1e9)) }

// TestAsTensorBoard: the bytes are those that TensorBoard's own package writes for the same events
// (tests/peers/event_files.py).
func TestAsTensorBoard(t *testing.T) {
	want, err := os.ReadFile("testdata/events")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "runs", "first")
	w, err := Create(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	w.file.Close()
	names, _ := filepath.Glob(filepath.Join(dir, "events.out.tfevents.*"))
	if len(names) != 1 {
		t.Fatalf("got %d files, want one", len(names))
	}
	if w.file, err = os.Create(names[0]); err != nil { // with times of the test
		t.Fatal(err)
	}
	version := func(b []byte) []byte { return bytesField(b, 3, []byte("brain.Event:2")) }
	for _, err := range []error{
		w.write(at(1e9), 0, version),
		w.Restart(at(1e9+0.5), 300),
		w.Add(at(1e9), 0, Scalar{"loss", 5.5}),
		w.Add(at(1e9+1), 1, Scalar{"loss", 0}, Scalar{"rate", 2e-4}),
		w.Add(at(1e9+128), 128, Scalar{"loss", math.Inf(1)}),
		w.Add(at(1e9+1000), 1<<40, Scalar{"größe", -1.25e-30}),
		w.Close(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
}

// TestSeveralFiles: a run that goes on has a second file, which ends the curves of the first one.
func TestSeveralFiles(t *testing.T) {
	dir := t.TempDir()
	for _, first := range []int{0, 5} {
		w, err := Create(dir, first)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	names, _ := filepath.Glob(filepath.Join(dir, "events.out.tfevents.*"))
	if len(names) != 2 {
		t.Fatalf("got %v, want two files", names)
	}
	second, err := os.ReadFile(names[1])
	if err != nil {
		t.Fatal(err)
	}
	if restart := []byte{2 << 3, 5, 7<<3 | 2, 2, 1 << 3, 1}; !bytes.Contains(second, restart) {
		t.Errorf("got %q, want a start at step 5 in it", second)
	}
	if _, err := Create(filepath.Join(names[0], "below"), 0); err == nil {
		t.Error("a folder below a file: got no error")
	}
}
