package data

import "github.com/mcs-notebook/mcs/engine/tensor"

// Epoch is the number of batches in which a source gives out all of its data once, rounded up; 0 if it does
// not say. A source of your own says so by a method Epoch.
func Epoch(s Source) int {
	if rows, batch := filled(s); batch > 0 {
		return (rows + batch - 1) / batch
	}
	switch s := s.(type) {
	case interface{ Epoch() int }:
		return s.Epoch()
	case *Rows:
		return s.Len()
	case *Mapped:
		return Epoch(s.source)
	case *Loader:
		return Epoch(s.source)
	}
	return 0
}

// Once returns batch n of a source's first epoch. Where [Examples] and [Batches] fill the last batch up with
// rows of the next epoch it has fewer rows, so that all batches together have each row once.
func Once(s Source, n int) (Batch, error) {
	b, err := s.Batch(n)
	rows, batch := filled(s)
	if left := rows - n*batch; err == nil && 0 < left && left < batch && b.Examples() == batch {
		b = b.head(left)
	}
	return b, err
}

// filled is how many rows an epoch has and a batch; 0 for a source that fills up no batch.
func filled(s Source) (rows, batch int) {
	switch s := s.(type) {
	case *Batches:
		return s.Len(), s.batch
	case *Examples:
		return s.Len(), s.batch
	case *Mapped:
		return filled(s.source)
	case *Loader:
		return filled(s.source)
	}
	return 0, 0
}

// head is the first rows of a batch.
func (b Batch) head(rows int) Batch {
	for _, t := range []*tensor.Tensor{&b.Inputs, &b.Targets, &b.Starts} {
		if !t.IsNone() {
			*t = t.Slice(0, 0, rows)
		}
	}
	return Batch{Inputs: b.Inputs, Targets: b.Targets, Starts: b.Starts}
}
