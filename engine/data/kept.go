package data

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/mcs-notebook/mcs/engine/chat"
	"github.com/mcs-notebook/mcs/internal/regular"
)

const (
	keptPrefix, keptEnding = "tokens-", ".safetensors"
	// maxKept is how many files Tokens.Cache keeps: a run has one for training and one for evaluations.
	maxKept = 4
	// minKept is how many bytes of records are worth a file.
	minKept = 1 << 20
)

// kept reads the sequences of a dataset from the file of an earlier call that had the same data and options,
// or makes them and writes it. Options are what asked returned.
func (o Tokens) kept(ctx context.Context, d *Dataset) (*Sequences, error) {
	key, err := o.key(ctx, d)
	if err != nil {
		return nil, err
	}
	if key == "" {
		return o.make(ctx, d)
	}
	if err := os.MkdirAll(o.Cache, 0o777); err != nil { // now, not after the work
		return nil, err
	}
	path := filepath.Join(o.Cache, keptPrefix+key+keptEnding)
	if s, err := LoadSequences(path, nil); err == nil && s.Kind == d.Kind && s.whole {
		s.tokenizer, s.Kept = o.Tokenizer, true
		now := time.Now()
		_ = os.Chtimes(path, now, now) // it was used last; a file of another user stays as old as it is
		return s, nil
	}
	s, err := o.make(ctx, d)
	if err != nil {
		return nil, err
	}
	if err := s.Save(path); err != nil { // a full disk is no reason to lose the work
		s.unkept = err
		return s, nil
	}
	forget(o.Cache)
	return s, nil
}

// forget removes the files that were not used for longest.
func forget(dir string) {
	type file struct {
		path string
		used time.Time
	}
	var files []file
	entries, _ := os.ReadDir(dir) // of a folder that cannot be read nothing is removed
	for _, e := range entries {
		if stat, err := e.Info(); err == nil && strings.HasPrefix(e.Name(), keptPrefix) && strings.HasSuffix(e.Name(), keptEnding) {
			files = append(files, file{filepath.Join(dir, e.Name()), stat.ModTime()})
		}
	}
	slices.SortFunc(files, func(a, b file) int { return b.used.Compare(a.used) })
	for _, f := range files[min(maxKept, len(files)):] {
		_ = os.Remove(f.path)
	}
}

// key names what the sequences depend on: the bytes of the files, what is read of them, tokenizer, templates,
// options, and the program that does it. It is empty if that is not known: of a template that writes the
// time.
func (o Tokens) key(ctx context.Context, d *Dataset) (string, error) {
	hash := sha256.New()
	info, _ := debug.ReadBuildInfo() // nil if the program has none
	fmt.Fprintf(hash, "%s\n%v\n%q %q %+v\n", storedKind, info, d.Kind, d.fields, d.o)
	words := "bytes"
	if o.Tokenizer != nil {
		words = o.Tokenizer.Fingerprint()
	}
	fmt.Fprintf(hash, "%q %q %q %d %v %v %v\n", words, o.BOS, o.EOS, o.Length, o.Prompts, o.Wrap, o.Chat)
	for i, t := range []*chat.Template{o.Template, o.tools} {
		if t == nil || d.Kind == TextKind {
			continue
		}
		if t.Fingerprint() == "" {
			return "", nil
		}
		fmt.Fprintln(hash, i, t.Fingerprint())
	}
	extra, err := json.Marshal(o.extra)
	if err != nil { // variables that JSON does not have
		return "", nil
	}
	fmt.Fprintf(hash, "%s\n", extra)
	for _, f := range d.files {
		if err := hashFile(ctx, hash, f); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(hash.Sum(nil)[:16]), nil
}

// hashFile adds a file's name and bytes.
func hashFile(ctx context.Context, hash io.Writer, file dataFile) error {
	f, err := regular.Open(file.path)
	if err != nil {
		return err
	}
	defer f.Close()
	fmt.Fprintf(hash, "%q %s\n", filepath.Base(file.path), file.format)
	n, block := int64(0), make([]byte, 1<<20)
	for err == nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var k int
		k, err = f.Read(block)
		hash.Write(block[:k])
		n += int64(k)
	}
	fmt.Fprintf(hash, "\n%d\n", n) // so that bytes of one file are not those of the next
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return cmp.Or(err, ctx.Err())
}
