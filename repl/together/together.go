// Package together runs cells in several processes, the ranks of a group: each runs all cells, what rank 0
// puts out is shown, and of the others what differs from it.
//
// Reading order: together.go, differ.go, lead.go, follow.go.
package together

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcs-notebook/mcs/engine/ranks"
)

// errElsewhere stops a cell here.
var errElsewhere = errors.New("the cell has failed on another rank")

// alike is for a cell that fails on all ranks to do so by itself on each.
const alike = time.Second

// Cells are the cells of a session that other processes run, too. *Cells implements session.Together.
type Cells struct {
	words *ranks.Group // what the processes say of cells
	group *ranks.Group // what cells compute with: their failures leave words as it is, but for MPI
	ended bool         // group has

	ctx  context.Context // of the cell
	over func()          // to be called when it has ended
}

// New returns the cells of a file that each rank of a group runs.
func New(ctx context.Context, words *ranks.Group) (*Cells, error) {
	group, err := words.Again(ctx)
	return &Cells{words: words, group: group}, err
}

// First says whether this process shows what the cells put out: it is rank 0, or alone.
func (c *Cells) First() bool { return c == nil || c.Rank() == 0 }

// Reports says whether this process is to tell of an error of a cell.
func (c *Cells) Reports(err error) bool { return c == nil || c.words.Reports(err) }

// Rank is the number of this process.
func (c *Cells) Rank() int { return c.words.Rank() }

// String says how many ranks there are, and how they are linked.
func (c *Cells) String() string { return c.words.String() }

// Begin returns the context of a cell, in which ranks.Here is the group. It ends when another rank fails.
func (c *Cells) Begin(ctx context.Context, _ string) context.Context {
	c.ctx, c.over = ctx, func() {}
	if c.ended {
		group, err := c.words.Again(ctx)
		if err != nil { // what waits for words says the same
			return ctx
		}
		c.group, c.ended = group, false
	}
	ctx, cancel := context.WithCancelCause(ranks.With(ctx, c.group))
	done := make(chan struct{})
	c.ctx, c.over = ctx, sync.OnceFunc(func() { close(done) })
	go func(group *ranks.Group) {
		select {
		case <-group.Ended():
		case <-done: // the context belongs to what the cell has left running
			return
		}
		select {
		case <-time.After(alike):
			cancel(errElsewhere)
		case <-done:
		}
	}(c.group)
	return ctx
}

// A report is what a rank says of a cell.
type report struct {
	Output string
	Error  string // or empty
	Own    bool   // the error is not what comes of that of another rank
	Ended  bool   // the group has
}

// End shares what a cell has put out, and its error, when all ranks are done with it.
func (c *Cells) End(output string, err error) (others string, all error) {
	c.over()
	c.group.Fail(err)
	if c.group == c.words && err != nil { // no more can be said
		return "", err
	}
	rank, why := c.group.Failure()
	own := report{Output: output, Ended: why != nil}
	if err != nil {
		own.Error = err.Error()
		if own.Own = context.Cause(c.ctx) != errElsewhere; why != nil { // what this rank has failed of, or another one
			says := strings.Contains(own.Error, why.Error())
			own.Own = rank == c.group.Rank() && says || own.Own && !says
		}
	}
	list, lost := c.share(own)
	if lost != nil {
		return "", lost
	}
	if err != nil && why != nil && !slices.ContainsFunc(list, func(r report) bool { return r.Own }) {
		err = errors.New(labelled(rank, why.Error())) // of a rank that stands still, which says nothing
	}
	return c.judge(list, err)
}

// share returns the reports of all ranks.
func (c *Cells) share(own report) ([]report, error) {
	text, err := json.Marshal(own)
	if err != nil {
		return nil, err
	}
	texts, err := c.words.Texts(string(text))
	if err != nil {
		return nil, err
	}
	list := make([]report, len(texts))
	for rank, text := range texts {
		if err := json.Unmarshal([]byte(text), &list[rank]); err != nil {
			return nil, fmt.Errorf("rank %d: %w", rank, err)
		}
		c.ended = c.ended || list[rank].Ended
	}
	return list, nil
}

// judge returns what rank 0 shows of the others, and the error of the cell: that of this rank, or the first
// of another one.
func (c *Cells) judge(list []report, err error) (others string, all error) {
	mine := list[c.words.Rank()]
	if mine.Own {
		all = err
	}
	for rank, r := range list {
		if all == nil && r.Own {
			if all = err; !same(r.Error, mine.Error) {
				all = errors.New(labelled(rank, r.Error))
			}
		} else if r.Own && !same(r.Error, mine.Error) {
			others += labelled(rank, r.Error) + "\n"
		}
		for _, line := range differing(list[0].Output, r.Output) {
			others += labelled(rank, line) + "\n"
		}
	}
	if c.words.Rank() > 0 {
		others = ""
	}
	return others, cmp.Or(all, err)
}
