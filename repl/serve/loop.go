package serve

import (
	"context"
	"net/http"
	"slices"
	"sync"

	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
)

// A job is a text that somebody waits for.
type job struct {
	ctx     context.Context // of who waits
	request llm.Request
	index   int           // of the choice
	wake    chan struct{} // of all jobs of a request: there is something new

	mu sync.Mutex // guards what follows
	update
}

// An update is what is new of a text.
type update struct {
	read  []llm.Token // of the prompt, if it was asked for
	fresh []llm.Token
	end   llm.End
	err   error
}

// put adds a token, or what ended the text.
func (j *job) put(read []llm.Token, t llm.Token, end llm.End, err error) {
	j.mu.Lock()
	j.update = update{read, append(j.fresh, t), end, err}
	j.mu.Unlock()
	select {
	case j.wake <- struct{}{}:
	default: // who waits has not looked yet
	}
}

// fail ends the text with an error.
func (j *job) fail(err error) { j.put(nil, llm.Token{ID: -1}, "", err) }

// take returns what is new.
func (j *job) take() update {
	j.mu.Lock()
	defer j.mu.Unlock()
	u := j.update
	j.fresh = nil
	return u
}

// grow lets texts grow until ctx ends. What fails a step fails its texts; those that come later have a batch
// of their own.
func (s *server) grow(ctx context.Context) {
	if s.o.Model == nil {
		return
	}
	if len(s.rows) > 1 {
		ctx = lora.Rows(ctx, s.rows...)
	}
	for ctx.Err() == nil {
		first := s.next(ctx, true)
		if first == nil {
			continue
		}
		b, err := s.o.Model.NewBatch(ctx, llm.Sampling{Rows: s.o.Rows})
		if err != nil {
			first.fail(err)
			continue
		}
		running := map[*llm.Growth]*job{}
		add(ctx, b, running, first)
		for err == nil && ctx.Err() == nil {
			if s.join(ctx, b, running); b.Len() == 0 {
				continue
			}
			err = b.Step(ctx)
			for g, j := range running {
				if err != nil {
					j.fail(err)
				} else if g.Token.ID >= 0 || g.End != "" { // its prompt is read
					j.put(g.Read, g.Token, g.End, nil)
				}
				if g.End != "" {
					delete(running, g)
				}
			}
		}
		b.Free()
	}
}

// next is a job that waits. Where none does it waits for one, or returns nil.
func (s *server) next(ctx context.Context, wait bool) *job {
	if !wait {
		select {
		case j := <-s.waiting:
			return j
		default:
			return nil
		}
	}
	select {
	case j := <-s.waiting:
		return j
	case <-ctx.Done():
		return nil
	}
}

// join lets jobs that wait join the batch, after those that nobody waits for have left it. It waits for a job
// where no text grows.
func (s *server) join(ctx context.Context, b *llm.Batch, running map[*llm.Growth]*job) {
	for g, j := range running {
		if j.ctx.Err() != nil {
			b.Remove(g)
			delete(running, g)
		}
	}
	for b.Places() > 0 {
		j := s.next(ctx, b.Len() == 0)
		if j == nil {
			return
		}
		add(ctx, b, running, j)
	}
}

func add(ctx context.Context, b *llm.Batch, running map[*llm.Growth]*job, j *job) {
	if j.ctx.Err() != nil {
		return
	}
	g, err := b.Add(ctx, j.request)
	if err != nil {
		j.fail(&refusal{status: http.StatusBadRequest, Type: invalid, Message: err.Error()})
		return
	}
	running[g] = j
}

// admit lets jobs wait for a place, or refuses them all. The caller calls done when nobody waits for them any
// more.
func (s *server) admit(jobs []*job) (done func(), err error) {
	n := int64(len(jobs))
	done = func() { s.taken.Add(-n) }
	full := &refusal{status: http.StatusTooManyRequests, Type: "rate_limit_error", Code: "rate_limit_exceeded", Message: "too many requests wait already; try again later"}
	if s.taken.Add(n) > int64(s.o.Requests) {
		done()
		return nil, full
	}
	for _, j := range jobs {
		select {
		case s.waiting <- j:
		default: // some that have left take places still
			done()
			return nil, full
		}
	}
	return done, nil
}

// follow calls each with what is new of a job, until all have ended, or ctx is done, that of the jobs.
func (s *server) follow(ctx context.Context, jobs []*job, each func(j *job, u update) error) error {
	for left := slices.Clone(jobs); len(left) > 0; {
		select {
		case <-jobs[0].wake:
		case <-ctx.Done():
			return s.whyEnded(ctx)
		}
		for _, j := range slices.Clone(left) {
			u := j.take()
			err := u.err
			if err == nil && len(u.fresh) > 0 {
				err = each(j, u)
			}
			if err != nil && ctx.Err() != nil {
				err = s.whyEnded(ctx)
			}
			if err != nil {
				return err
			}
			if u.end != "" {
				left = slices.DeleteFunc(left, func(o *job) bool { return o == j })
			}
		}
	}
	return nil
}
