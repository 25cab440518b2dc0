package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func begin(t *testing.T, dir string) *Journal {
	t.Helper()
	j, err := New(dir, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// cut ends a journal as the end of its process does.
func cut(j *Journal) {
	j.f.Close()
	j.lock.Unlock()
}

func TestJournal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[b]*")
	j := begin(t, dir)
	if Newest(dir) != nil {
		t.Error("a journal whose process runs is offered")
	}
	j.Begin(1, "x := 1\ny := 2")
	j.Write([]byte("one\n"))
	j.Write([]byte("two hf_abcdefghijklmnop"))
	j.End(1500*time.Millisecond, End{Failed: true})
	j.Begin(2, `password := "correcthorse"`)
	j.Write([]byte("correcthorse"))
	j.End(time.Second, End{Outside: true})
	j.Begin(3, "for { fmt.Println(1) }")
	for range maxOut {
		j.Write([]byte("1\n"))
	}
	j.f.WriteString(`{"out":"half a li`)
	cut(j)

	left := Newest(dir)
	if left == nil {
		t.Fatal("a journal that was cut off is not offered")
	}
	got, err := left.Read()
	if err != nil {
		t.Fatal(err)
	}
	want := []Entry{
		{N: 1, Cell: "x := 1\ny := 2", Out: "one\ntwo …", Took: 1500 * time.Millisecond, Ended: true, End: End{Failed: true}},
		{N: 2, Took: time.Second, Ended: true, End: End{Outside: true}},
		{N: 3, Cell: "for { fmt.Println(1) }", Out: strings.Repeat("1\n", maxOut/2)},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %.300s,\nwant %.300s", fmt.Sprint(got), fmt.Sprint(want))
	}
	if Newest(dir) != nil {
		t.Error("a journal that another process resumes is offered")
	}
	left.Release()
	if left = Newest(dir); left == nil {
		t.Fatal("a journal is not offered again")
	}
	left.Remove()
	if files, _ := os.ReadDir(dir); len(files) != 0 {
		t.Errorf("got files %v, want none", files)
	}
}

// The newest journal is offered; empty ones, and those that nobody has asked for in a week, go.
func TestNewest(t *testing.T) {
	dir := t.TempDir()
	for i, age := range []time.Duration{0, 8 * 24 * time.Hour, time.Hour, 2 * time.Hour} {
		j := begin(t, dir)
		if i > 0 {
			j.Begin(i, "x")
		}
		cut(j)
		path := filepath.Join(dir, string(rune('d'-i))+suffix) // the order of names is that of time
		os.Rename(j.path, path)
		os.Remove(j.path + lockSuffix)
		old := time.Now().Add(-age)
		os.Chtimes(path, old, old)
	}
	left := Newest(dir)
	if left == nil {
		t.Fatal("nothing is offered")
	}
	cells, _ := left.Read()
	left.Remove()
	if len(cells) != 1 || cells[0].N != 2 {
		t.Errorf("got %v, want cell 2", cells)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*"+suffix)); len(files) != 1 {
		t.Errorf("got files %q, want the one of cell 3", files)
	}
}

// A journal that cannot be written says so once, and nothing else.
func TestFull(t *testing.T) {
	said := 0
	j, err := New(t.TempDir(), func(error) { said++ })
	if err != nil {
		t.Fatal(err)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	j.f.Close()
	j.f = full
	j.Begin(1, "x")
	j.Write([]byte("text"))
	j.End(0, End{})
	j.Begin(2, "y")
	if said != 1 {
		t.Errorf("said %d times, want once", said)
	}
	j.Remove()
	var none *Journal
	none.Begin(1, "x")
	none.Write([]byte("text"))
	none.End(0, End{})
	none.Remove()
}
