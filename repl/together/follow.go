package together

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/mcs-notebook/mcs/engine/ranks"
	"github.com/mcs-notebook/mcs/repl/session"
)

// Follow runs the cells of the session of rank 0, which Start has made, until that ends. Numbers of cells to
// be interrupted come by the input, at whose end left is called.
func Follow(ctx context.Context, words *ranks.Group, input io.Reader, left func(), open func(o session.Options) (*session.Session, error)) error {
	stops := &stops{}
	go func() {
		stops.read(input)
		left()
	}()
	text, err := words.Once(nil)
	if err != nil {
		return err
	}
	cells, s, err := repeat(ctx, words, text, open)
	if err != nil {
		words.Fail(err)
		return err
	}
	s.Join(follower{cells})
	for {
		text, err := words.Once(nil)
		var t task
		if err == nil {
			err = json.Unmarshal(text, &t)
		}
		if err != nil {
			return err
		}
		ctx, end := stops.begin(ctx, t.N)
		s.Count(t.N)
		s.Run(ctx, t.Source)
		end()
	}
}

// A follower is the cells of a helper.
type follower struct{ *Cells }

// Follows says whether a session is that of a helper.
func Follows(s *session.Session) bool {
	_, ok := s.Joined().(follower)
	return ok
}

// repeat makes the session that rank 0 has.
func repeat(ctx context.Context, words *ranks.Group, text []byte, open func(o session.Options) (*session.Session, error)) (*Cells, *session.Session, error) {
	var b beginning
	if err := json.Unmarshal(text, &b); err != nil {
		return nil, nil, err
	}
	s, err := open(session.Options{Params: b.Params, Source: b.Source, Each: b.Each, Script: b.Script, Memory: b.Memory})
	if err != nil {
		return nil, nil, err
	}
	for _, c := range b.Cells {
		s.Count(c.N)
		if r := s.Run(ctx, c.Source); r.Err != nil {
			return nil, nil, fmt.Errorf("a cell that has run on rank 0 fails here: %w", r.Err)
		}
	}
	s.Random().SetState(b.Random)
	if _, err := words.Texts(""); err != nil {
		return nil, nil, err
	}
	cells, err := New(ctx, words)
	return cells, s, err
}

// stops are interrupts of cells.
type stops struct {
	mu     sync.Mutex
	upTo   int // cells up to this one
	now    int
	cancel func() // of the cell that runs
}

func (s *stops) read(input io.Reader) {
	for lines := bufio.NewScanner(input); lines.Scan(); {
		n, err := strconv.Atoi(lines.Text())
		s.mu.Lock()
		if s.upTo = max(s.upTo, n); err == nil && s.cancel != nil && s.now <= s.upTo {
			s.cancel()
		}
		s.mu.Unlock()
	}
}

// begin is the context of a cell.
func (s *stops) begin(ctx context.Context, n int) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now, s.cancel = n, cancel; n <= s.upTo {
		cancel()
	}
	return ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.cancel = nil
	}
}
