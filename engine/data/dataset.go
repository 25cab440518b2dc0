package data

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/data/internal/csv"
	"github.com/mcs-notebook/mcs/engine/progress"
	"github.com/mcs-notebook/mcs/internal/regular"
	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/internal/wrap"
)

// Records says where a dataset is and what its fields are called. The zero Records reads the training split,
// and fields with their common names.
type Records struct {
	Config string // of a folder whose card names several datasets: which one; empty: the one the card prefers
	Split  string // of a folder: "train", "validation", "test" or a name of its own; empty: "train"
	Kind   Kind   // what the records are; empty: what the first one's fields say

	// Names of fields; empty: "text", "prompt", "completion", "messages" (or "conversations"), "tools",
	// "chosen", "rejected". Instead of prompt and completion Alpaca's are known, too: "instruction" and, in a
	// line below it, "input" are the prompt, and "output" is the completion.
	Text, Prompt, Completion, Messages, Tools, Chosen, Rejected string

	// SkipBad leaves out records that are damaged, of another kind, that the model's template refuses, or of
	// kind CompletionKind whose field "label" says that the completion is not wanted, and counts them.
	// Otherwise the first one is an error. A file that cannot be read on is one in any case.
	SkipBad bool
}

// A Dataset is files of records, which are read anew each time. Make it with ReadRecords.
type Dataset struct {
	Kind Kind

	o      Records
	fields fields
	files  []dataFile
	bytes  int64
}

// A dataFile is one file of a dataset.
type dataFile struct {
	path   string
	format string // an ending in formats
	size   int64
}

// Skipped says which records were left out.
type Skipped struct {
	Count int
	First error // names file and line; nil: none were left out
}

// ReadRecords opens a dataset: Records{}.Read(path).
func ReadRecords(path string) (*Dataset, error) { return Records{}.Read(path) }

// Read opens a file (.jsonl, .json, .csv, .parquet, .arrow; all but the last two may end in .gz, too), or a
// folder as Hugging Face's datasets are: one that save_to_disk wrote; one whose card (README.md) says which
// files are of which split; or one where names of files or folders tell it (train-00000-of-00002.parquet,
// data/validation.jsonl), and all files are for training where no name does. A .json file has a list of
// objects, or an object in each line.
//
// What the records are is known by the fields of the first one. It is read; the others are read when they are
// needed.
func (o Records) Read(path string) (d *Dataset, err error) {
	defer wrap.Error(&err, "data: read records")
	if o.Kind != "" && !slices.Contains(kinds, o.Kind) {
		return nil, fmt.Errorf("got kind %q, want one of %q", o.Kind, kinds)
	}
	d = &Dataset{o: o, Kind: o.Kind, fields: fields{
		text: o.Text, prompt: o.Prompt, completion: o.Completion, messages: o.Messages, tools: o.Tools,
		chosen: o.Chosen, rejected: o.Rejected, extra: "chat_template_kwargs", label: "label",
	}}
	f := &d.fields
	for name, standard := range map[*string]string{&f.text: "text", &f.prompt: "prompt", &f.completion: "completion", &f.messages: "messages", &f.tools: "tools", &f.chosen: "chosen", &f.rejected: "rejected"} {
		*name = cmp.Or(*name, standard)
	}
	if d.files, err = filesOf(path, o.Config, o.Split); err != nil {
		return nil, err
	}
	if len(d.files) == 0 {
		return nil, fmt.Errorf("%s has no records", path)
	}
	for _, file := range d.files {
		d.bytes += file.size
	}
	list, skipped, err := d.head(1) // which tells what there is
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0 && skipped.Count > 0:
		return nil, fmt.Errorf("no record is good: %w", skipped.First)
	case len(list) == 0:
		return nil, fmt.Errorf("%s has no records", visible.Line(filepath.Base(d.files[0].path)))
	}
	return d, nil
}

// Each calls f with the records, in the order of the files, until ctx is done or f returns an error, which it
// returns. It says what SkipBad left out.
func (d *Dataset) Each(ctx context.Context, f func(Record) error) (skipped Skipped, err error) {
	done := int64(0)
	defer func() {
		progress.Report(ctx, progress.Event{Task: "reading", Done: done, Total: d.bytes, Unit: "B", Final: true})
	}()
	for _, file := range d.files {
		if err := d.eachOf(ctx, file, done, &skipped, f); err != nil {
			return skipped, err
		}
		done += file.size
	}
	return skipped, nil
}

// Head returns the first n records, or all if there are fewer.
func (d *Dataset) Head(n int) ([]Record, error) {
	list, _, err := d.head(n)
	return list, err
}

func (d *Dataset) head(n int) (list []Record, skipped Skipped, err error) {
	enough := errors.New("enough")
	skipped, err = d.Each(context.Background(), func(r Record) error {
		if len(list) < n {
			list = append(list, r)
		}
		if len(list) < n {
			return nil
		}
		return enough
	})
	if errors.Is(err, enough) {
		err = nil
	}
	return list, skipped, err
}

// eachOf is Each for one file, before which done bytes of the dataset were read.
func (d *Dataset) eachOf(ctx context.Context, file dataFile, done int64, skipped *Skipped, f func(Record) error) error {
	name := visible.Line(filepath.Base(file.path))
	r, err := file.open(d.fields)
	if err != nil {
		return err
	}
	defer r.Close()
	for n := 0; ; n++ {
		if n%64 == 0 {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			progress.Report(ctx, progress.Event{Task: "reading", Done: done + min(r.read, file.size), Total: d.bytes, Unit: "B"})
		}
		raw, err := r.rows.next()
		if err == io.EOF {
			return nil
		}
		var rec Record
		if err == nil {
			if rec, err = d.record(raw); err != nil {
				err = &badRow{line: raw.line, err: err}
			}
		}
		var bad *badRow
		switch {
		case err == nil:
			rec.File = name
			err = f(rec)
			if err == nil {
				continue
			}
			return err
		case errors.As(err, &bad) && d.o.SkipBad:
			skipped.add(fmt.Errorf("%s:%w", name, err))
		default:
			return fmt.Errorf("%s:%w", name, err)
		}
	}
}

func (s *Skipped) add(err error) {
	if s.Count++; s.First == nil {
		s.First = err
	}
}

// record makes a record of a row. The first one says what all are.
func (d *Dataset) record(r row) (Record, error) {
	if d.fields.messages == "messages" && r.fields["messages"] == nil && r.fields["conversations"] != nil {
		r.fields["messages"] = r.fields["conversations"]
	}
	d.fields.ofAlpaca(r)
	if d.Kind == "" {
		kind, err := d.fields.kindOf(r)
		if err != nil {
			return Record{}, err
		}
		d.Kind = kind
	}
	return d.fields.record(r, d.Kind)
}

// String says what there is.
func (d *Dataset) String() string {
	name := visible.Line(filepath.Base(d.files[0].path))
	if len(d.files) > 1 {
		name += " and " + units.Plural(int64(len(d.files)-1), "more file")
	}
	return fmt.Sprintf("%s records · %s · %s", d.Kind, name, units.Bytes(d.bytes))
}

// A reading is a file that is being read.
type reading struct {
	rows   rowReader
	read   int64 // bytes of the file
	closer io.Closer
}

func (r *reading) Close() error { return r.closer.Close() }

// counted counts what is read of a file.
type counted struct {
	io.Reader
	n *int64
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	*c.n += int64(n)
	return n, err
}

// open begins to read a file.
func (file dataFile) open(names fields) (*reading, error) {
	f, err := regular.Open(file.path)
	if err != nil {
		return nil, err
	}
	r := &reading{closer: f}
	if err := r.begin(f, file, names); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", visible.Line(filepath.Base(file.path)), err)
	}
	return r, nil
}

func (r *reading) begin(f *os.File, file dataFile, names fields) error {
	if byColumns(file.format) {
		stat, err := f.Stat()
		if err != nil {
			return err
		}
		rows, err := newColumnRows(f, file.format, stat.Size(), names, &r.read)
		r.rows = rows
		return err
	}
	plain := bufio.NewReader(counted{f, &r.read})
	if strings.HasSuffix(file.path, ".gz") {
		z, err := gzip.NewReader(plain)
		if err != nil {
			return err
		}
		plain = bufio.NewReader(z)
	}
	skipMark(plain)
	switch file.format {
	case ".csv":
		r.rows = &csvRows{r: plain, l: csv.Lexer{Dialect: csv.Dialect{Comma: ','}, Line: 1}}
	case ".json", ".jsonl", ".ndjson":
		r.rows = newJSONRows(plain)
	}
	return nil
}
