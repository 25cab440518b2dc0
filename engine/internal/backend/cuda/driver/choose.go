package driver

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/kernel"
	"github.com/mcs-notebook/mcs/internal/durable"
)

// A library's heuristics go by the description of work alone, and what they propose first is not always the
// fastest: on an H200 an algorithm of cuBLASLt's for 16 rows of f32 took longer than another one and an
// adapter's two products together. So the proposals are timed. Another one may add a sum up in another order:
// so that equal programs give equal bits, in each process of one user on one machine, the first process notes
// what it chose in a file, and where there can be no file, nothing is timed.
const (
	mostProposals = 8
	rounds        = 3
	mostTimed     = 1 << 40          // operations, some 20 ms of f32; of 16 bits 16 times as many
	longWork      = 1 << 36          // operations that take a millisecond of f32
	shortWork     = 1 << 32          // operations that take some ten microseconds
	leastAside    = 512 << 20        // bytes that operands may take for that time on any device
	clearly       = 0.97             // of the first proposal's time is what another one must stay below
	patience      = 10 * time.Second // for another process that times, and for the device
	choosing      = "products.lock"  // in the folder of choices
	method        = "timed, 3"       // changes when other choices are to be made
)

// A contest is work for which a library has proposed several ways.
type contest struct {
	device *device
	by     gpu.Computation
	work   gpu.Work
	flops  int
	size   int // bytes of a number
	ways   int
	take   func(way int) // lets the work be computed in this way
	key    []string      // what the choice depends on beside the device
}

// choose times the ways, or takes the one that was noted in the folder. Where that goes wrong it leaves the
// first.
func (c *contest) choose(folder string) {
	if folder == "" || c.ways < 2 || !c.worthTrial() {
		return
	}
	info := &c.device.info
	path := cachePath(folder, ".choice", append([]string{method, info.Name, info.Driver}, c.key...)...)
	n, ok := readChoice(path, c.ways)
	if !ok {
		if os.MkdirAll(folder, 0o755) != nil {
			return
		}
		lock, err := durable.WaitLock(context.Background(), filepath.Join(folder, choosing), patience)
		if err != nil {
			return
		}
		defer lock.Unlock()
		if n, ok = readChoice(path, c.ways); !ok { // no other process has been faster
			n = c.fastest()
			if writeCache(path, []byte{byte(n)}) != nil {
				c.take(0)
				return
			}
		}
	}
	c.take(n)
}

// worthTrial says whether the ways are timed: the work must not take too long, and its operands must be a
// small part of the device's memory.
func (c *contest) worthTrial() bool {
	t := &trial{memory: &buffer{}}
	t.lay(c.work)
	return c.flops <= mostTimed<<(8-2*c.size) && int64(t.memory.Bytes) <= max(leastAside, c.device.info.Memory/32)
}

// readChoice reads which one of so many proposals was chosen.
func readChoice(path string, count int) (n int, ok bool) {
	b := readCache(path)
	if len(b) != 1 || int(b[0]) >= count {
		return 0, false
	}
	return int(b[0]), true
}

// fastest is the number of the fastest way: the first, unless another one is clearly faster. The best of a
// few rounds counts, because the processors' clock rises in the first milliseconds, and other work may be
// under way.
func (c *contest) fastest() (best int) {
	most := 0
	for n := range c.ways {
		c.take(n)
		most = max(most, c.by.Workspace())
	}
	t, err := c.newTrial(most)
	if err != nil {
		return 0
	}
	runs := 2
	switch {
	case c.flops < shortWork:
		runs = 20
	case c.flops > longWork:
		runs = 1
	}
	times := make([]time.Duration, c.ways)
	for round := range rounds + 1 {
		for n := range times {
			if times[n] < 0 {
				continue
			}
			took, err := time.Duration(0), error(nil)
			if round == 0 {
				c.take(n)
				err = t.record(runs)
			} else {
				took, err = t.run(t.graphs[n].Replay)
			}
			switch {
			case errors.Is(err, gpu.Timeout): // it uses the memory still
				return 0
			case err != nil:
				times[n] = -1
			case round == 1 || took < times[n]:
				times[n] = took
			}
		}
	}
	t.close()
	for n, took := range times {
		if took > 0 && (times[best] < 0 || took < times[best]) {
			best = n
		}
	}
	if times[0] > 0 && float64(times[best]) > clearly*float64(times[0]) {
		return 0
	}
	return best
}

// A trial is work with operands of zeros, which no other program sees.
type trial struct {
	by       gpu.Computation
	stream   gpu.Recorder
	memory   *buffer
	operands gpu.Operands
	graphs   []gpu.Graph // by way
}

// newTrial takes memory for the operands, and for so many bytes of workspace.
func (c *contest) newTrial(workspace int) (*trial, error) {
	t := &trial{by: c.by, memory: c.device.newBuffer(0, true)}
	t.lay(c.work)
	t.place(&t.operands.Workspace, max(workspace, 1))
	if err := c.device.alloc(t.memory, gpu.DeviceMemory); err != nil {
		return nil, err
	}
	stream, err := c.device.Stream()
	if err != nil {
		t.memory.Free()
		return nil, err
	}
	t.stream = stream.(gpu.Recorder)
	if err = t.stream.Fill(t.memory, 0, t.memory.Bytes, 0); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

// lay gives the operands places in the memory, which it does not take.
func (t *trial) lay(w gpu.Work) {
	o := &t.operands
	p, _ := w.(*gpu.Product)
	same := p != nil && p.Added() && p.C == p.D
	for n := range o.List {
		if bytes := w.Bytes(n); bytes > 0 && !(same && n == kernel.ProductC) {
			t.place(&o.List[n], bytes)
		}
	}
	if same {
		o.List[kernel.ProductC] = o.List[kernel.ProductD]
	}
	o.Scale = 1
}

func (t *trial) place(to *gpu.Arg, bytes int) {
	*to = gpu.Arg{Buffer: t.memory, Offset: t.memory.Bytes}
	t.memory.Bytes += (bytes + 255) &^ 255
}

// record adds a graph of so many runs, or nil if that goes wrong: launched one by one, works of a few
// microseconds take as long as their launches. The run before it loads what the library's kernels need.
func (t *trial) record(runs int) error {
	encode := func(to gpu.Stream) error { return t.by.Encode(to, &t.operands) }
	t.graphs = append(t.graphs, nil)
	if _, err := t.run(encode); err != nil {
		return err
	}
	if err := t.stream.Record(); err != nil {
		return err
	}
	var err error
	for range runs {
		err = cmp.Or(err, encode(t.stream))
	}
	var unfinished error
	t.graphs[len(t.graphs)-1], unfinished = t.stream.Finish()
	return cmp.Or(err, unfinished)
}

// run encodes work, and returns how long it took on the device.
func (t *trial) run(encode func(gpu.Stream) error) (time.Duration, error) {
	from, err := t.stream.Stamp()
	if err != nil {
		return 0, err
	}
	defer from.Close()
	if err := encode(t.stream); err != nil {
		return 0, err
	}
	to, err := t.stream.Stamp()
	if err != nil {
		return 0, err
	}
	defer to.Close()
	end, err := t.stream.Commit()
	if err != nil {
		return 0, err
	}
	defer end.Close()
	if err := end.Wait(context.Background(), patience); err != nil {
		return 0, err
	}
	return to.Since(from)
}

func (t *trial) close() {
	for _, g := range t.graphs {
		if g != nil {
			g.Close()
		}
	}
	t.memory.Free()
	t.stream.Close()
}
