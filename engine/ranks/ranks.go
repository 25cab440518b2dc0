// Package ranks lets several processes, one for each device, compute as one.
//
// The processes of a [Group] share terms and add them up: [Group.Sum]. What is added to what depends on the
// number of terms only, as long as the number of ranks is a power of two, so that a sum has the same bits
// whether one process makes it or eight. Bytes move by a [Link], which adds nothing: no library's order of
// additions matters. Numbers of GPUs move between them by NCCL, where all ranks have it. A nil Group is one
// process, and all of its methods work.
//
// Reading order: ranks.go, sum.go, near.go, join.go, tcp.go, start.go, lead.go, guard.go, pieces.go, here.go.
package ranks

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/launch"
	"github.com/mcs-notebook/mcs/engine/internal/mesh"
)

// A Link moves bytes between ranks. All ranks make the same calls in the same order, one at a time. A call
// waits for the other ranks. When one of them has failed it returns an error, and so do all later calls.
type Link interface {
	Rank() int // 0 … Size−1
	Size() int
	// Exchange sends part r of src to rank r, and puts what comes from there into part r of dst. Both have
	// Size parts of equal length.
	Exchange(dst, src []byte) error
	// Gather puts the src of rank r into part r of dst, on every rank.
	Gather(dst, src []byte) error
	// Fail ends the group: calls of the other ranks return an error with this text. It may be called at any
	// time, and more than once.
	Fail(text string)
	// Close ends the link; all ranks call it, unless one has failed.
	Close() error
}

// A Group is the ranks that compute together, as one of them sees it. Its methods with an error are for all
// ranks at once, in the same order, and wait for each other.
type Group struct {
	link    Link
	near    *near // nil: numbers move by link, too
	lent    bool  // near to a group that Again has made
	told    error // the newest that all ranks have
	failed  bool  // this rank has said that it goes no further
	here    bool  // all ranks are on this machine
	started bool  // by Start
	launch  launch.Launch
	text    string
	limit   time.Duration // see Guard
}

// New returns the group of a link.
func New(link Link) *Group { return &Group{link: link, text: "a link of its own"} }

// Rank is the number of this process, from 0.
func (g *Group) Rank() int {
	if g == nil {
		return 0
	}
	return g.link.Rank()
}

// Size is the number of processes.
func (g *Group) Size() int {
	if g == nil {
		return 1
	}
	return g.link.Size()
}

// Texts returns the texts of all ranks, by rank.
func (g *Group) Texts(text string) ([]string, error) {
	if g.Size() == 1 {
		return []string{text}, nil
	}
	const word = 8
	heads := make([]byte, word*g.Size())
	if err := g.link.Gather(heads, binary.LittleEndian.AppendUint64(nil, uint64(len(text)))); err != nil {
		return nil, err
	}
	lengths := make([]int, g.Size())
	for i := range lengths {
		lengths[i] = int(binary.LittleEndian.Uint64(heads[word*i:]))
	}
	longest := slices.Max(lengths)
	src, dst := make([]byte, longest), make([]byte, longest*g.Size())
	copy(src, text)
	if longest > 0 {
		if err := g.link.Gather(dst, src); err != nil {
			return nil, err
		}
	}
	texts := make([]string, g.Size())
	for i, n := range lengths {
		texts[i] = string(dst[i*longest:][:n])
	}
	return texts, nil
}

// Numbers returns the numbers of all ranks, one after the other.
func (g *Group) Numbers(own []float64) ([]float64, error) {
	var text []byte
	for _, x := range own {
		text = binary.LittleEndian.AppendUint64(text, math.Float64bits(x))
	}
	texts, err := g.Texts(string(text))
	if err != nil {
		return nil, err
	}
	var all []float64
	for word := range slices.Chunk([]byte(strings.Join(texts, "")), 8) {
		all = append(all, math.Float64frombits(binary.LittleEndian.Uint64(word)))
	}
	return all, nil
}

// Agree returns an error, the same on all ranks, if not all of them have the same text. What says of what it
// is: "the data".
func (g *Group) Agree(what, text string) error {
	texts, err := g.Texts(text)
	if err != nil {
		return err
	}
	for rank, other := range texts {
		if other != texts[0] {
			return g.common(fmt.Errorf("%s: got %s on rank %d, want %s as on rank 0", what, brief(other), rank, brief(texts[0])))
		}
	}
	return nil
}

// brief is the beginning of a text, with which hashes are told apart, too.
func brief(text string) string {
	const most = 100 // runes
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// common notes an error that all ranks have, and none needs to be told.
func (g *Group) common(err error) error {
	g.told = err
	return err
}

// Once calls f on rank 0, and returns what it returned there on all ranks.
func (g *Group) Once(f func() ([]byte, error)) ([]byte, error) {
	if g.Size() == 1 {
		return f()
	}
	var b []byte
	var err error
	head := "-" // of an error; else how many bytes follow
	if g.Rank() == 0 {
		resume := g.pause()
		b, err = f()
		if resume(); err != nil {
			head += err.Error()
		} else {
			head = fmt.Sprint(len(b))
		}
	}
	heads, failed := g.Texts(head)
	if failed != nil {
		return nil, failed
	}
	if text, ok := strings.CutPrefix(heads[0], "-"); ok {
		if err == nil {
			err = fmt.Errorf("rank 0: %s", text)
		}
		return nil, g.common(err)
	}
	n, err := strconv.Atoi(heads[0])
	if err != nil || n == 0 {
		return nil, err
	}
	return g.spread(b, n)
}

// spread returns the n bytes of rank 0: each rank gets a part of them, and then all parts.
func (g *Group) spread(b []byte, n int) ([]byte, error) {
	part := (n + g.Size() - 1) / g.Size()
	src, dst := make([]byte, part*g.Size()), make([]byte, part*g.Size())
	copy(src, b)
	if err := g.link.Exchange(dst, src); err != nil {
		return nil, err
	}
	if err := g.link.Gather(src, dst[:part]); err != nil {
		return nil, err
	}
	return src[:n], nil
}

// Fail tells the other ranks why this one goes no further: what they wait for ends with an error that says
// so. It does nothing for nil, and for an error that all ranks have, as that of another one that has failed.
// Every rank may call it at any time.
func (g *Group) Fail(err error) {
	var other *mesh.Failed
	if err != nil && g.Size() > 1 && !errors.As(err, &other) && (g.told == nil || !errors.Is(err, g.told)) {
		g.failed = true
		g.link.Fail(strings.TrimSpace(err.Error()))
	}
}

// Failed says whether this rank has failed by itself, and the others only know that from it.
func (g *Group) Failed() bool { return g != nil && g.failed }

// Reports says whether this rank is to tell people of the error that ends it: rank 0 does, and one that has
// failed by itself; but rank 0 not of what another one, or Start, tells on the same machine.
func (g *Group) Reports(err error) bool {
	var other *mesh.Failed
	if !errors.As(err, &other) || other.Rank == g.Rank() && other.How == mesh.Said {
		return g.Rank() == 0 || g.Failed()
	}
	switch {
	case other.Rank == g.Rank(): // which has stood still
		return false
	case other.How == mesh.Said && g.here, other.How == mesh.Ended && g.started:
		return false
	case other.Rank == 0 && other.How != mesh.Said:
		return g.Rank() == 1
	}
	return g.Rank() == 0
}

// Close ends the group, when all ranks are done; the process then ends by [Exit]. After a failure it does
// nothing: the end of the process is the end of its link.
func (g *Group) Close() error {
	if g.Size() == 1 || g.failed {
		return nil
	}
	var err error
	if g.near != nil {
		close(g.near.closed)
		err = g.near.link.Close()
	}
	return errors.Join(err, g.link.Close())
}

// String says how many ranks there are, and how they are linked.
func (g *Group) String() string {
	if g.Size() == 1 {
		return "one process"
	}
	return fmt.Sprintf("%d ranks by %s", g.Size(), g.text)
}
