package session

import (
	"context"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/repl/session/internal/supervise"
)

// A cell that is stopped while a checkpoint is written ends when that is written, however long it takes, and
// has what the call returned.
func TestStopWaitsForASave(t *testing.T) {
	const grace = 100 * time.Millisecond
	reads := make(signal, 10)
	s, err := New(Options{Stdout: reads, limits: supervise.Limits{Grace: grace}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	run(t, s, "r, w := io.Pipe(); lines := bufio.NewScanner(r)")
	run(t, s, `go func() { w.Write([]byte("half a line")); fmt.Println("read") }()`) // by a scanner, which waits for the rest
	ctx, cancel := context.WithCancel(t.Context())
	saved := durable.Begin("checkpoint")
	go func() {
		<-reads
		cancel()
		time.Sleep(5 * grace)
		saved()
		s.Kill() // ends what waits, as the end of a save lets the call return
	}()
	start := time.Now()
	if r := s.Run(ctx, "lines.Scan()"); r.Err == nil || time.Since(start) < 5*grace {
		t.Errorf("got %v after %v, want an interruption after the save", r.Err, time.Since(start))
	}
}
