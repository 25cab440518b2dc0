// Package journal keeps the cells of a notebook in a file while it runs. So a process that dies, by
// concurrent map writes, by Go's own shortage of memory or by a fault in a C library, loses no text.
//
// A journal is a file of JSON lines: one when a cell begins, one for each piece of text that it prints, one
// when it has ended. Every notebook has its own, holds its lock, and removes it when the person leaves. A
// journal whose lock is free is what a dead process has left ([Left]). Nothing is synced to the disk: a
// journal survives the process, not the machine's loss of power.
package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/internal/lazy"
	"github.com/mcs-notebook/mcs/internal/regular"
)

// An Entry is a cell of a journal.
type Entry struct {
	N     int
	Cell  string // empty for one that looked as if it held a secret
	Out   string // the beginning of what it printed and showed
	Took  time.Duration
	Ended bool // it had ended when the process did
	End
}

// An End is how a cell has ended.
type End struct {
	Failed      bool `json:"failed,omitempty"`
	Interrupted bool `json:"interrupted,omitempty"`
	Outside     bool `json:"outside,omitempty"` // it changed what is outside of the session
}

// A record is a line of the file.
type record struct {
	N     int     `json:"n,omitempty"` // of a cell that begins
	Cell  string  `json:"cell,omitempty"`
	Out   string  `json:"out,omitempty"`
	Took  float64 `json:"took,omitempty"` // seconds
	Ended bool    `json:"ended,omitempty"`
	End
}

// maxOut is how many bytes of a cell's output are kept.
const maxOut = 32 << 10

// maxFile is how long a journal may be to be read.
const maxFile = 1 << 30

// maxAge is how long a journal is kept that nobody asks for.
const maxAge = 7 * 24 * time.Hour

const (
	suffix     = ".journal"
	lockSuffix = ".lock"
)

// A Journal is that of a running notebook. Its methods may be called by several goroutines; on a nil Journal
// they do nothing.
type Journal struct {
	path   string
	lock   *durable.Lock
	failed func(err error)

	mu     sync.Mutex
	f      *os.File // nil after a failure
	room   int      // for the output of the cell that runs
	secret bool     // that cell is not kept
}

// Place is the path of what mcs keeps under a name in the user's configuration folder: "history", "journals",
// "store".
func Place(name string) (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return filepath.Join(dir, "mcs", name), nil
}

// New begins a journal in a folder. When it cannot be written any more, failed is called, and nothing more is
// kept.
func New(dir string, failed func(err error)) (*Journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	path := filepath.Join(dir, fmt.Sprintf("%s-%d%s", time.Now().UTC().Format("20060102-150405.000"), os.Getpid(), suffix))
	lock, err := durable.TryLock(path + lockSuffix)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		lock.Unlock()
		os.Remove(path + lockSuffix)
		return nil, fmt.Errorf("journal: %w", err)
	}
	return &Journal{path: path, lock: lock, failed: failed, f: f}, nil
}

// Begin notes that a cell is about to run.
func (j *Journal) Begin(n int, cell string) {
	if j == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.room, j.secret = maxOut, Secret(cell)
	if j.secret {
		cell = ""
	}
	j.add(record{N: n, Cell: cell})
}

// Write notes text that the cell prints.
func (j *Journal) Write(b []byte) (int, error) {
	if j != nil {
		j.mu.Lock()
		defer j.mu.Unlock()
		if n := min(len(b), j.room); n > 0 && !j.secret {
			j.room -= n
			j.add(record{Out: secrets().ReplaceAllLiteralString(string(b[:n]), "…")})
		}
	}
	return len(b), nil
}

// End notes that the cell has ended.
func (j *Journal) End(took time.Duration, how End) {
	if j == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.add(record{Ended: true, Took: took.Seconds(), End: how})
	j.room = 0
}

// Keep notes a cell of an earlier journal that was not run again.
func (j *Journal) Keep(e Entry) {
	j.Begin(e.N, e.Cell)
	j.Write([]byte(e.Out))
	if e.Ended {
		j.End(e.Took, e.End)
	}
}

// add writes a line. The caller holds mu.
func (j *Journal) add(r record) {
	if j.f == nil {
		return
	}
	line, _ := json.Marshal(r) // strings and numbers can always be marshalled
	if _, err := j.f.Write(append(line, '\n')); err != nil {
		j.f.Close()
		j.f = nil
		j.failed(fmt.Errorf("journal: %w", err))
	}
}

// Remove ends the journal: nothing of it is to be resumed.
func (j *Journal) Remove() {
	if j == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.f != nil {
		j.f.Close()
		j.f = nil
	}
	Left{Path: j.path, lock: j.lock}.Remove()
}

// A Left is a journal of a process that has ended without leaving. It is locked: no other process resumes it.
type Left struct {
	Path string
	When time.Time // of the last line
	lock *durable.Lock
}

// Newest returns the newest journal in a folder that a dead process has left, or nil. Old ones are removed.
func Newest(dir string) *Left {
	entries, _ := os.ReadDir(dir) // by name, which is by time
	for _, e := range slices.Backward(entries) {
		stat, err := e.Info()
		if err != nil || !stat.Mode().IsRegular() || !strings.HasSuffix(e.Name(), suffix) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		lock, err := durable.TryLock(path + lockSuffix)
		if err != nil {
			continue // its process runs
		}
		l := Left{Path: path, When: stat.ModTime(), lock: lock}
		if stat.Size() > 0 && time.Since(l.When) < maxAge {
			return &l
		}
		l.Remove()
	}
	return nil
}

// Read returns the cells, the oldest first. Half a line at the end is left out.
func (l Left) Read() (list []Entry, err error) {
	text, err := regular.Read(l.Path, maxFile)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	for line := range bytes.Lines(text) {
		var r record
		if json.Unmarshal(line, &r) != nil {
			continue
		}
		if r.N > 0 {
			list = append(list, Entry{N: r.N, Cell: r.Cell})
			continue
		}
		if len(list) == 0 {
			continue
		}
		e := &list[len(list)-1]
		e.Out += r.Out
		if r.Ended {
			e.Ended, e.End, e.Took = true, r.End, time.Duration(r.Took*float64(time.Second))
		}
	}
	return list, nil
}

// Release lets the journal be resumed another time.
func (l Left) Release() { l.lock.Unlock() }

// Remove removes the journal.
func (l Left) Remove() {
	os.Remove(l.Path)
	l.lock.Unlock()
	os.Remove(l.Path + lockSuffix)
}

// quoted is a word of six letters or more in quotes, somewhere behind on the line.
const quoted = `[^\n]*["` + "`" + `][^"` + "`" + `\s]{6,}["` + "`" + `]`

// secrets matches signs of a text that must not be found in a file: a password or key in quotes or in an
// address, or a text in the form of a known kind of key.
var secrets = lazy.Regexp(`(?i)(passw(or)?d|passphrase|secret|credential|api_?key|access_?key|auth_?key|auth_?token|access_?token|_token)` + quoted + `|` +
	`\b(pw|pwd|pass)\b` + quoted + `|` +
	`[a-z]://[^/\s"@:]*:[^/\s"@]+@|` +
	`-----BEGIN [A-Z ]*PRIVATE KEY|` +
	`bearer +[\w.~+/-]{8,}|\b(hf_|sk-|gh[pousr]_|github_pat_|xox[abp]-|AKIA)[A-Za-z0-9_-]{12,}`)

// Secret says whether a cell looks as if it held a secret, or begins with a blank, which is how one says so.
func Secret(cell string) bool { return strings.HasPrefix(cell, " ") || secrets().MatchString(cell) }
