package lesson

import (
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/internal/regular"
	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/repl/script/mcsfile"
)

// sealed is the beginning of a sealed key. What follows is the key's text, deflated: nobody reads it by
// accident, and mcs, which must read it to check answers, hides it from nobody who wants to know. What counts
// is graded with the teacher's own key.
const sealed = "mcs key 1\n"

// open reads a sealed key.
func open(path string) (*mcsfile.File, error) {
	text, err := regular.Read(path, regular.MaxSource)
	if err != nil {
		return nil, err
	}
	packed, ok := bytes.CutPrefix(text, []byte(sealed))
	if !ok {
		return nil, fmt.Errorf("%s: got another file, want a sealed key of mcs learn --seal", visible.Line(path))
	}
	key, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), regular.MaxSource))
	if err != nil {
		return nil, fmt.Errorf("%s: a sealed key that is damaged: %w", visible.Line(path), err)
	}
	return mcsfile.Parse(path, string(key)), nil
}

// Seal writes the lessons of a folder into another, with sealed keys and everything else as it is: what a
// teacher gives to learners.
func Seal(dir, to string) error {
	if _, err := ReadFolder(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		text, err := regular.Read(filepath.Join(dir, e.Name()), regular.MaxSource)
		if err != nil {
			return err
		}
		name := e.Name()
		if base, ok := strings.CutSuffix(name, keyEnd); ok {
			name, text = base+sealEnd, seal(text)
		}
		if err := durable.WriteFile(filepath.Join(to, name), durable.Text(string(text))); err != nil {
			return err
		}
	}
	return nil
}

func seal(key []byte) []byte {
	b := bytes.NewBufferString(sealed)
	w, _ := flate.NewWriter(b, flate.BestCompression) // the level is one of them
	_, _ = w.Write(key)                               // into memory
	_ = w.Close()
	return b.Bytes()
}
