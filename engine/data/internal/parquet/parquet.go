// Package parquet reads columns of text out of Parquet files, row by row, as datasets of text are written:
// texts and numbers, lists of structs of them, with pages of both versions, plain, by dictionaries or by
// deltas, and compressed by snappy, gzip, Brotli, zstd or LZ4. Columns that nobody asks for are not read.
//
// Nothing that a file claims is believed: what it holds takes memory as it is read, pages and rows are
// bounded by the bytes of the file. An error names the row and the column.
//
// Reading order: parquet.go, footer.go, thrift.go, page.go, encoding.go; write.go writes tables.
package parquet

import (
	"fmt"
	"io"
	"slices"

	"github.com/mcs-notebook/mcs/engine/data/internal/columns"
)

// A Reader reads a file's rows.
type Reader struct {
	r      io.ReaderAt
	names  []string // of all columns
	chosen []*node
	groups []group
	rows   int64     // of all groups
	at     int64     // rows that were read
	left   int64     // rows of the group that is read
	next   int       // group
	text   int64     // bytes of text that there can still be
	leaves []*column // of the chosen columns
	byLeaf []*column // by the number of the leaf; nil: not chosen
}

// Open begins to read a file of size bytes. Names are those of the columns to read, nil for all; some may be
// missing, but if all are, the error is a *columns.Missing.
func Open(r io.ReaderAt, size int64, names []string) (*Reader, error) {
	root, groups, err := footer(r, size)
	if err != nil {
		return nil, err
	}
	p := &Reader{r: r, groups: groups, text: columns.MostDeflated*size + columns.SomeText}
	for _, n := range root.children {
		if names == nil || slices.Contains(names, n.name) {
			p.chosen = append(p.chosen, n)
		}
	}
	for _, g := range groups {
		p.rows += g.rows
	}
	for _, n := range p.chosen {
		for _, leaf := range n.leaves {
			if leaf.decimal {
				return nil, fmt.Errorf("column %q has decimal numbers, want text or numbers", n.name)
			}
			if leaf.physical == typeInt96 || leaf.physical == typeFixed {
				return nil, fmt.Errorf("column %q has values of %s, want text or numbers", n.name, map[int]string{typeInt96: "96 bits", typeFixed: "a fixed length"}[leaf.physical])
			}
		}
	}
	for _, n := range root.children {
		p.names = append(p.names, n.name)
	}
	if len(p.chosen) == 0 {
		return nil, &columns.Missing{Have: p.names, Want: names}
	}
	return p, nil
}

// Columns are the names of all columns.
func (p *Reader) Columns() []string { return p.names }

// Chosen are the names of the columns that are read.
func (p *Reader) Chosen() (list []string) {
	for _, n := range p.chosen {
		list = append(list, n.name)
	}
	return list
}

// Rows is the number of rows of the file.
func (p *Reader) Rows() int64 { return p.rows }

// Row is the number of rows that were read.
func (p *Reader) Row() int64 { return p.at }

// Next puts the values of the next row into row, in the order of the columns that are read: nil, bool, int64,
// uint64, float64, string, columns.Time, columns.JSON, []any for a list, or a columns.Object. After the last
// one it returns io.EOF.
func (p *Reader) Next(row []any) (err error) {
	for p.left == 0 {
		if p.next == len(p.groups) {
			return io.EOF
		}
		if err := p.group(); err != nil {
			return fmt.Errorf("%d: %w", p.at+1, err)
		}
	}
	p.left--
	p.at++
	for i, n := range p.chosen {
		if row[i], err = p.column(n); err != nil {
			return fmt.Errorf("%d: column %q: %w", p.at, n.name, err)
		}
	}
	return nil
}

// group begins the next group of rows.
func (p *Reader) group() error {
	for _, c := range p.leaves { // what the group before claimed is there
		if c.left > 0 || c.inPage > 0 || c.peeked {
			return fmt.Errorf("column %q has more values than rows", c.node.name)
		}
	}
	g := p.groups[p.next]
	p.next++
	p.left, p.leaves, p.byLeaf = g.rows, nil, make([]*column, len(g.chunks))
	for _, n := range p.chosen {
		for _, leaf := range n.leaves {
			c := newColumn(leaf, g.chunks[leaf.column], p.r)
			p.leaves = append(p.leaves, c)
			p.byLeaf[leaf.column] = c
		}
	}
	return nil
}

// column returns a row's value of a top column.
func (p *Reader) column(n *node) (any, error) {
	for _, leaf := range n.leaves {
		c := p.byLeaf[leaf.column]
		if err := c.peek(); err != nil {
			return nil, missing(err)
		}
		if c.rep != 0 {
			return nil, fmt.Errorf("a row begins in the middle of a list")
		}
	}
	return p.value(n)
}

func missing(err error) error {
	if err == io.EOF {
		return fmt.Errorf("the column ends early")
	}
	return err
}

// value returns the value of a node that may repeat.
func (p *Reader) value(n *node) (any, error) {
	first := p.byLeaf[n.leaves[0].column]
	if err := first.peek(); err != nil {
		return nil, missing(err)
	}
	switch {
	case n.often == repeated:
		return p.items(n, n)
	case n.often == optional && first.def < n.def:
		return nil, p.pass(n)
	}
	return p.inner(n)
}

// inner returns the value of a node that is there.
func (p *Reader) inner(n *node) (any, error) {
	if n.children == nil {
		v, err := p.byLeaf[n.column].take()
		if i, ok := v.(int64); ok && err == nil {
			switch {
			case n.unit > 0:
				return columns.At(i, n.unit)
			case n.unsigned && n.physical == typeInt32:
				return int64(uint32(i)), nil
			case n.unsigned:
				return uint64(i), nil
			}
		}
		if s, ok := v.(string); ok {
			if p.text -= int64(len(s)); p.text < 0 {
				return nil, fmt.Errorf("the file holds more text than its bytes can")
			}
			if n.json {
				v = columns.JSON(s)
			}
		}
		return v, err
	}
	if inside := n.children[0]; len(n.children) == 1 && inside.often == repeated && inside.children != nil {
		switch {
		case n.list:
			return p.items(inside, inside.item())
		case n.table && len(inside.children) == 2:
			return p.table(inside)
		}
	} else if n.list && len(n.children) == 1 && inside.often == repeated {
		return p.items(inside, inside)
	}
	object := columns.Object{}
	for _, c := range n.children {
		v, err := p.value(c)
		if err != nil {
			return nil, err
		}
		object = append(object, columns.Field{Name: c.name, Value: v})
	}
	return object, nil
}

// items returns the values of a node that repeats; item is the node or the only one inside of it.
func (p *Reader) items(n, item *node) (list []any, err error) {
	list = []any{}
	first := p.byLeaf[n.leaves[0].column]
	if err := first.peek(); err != nil {
		return nil, missing(err)
	}
	if first.def < n.def {
		return list, p.pass(n)
	}
	for {
		var v any
		if item == n {
			v, err = p.inner(n)
		} else {
			v, err = p.value(item)
		}
		if err != nil {
			return nil, err
		}
		if list = append(list, v); len(list) > columns.MaxItems {
			return nil, fmt.Errorf("a list has more than %d items", columns.MaxItems)
		}
		more := 0
		for _, leaf := range n.leaves {
			c := p.byLeaf[leaf.column]
			if err := c.peek(); err != nil && err != io.EOF {
				return nil, err
			}
			if c.peeked && c.rep == n.rep {
				more++
			}
		}
		if more == 0 {
			return list, nil
		}
		if more < len(n.leaves) {
			return nil, fmt.Errorf("the fields of a list have different numbers of items")
		}
	}
}

// table returns a map as an object.
func (p *Reader) table(entries *node) (any, error) {
	list, err := p.items(entries, entries)
	if err != nil {
		return nil, err
	}
	return columns.Map(list)
}

// pass goes past a node that is not there: one empty value in each of its leaves.
func (p *Reader) pass(n *node) error {
	for _, leaf := range n.leaves {
		c := p.byLeaf[leaf.column]
		if err := c.peek(); err != nil {
			return missing(err)
		}
		if c.def >= n.def {
			return fmt.Errorf("a struct is missing in some of its fields only")
		}
		c.peeked = false
	}
	return nil
}
