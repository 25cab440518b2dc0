package together

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strconv"
	"time"

	"github.com/mcs-notebook/mcs/engine/ranks"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/repl/session"
)

// A Lead has helpers run the cells of a session, which is rank 0. *Lead implements session.Together.
type Lead struct {
	*Cells
	session *session.Session
	helpers *ranks.Helpers
	stop    func() // of what waits for an interrupt of the cell
	left    bool
}

// A beginning is what helpers need to know of the session.
type beginning struct {
	Params       map[string]string
	Source       string
	Each, Script bool
	Memory       uint64
	Cells        []session.Cell
	Random       tensor.RNGState // cells that failed have used some, too
}

// A task is a cell that helpers are to run.
type task struct {
	N      int
	Source string
}

const (
	patience = 20 * time.Second // for a cell of a helper to end after an interrupt
	ending   = time.Second      // for a process whose connection has ended
)

// Start starts commands, each of which calls Follow, as ranks 1, 2, … beside a session, and has them run the
// cells that it has run. From then on they run each cell of the session, until it is left. A cell of another
// error than here ends all.
func Start(ctx context.Context, s *session.Session, commands []*exec.Cmd, cells []session.Cell) (*Lead, error) {
	words, helpers, err := ranks.Lead(ctx, commands)
	if err != nil {
		return nil, err
	}
	l := &Lead{session: s, helpers: helpers}
	defer context.AfterFunc(ctx, helpers.End)()
	if l.Cells, err = l.begin(ctx, words, cells); err != nil {
		helpers.End()
		if ctx.Err() != nil {
			err = session.ErrInterrupted
		}
		return nil, err
	}
	s.Join(l)
	return l, nil
}

func (l *Lead) begin(ctx context.Context, words *ranks.Group, cells []session.Cell) (*Cells, error) {
	if err := words.Near(ctx); err != nil {
		return nil, err
	}
	o := l.session.Options()
	_, err := words.Once(func() ([]byte, error) {
		return json.Marshal(beginning{o.Params, o.Source, o.Each, o.Script, o.Memory, cells, l.session.Random().State()})
	})
	if err != nil {
		return nil, err
	}
	if _, err := words.Texts(""); err != nil { // they have run the cells
		return nil, err
	}
	return New(ctx, words)
}

// Begin sends a cell to the helpers.
func (l *Lead) Begin(ctx context.Context, cell string) context.Context {
	n := l.session.Next()
	_, err := l.words.Once(func() ([]byte, error) { return json.Marshal(task{n, cell}) })
	if err != nil { // and End says why
		ended, cancel := context.WithCancelCause(ctx)
		cancel(err)
		l.ctx, l.over, l.stop = ended, func() {}, func() {}
		return ended
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		l.helpers.Tell(strconv.Itoa(n))
		select {
		case <-ended:
		case <-time.After(patience):
			l.helpers.End()
		}
	})
	l.stop = func() {
		stop()
		close(ended)
	}
	return l.Cells.Begin(ctx, cell)
}

// End waits for the helpers. If one is gone, the session goes on alone.
func (l *Lead) End(output string, err error) (others string, all error) {
	if l.left {
		return "", err
	}
	others, all = l.Cells.End(output, err)
	l.stop()
	rank, why := l.words.Failure()
	if why == nil {
		return others, all
	}
	size := l.words.Size()
	l.Leave()
	if rank > 0 {
		if known := l.helpers.Why(rank, ending); known != nil {
			why = known
		}
	}
	return "", fmt.Errorf("%s; this session goes on alone: %%ranks %d starts the others again", labelled(rank, why.Error()), size)
}

// Leave ends the helpers; the session goes on alone.
func (l *Lead) Leave() {
	l.left = true
	l.over()
	l.session.Join(nil)
	l.helpers.End()
}

// Close ends the helpers.
func (l *Lead) Close() error {
	l.helpers.End()
	return nil
}
