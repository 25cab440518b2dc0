package data

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/tensor"
)

// asked is a source that tells which batches it is asked for, and fails at those in bad.
type asked struct {
	mu   sync.Mutex
	list []int
	bad  map[int]error
	wait chan struct{} // batches come when it is closed; nil: at once
}

func (a *asked) Fingerprint() string { return "asked" }

func (a *asked) Batch(n int) (Batch, error) {
	a.mu.Lock()
	a.list = append(a.list, n)
	err := a.bad[n]
	a.mu.Unlock()
	if a.wait != nil {
		<-a.wait
	}
	switch n {
	case 13:
		panic("unlucky")
	case 17:
		runtime.Goexit()
	}
	return Batch{Inputs: tensor.Full(float64(n), 1), Targets: tensor.Full(float64(n), 1)}, err
}

// numbers are those that were asked for so far, in order of their size, when there are at least n of them.
func (a *asked) numbers(t *testing.T, n int) []int {
	t.Helper()
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		a.mu.Lock()
		list := slices.Sorted(slices.Values(a.list))
		a.mu.Unlock()
		if len(list) >= n || time.Since(began) > time.Minute {
			return list
		}
	}
}

// While a batch is used the next ones are prepared, and no more than these. Each is prepared once.
func TestAhead(t *testing.T) {
	a := &asked{}
	l := Ahead(a, 3)
	for n := range 5 {
		b, err := l.Batch(n)
		if err != nil || b.Inputs.Item() != float64(n) {
			t.Fatalf("batch %d: got %v, error %v", n, b.Inputs, err)
		}
		want := []int{0, 1, 2, 3, 4, 5, 6, 7}[:n+4]
		if got := a.numbers(t, len(want)); !slices.Equal(got, want) {
			t.Errorf("at batch %d: prepared %v, want %v", n, got, want)
		}
	}
	if b, err := l.Batch(100); err != nil || b.Inputs.Item() != 100 {
		t.Errorf("a jump: got %v, error %v", b.Inputs, err)
	}
	if b, err := l.Batch(2); err != nil || b.Inputs.Item() != 2 {
		t.Errorf("back: got %v, error %v", b.Inputs, err)
	}
	if l.Fingerprint() != a.Fingerprint() {
		t.Error("the fingerprint is another")
	}
	if err := tensor.Try(func() { Ahead(a, -1) }); err == nil || err.Error() != "data.Ahead: got -1 batches, want at least 0" {
		t.Errorf("got %v", err)
	}
}

// The same batches, bit by bit, over an end of an epoch, through a function that draws random numbers.
func TestAheadIsTheSource(t *testing.T) {
	noisy := func() Source {
		return Map(squares(10, 4), func(b Batch, n int) Batch {
			return Batch{Inputs: b.Inputs.Add(tensor.Randn(4, 1)), Targets: b.Targets}
		})
	}
	plain, ahead := noisy(), Ahead(noisy(), 4)
	for n := range 12 {
		want, err := plain.Batch(n)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ahead.Batch(n)
		if err != nil || !bytes.Equal(got.Inputs.Bytes(), want.Inputs.Bytes()) || !bytes.Equal(got.Targets.Bytes(), want.Targets.Bytes()) {
			t.Errorf("batch %d: got %v %v, error %v, want %v %v", n, got.Inputs, got.Targets, err, want.Inputs, want.Targets)
		}
	}
}

// An error arrives at its batch, and the batch can be asked for again; so does a panic.
func TestAheadErrors(t *testing.T) {
	a := &asked{bad: map[int]error{2: errors.New("the disk is gone")}}
	l := Ahead(a, 2)
	for n := range 5 {
		_, err := l.Batch(n)
		if (err != nil) != (n == 2) {
			t.Errorf("batch %d: got error %v", n, err)
		}
		if err != nil {
			a.mu.Lock()
			a.bad = nil
			a.mu.Unlock()
			if b, err := l.Batch(n); err != nil || b.Inputs.Item() != 2 {
				t.Errorf("batch 2 again: got %v, error %v", b.Inputs, err)
			}
		}
	}
	if _, err := l.Batch(17); err == nil || err.Error() != "data: ahead: batch 17: its goroutine ended early" {
		t.Errorf("a goroutine that ends: got %v", err)
	}
	defer func() {
		if r := recover(); r != "unlucky" {
			t.Errorf("got the panic %v", r)
		}
	}()
	l.Batch(12)
	l.Batch(13)
}

// A batch that does not come is waited for as long as the context lives. The next call begins it again.
func TestAheadStops(t *testing.T) {
	a := &asked{wait: make(chan struct{})}
	l := Ahead(a, 1)
	ctx, cancel := context.WithCancelCause(context.Background())
	time.AfterFunc(10*time.Millisecond, func() { cancel(errors.New("enough")) })
	tensor.Within(ctx, func() {
		if _, err := l.Batch(0); err == nil || err.Error() != "enough" {
			t.Errorf("got %v, want the context's cause", err)
		}
	})
	close(a.wait)
	for n := range 3 {
		if b, err := l.Batch(n); err != nil || b.Inputs.Item() != float64(n) {
			t.Errorf("batch %d: got %v, error %v", n, b.Inputs, err)
		}
	}

	// The evaluations of what is under way stop, too.
	endless := Ahead(Map(squares(4, 2), func(b Batch, n int) Batch {
		<-tensor.Context().Done()
		return Batch{Inputs: b.Inputs.Add(1), Targets: b.Targets}
	}), 2)
	ctx, cancel = context.WithCancelCause(context.Background())
	tensor.Within(ctx, func() {
		p := endless.take(ctx, 0)
		cancel(errors.New("enough"))
		<-p.done
		if p.err == nil || !strings.Contains(p.err.Error(), "enough") {
			t.Errorf("got %v, want the cause", p.err)
		}
	})
}

// What a function draws depends on the seed and the number of the batch only.
func TestMap(t *testing.T) {
	noise := func(seed uint64, n int) string {
		m := Map(squares(6, 2), func(b Batch, n int) Batch { return Batch{Inputs: tensor.Rand(3), Targets: b.Targets} })
		m.Seed = seed
		b, err := m.Batch(n)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(b.Inputs.Floats())
	}
	tensor.Seed(1)
	first := noise(0, 3)
	tensor.Seed(2)
	if again := noise(0, 3); again != first {
		t.Errorf("batch 3 has %s, then %s", first, again)
	}
	if noise(0, 4) == first || noise(1, 3) == first {
		t.Error("another batch or another seed has the same random numbers")
	}
	m := Map(squares(6, 2), func(b Batch, n int) Batch { return Batch{Inputs: b.Inputs.MatMul(b.Inputs), Targets: b.Targets} })
	if _, err := m.Batch(1); err == nil || !strings.HasPrefix(err.Error(), "data: map: batch 1: matmul: got f32[2 1]") {
		t.Errorf("a wrong function: got %v", err)
	}
	other := Map(squares(6, 2), nil)
	other.Seed = 1
	if m.Fingerprint() == squares(6, 2).Fingerprint() || m.Fingerprint() == other.Fingerprint() || m.Fingerprint() != Map(squares(6, 2), nil).Fingerprint() {
		t.Error("the fingerprint does not tell the source, the function and the seed")
	}
}
