// Package data reads what models learn from, and hands it out in batches.
//
// A [Source] gives batches by number. [Pairs] hands out the rows of inputs and targets, [Images.Folder] the
// pictures of a folder, and [Windows] pieces of a text, each in a new random order each epoch. [Map] changes
// the batches of a source by a function, and [Ahead] prepares them before they are asked for. A batch is a
// function of the seed and its number, so the position of a training run is one integer, and going back to it
// is exact.
//
// Tensors come from [ReadTable] and [ReadCSV] (a [Table] of named columns, with verbs to look at it, choose
// rows, group, join and write it), [ReadImage], [ReadIDX] (MNIST's format), and from the packages npy and
// safetensors. Text is a plain string, from [ReadText]; a token is a byte.
//
// What language models are tuned on comes from [ReadRecords]: a [Dataset] of texts, prompts with completions,
// chats or preferences. [Tokens] makes [Sequences] of it, and these hand out [Rows].
//
// Reading order of tables: table.go, column.go, values.go, group.go, join.go, show.go; csv.go, csvread.go,
// csvcells.go, number.go; tablefile.go, builder.go, tablewrite.go. Of records: record.go, lines.go, json.go,
// columns.go (files), dataset.go, folder.go; tokens.go, sequences.go, stored.go, rows.go.
package data

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/regular"
)

// maxText bounds what ReadText reads, so that a folder given by mistake does not fill the memory.
const maxText = 1 << 30

// ReadText reads a file, or all text files below a folder in the order of their names, one after the other
// with a newline between. With extensions (".go", "_test.go") it takes only files whose names end so. Hidden
// files and folders below path, and files that are no UTF-8 text, are left out. Nothing to read is an error.
func ReadText(path string, extensions ...string) (string, error) {
	return ReadTextExcept(path, nil, extensions...)
}

// ReadTextExcept is ReadText without the files whose names end in one of except.
func ReadTextExcept(path string, except []string, extensions ...string) (string, error) {
	var b strings.Builder
	files := 0
	err := walk(path, func(file string, entry fs.DirEntry) error {
		if !wanted(entry, except, extensions) {
			return nil
		}
		text, err := readOne(file, int64(maxText-b.Len()))
		if err != nil || text == "" {
			return err
		}
		if files++; files > 1 {
			b.WriteByte('\n')
		}
		b.WriteString(text)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("data: read text: %w", err)
	}
	if files == 0 {
		return "", fmt.Errorf("data: read text: %s: no text file%s", path, ending(extensions))
	}
	return b.String(), nil
}

// walk calls f with files and folders from path on, but for hidden ones below it and what is in these.
func walk(path string, f func(file string, entry fs.DirEntry) error) error {
	return filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		hidden := file != path && strings.HasPrefix(filepath.Base(file), ".")
		switch {
		case err != nil:
			return err
		case hidden && entry.IsDir():
			return fs.SkipDir
		case hidden:
			return nil
		}
		return f(file, entry)
	})
}

func wanted(entry fs.DirEntry, except, extensions []string) bool {
	name := entry.Name()
	has := func(endings []string) bool {
		return slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(name, e) })
	}
	return !entry.IsDir() && (len(extensions) == 0 || has(extensions)) && !has(except)
}

// readOne returns a file's text, or "" if the file is not text in UTF-8.
func readOne(file string, room int64) (string, error) {
	stat, err := os.Stat(file) // a link counts as what it points to
	if err != nil {
		return "", err
	}
	if !stat.Mode().IsRegular() {
		return "", nil
	}
	if stat.Size() > room {
		return "", fmt.Errorf("%s: there are more than %d MiB of text: choose a smaller folder", file, maxText>>20)
	}
	b, err := regular.Read(file, room)
	if err != nil || regular.NotText(b) >= 0 {
		return "", err
	}
	return string(b), nil
}

func ending(extensions []string) string {
	if len(extensions) == 0 {
		return ""
	}
	return " that ends in " + strings.Join(extensions, " or ")
}

// GoSource returns the folder of a package's sources in the Go installation ("strings"), real text that many
// machines have; "" if there is no Go. It looks at GOROOT, and asks the go command.
func GoSource(pkg string) string {
	roots := []string{os.Getenv("GOROOT")}
	if out, err := exec.Command("go", "env", "GOROOT").Output(); err == nil {
		roots = append(roots, strings.TrimSpace(string(out)))
	}
	for _, root := range roots {
		dir := filepath.Join(root, "src", filepath.FromSlash(pkg))
		if stat, err := os.Stat(dir); root != "" && err == nil && stat.IsDir() {
			return dir
		}
	}
	return ""
}

// Split cuts a text in two: share (0.9) of it, and the rest. The cut is at a line's end when one is near. A
// share that is not from 0 to 1 panics with a *tensor.Error.
func Split(text string, share float64) (first, rest string) {
	if !(share >= 0 && share <= 1) {
		panic(&tensor.Error{Op: "data.Split", Msg: fmt.Sprintf("got share %v, want one from 0 to 1", share)})
	}
	at := min(len(text), max(0, int(float64(len(text))*share)))
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 && i < 200 {
		at += i + 1
	}
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return text[:at], text[at:]
}
