package lesson

import (
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"io/fs"
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
// teacher gives to learners. Hidden files, links and the work of a learner are left out.
func Seal(dir, to string) error {
	if _, err := ReadFolder(dir); err != nil {
		return err
	}
	if err := apart(dir, to); err != nil {
		return err
	}
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		switch {
		case name != "." && (name == WorkDir || strings.HasPrefix(d.Name(), ".")):
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case d.IsDir():
			return os.MkdirAll(target, 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		if base, ok := strings.CutSuffix(target, keyEnd); ok {
			key, err := regular.Read(path, regular.MaxSource)
			if err != nil {
				return err
			}
			return durable.WriteFile(base+sealEnd, durable.Text(string(seal(key))))
		}
		return copyFile(path, target)
	})
}

// apart refuses a folder to write that lies in the other one, or that has open keys already.
func apart(dir, to string) error {
	from, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	target, err := filepath.Abs(to)
	if err != nil {
		return err
	}
	if inside, err := filepath.Rel(from, target); err == nil && filepath.IsLocal(inside) {
		return fmt.Errorf("got %s, which lies in %s, want a folder beside it", visible.Line(to), visible.Line(dir))
	}
	if open, _ := filepath.Glob(filepath.Join(to, "*"+keyEnd)); len(open) > 0 {
		return fmt.Errorf("%s can be read by learners: delete it, or write to another folder", visible.Line(open[0]))
	}
	return nil
}

// copyFile copies a file of any size.
func copyFile(from, to string) error {
	f, err := regular.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	return durable.WriteFile(to, func(w io.Writer) error {
		_, err := io.Copy(w, f)
		return err
	})
}

func seal(key []byte) []byte {
	b := bytes.NewBufferString(sealed)
	w, _ := flate.NewWriter(b, flate.BestCompression) // the level is one of them
	_, _ = w.Write(key)                               // into memory
	_ = w.Close()
	return b.Bytes()
}
