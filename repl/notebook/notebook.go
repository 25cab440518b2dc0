// Package notebook reads and writes Jupyter's notebooks (nbformat 4.5, nbformat.readthedocs.io), and turns
// them into .mcs files and back, and into pages.
//
// A .mcs file that becomes a notebook and comes back is the same byte for byte, and a notebook that becomes a
// file and comes back has its names of cells, metadata, attachments and outputs: what the one has and the
// other has not is kept in it (metadata "mcs" of a notebook, a [notebook] mark at the end of a file). It
// counts as long as the cell to which it belongs stays as it was. Reading order: notebook.go, tofile.go,
// fromfile.go; page.go and markdown.go write pages; recorder.go takes what cells put out.
package notebook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/display"
)

// A Notebook is a notebook's cells and the rest of it.
type Notebook struct {
	Metadata map[string]any
	Cells    []Cell
}

// A Cell of a notebook.
type Cell struct {
	Kind     string // "code", "markdown" or "raw"
	ID       string
	Source   string
	Metadata map[string]any
	Outputs  []Output
	Count    *int           // of a code cell that has run
	rest     map[string]any // attachments, and what else it has
}

// An Output is what a cell has put out, as nbformat has it.
type Output map[string]any

// Parse reads a notebook.
func Parse(name string, text []byte) (*Notebook, error) {
	var file struct {
		Format   int            `json:"nbformat"`
		Metadata map[string]any `json:"metadata"`
		Cells    *[]map[string]any
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err := d.Decode(&file)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: got no notebook: %w", name, err)
	case file.Format != 4:
		return nil, fmt.Errorf("%s: got nbformat %d, want 4; jupyter nbconvert --to notebook writes it", name, file.Format)
	case file.Cells == nil:
		return nil, fmt.Errorf("%s: got no notebook: it has no cells", name)
	}
	nb := &Notebook{Metadata: file.Metadata}
	for i, fields := range *file.Cells {
		c, err := parseCell(fields)
		if err != nil {
			return nil, fmt.Errorf("%s: cell %d: %w", name, i+1, err)
		}
		nb.Cells = append(nb.Cells, c)
	}
	return nb, nil
}

func parseCell(fields map[string]any) (c Cell, err error) {
	take := func(name string) any { v := fields[name]; delete(fields, name); return v }
	c.Kind, _ = take("cell_type").(string)
	c.ID, _ = take("id").(string)
	c.Metadata, _ = take("metadata").(map[string]any)
	if c.Source, err = joined(take("source")); err != nil {
		return c, err
	}
	if outputs, ok := take("outputs").([]any); ok {
		for _, o := range outputs {
			fields, ok := o.(map[string]any)
			if !ok {
				return c, errors.New("got an output that is no object")
			}
			c.Outputs = append(c.Outputs, fields)
		}
	}
	if n, ok := take("execution_count").(json.Number); ok {
		count, err := n.Int64()
		if err != nil {
			return c, fmt.Errorf("got execution_count %s, want a whole number", n)
		}
		c.Count = new(int(count))
	}
	if c.rest = fields; c.Kind != "code" && c.Kind != "markdown" && c.Kind != "raw" {
		return c, fmt.Errorf("got cell_type %q, want code, markdown or raw", c.Kind)
	}
	return c, nil
}

// joined is a text that is a string or a list of strings.
func joined(v any) (string, error) {
	if s, ok := v.(string); ok || v == nil {
		return s, nil
	}
	list, err := texts(v)
	return strings.Join(list, ""), err
}

// texts is a list of strings, as it was read or made.
func texts(v any) (list []string, err error) {
	switch v := v.(type) {
	case []string:
		return v, nil
	case []any:
		for _, part := range v {
			s, ok := part.(string)
			if !ok {
				return nil, errors.New("got a text with a part that is no string")
			}
			list = append(list, s)
		}
		return list, nil
	}
	return nil, errors.New("got a text that is neither a string nor a list of strings")
}

// lined is a text as notebooks have it: a list of lines.
func lined(text string) []string {
	if text == "" {
		return []string{}
	}
	list := strings.SplitAfter(text, "\n")
	if list[len(list)-1] == "" {
		list = list[:len(list)-1]
	}
	return list
}

// Format writes the notebook as Jupyter does.
func (nb *Notebook) Format() []byte {
	cells := make([]map[string]any, len(nb.Cells))
	for i := range nb.Cells {
		cells[i] = nb.Cells[i].fields()
	}
	return encode(map[string]any{"nbformat": 4, "nbformat_minor": 5, "metadata": orEmpty(nb.Metadata), "cells": cells}, " ")
}

func (c *Cell) fields() map[string]any {
	fields := maps.Clone(orEmpty(c.rest))
	fields["cell_type"], fields["id"], fields["metadata"], fields["source"] = c.Kind, c.ID, orEmpty(c.Metadata), lined(c.Source)
	if c.Kind == "code" {
		fields["outputs"], fields["execution_count"] = []Output{}, c.Count
		if c.Outputs != nil {
			fields["outputs"] = c.Outputs
		}
	}
	return fields
}

func orEmpty(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

// encode writes JSON with the keys in order, and <, > and & as they are. What was read as JSON can be
// written.
func encode(v any, indent string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	_ = e.Encode(v)
	return b.Bytes()
}

// Printed is the output of text that a cell has printed to "stdout" or "stderr".
func Printed(stream, text string) Output {
	return Output{"output_type": "stream", "name": stream, "text": lined(text)}
}

// Shown is the output of a value; n is the number of its cell if it is the cell's result, else 0.
func Shown(v display.Value, n int) Output {
	data := map[string]any{}
	for kind, text := range display.BundleOf(v, 0) {
		if data[kind] = lined(text); kind == display.PNGImage {
			data[kind] = text
		}
	}
	o := Output{"output_type": "display_data", "data": data, "metadata": map[string]any{}}
	if n > 0 {
		o["output_type"], o["execution_count"] = "execute_result", n
	}
	return o
}

// Failed is the output of an error.
func Failed(text string) Output {
	return Output{"output_type": "error", "ename": "error", "evalue": cell.Line(text, 1), "traceback": strings.Split(text, "\n")}
}
