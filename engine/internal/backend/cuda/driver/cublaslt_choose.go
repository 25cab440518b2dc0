package driver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/kernel"
	"github.com/mcs-notebook/mcs/internal/durable"
)

// cuBLASLt's heuristics go by the description of a product alone, and the first algorithm that they propose
// is not always the fastest: on an H200 that for 16 rows of f32 took longer than another one and an adapter's
// two products together. So the proposals are timed. Another algorithm may add a sum up in another order: so
// that equal programs give equal bits, in each process of one user on one machine, the first process notes
// what it chose in a file, and where there can be no file, nothing is timed.
const (
	mostProposals = 8
	rounds        = 3
	mostTimed     = 1 << 40          // operations, some 20 ms of f32; of 16 bits 16 times as many
	longProduct   = 1 << 36          // operations of a product that takes a millisecond of f32
	shortProduct  = 1 << 32          // operations of a product that takes some ten microseconds
	leastAside    = 512 << 20        // bytes that matrices may take for that time on any device
	clearly       = 0.97             // of the first proposal's time is what another one must stay below
	patience      = 10 * time.Second // for another process that times, and for the device
	choosing      = "products.lock"  // in the folder of choices
	method        = "timed, 2"       // changes when other choices are to be made
)

// Choose times the algorithms that the heuristics proposed, or takes the one that was noted in the folder.
// Where that goes wrong it leaves the first.
func (m *multiplication) Choose(folder string) {
	list := m.proposals
	m.proposals = nil
	if folder == "" || len(list) < 2 || !worthTrial(&m.product, m.device.info.Memory) {
		return
	}
	path := m.choicePath(folder)
	n, ok := readChoice(path, len(list))
	if !ok {
		if os.MkdirAll(folder, 0o755) != nil {
			return
		}
		lock, err := durable.WaitLock(context.Background(), filepath.Join(folder, choosing), patience)
		if err != nil {
			return
		}
		defer lock.Unlock()
		if n, ok = readChoice(path, len(list)); !ok { // no other process has been faster
			n = m.fastest(list)
			if writeCache(path, []byte{byte(n)}) != nil {
				return
			}
		}
	}
	m.take(&list[n])
}

// worthTrial says whether a product's proposals are timed on a device of so many bytes: it must not take too
// long, and its matrices must be a small part of the memory.
func worthTrial(p *gpu.Product, memory int64) bool {
	t := &trial{memory: &buffer{}}
	t.lay(p)
	most := mostTimed
	if p.A.DType.Size() == 2 {
		most *= 16
	}
	return p.Flops() <= most && int64(t.memory.Bytes) <= max(leastAside, memory/32)
}

// choicePath is the file of a choice: its name has all that the choice depends on.
func (m *multiplication) choicePath(folder string) string {
	info := &m.device.info
	return cachePath(folder, ".choice", method, info.Name, info.Driver, m.library.name, fmt.Sprint(m.alignment, m.mostWorkspace), fmt.Sprintf("%+v", m.product))
}

// readChoice reads which one of so many proposals was chosen.
func readChoice(path string, count int) (n int, ok bool) {
	b := readCache(path)
	if len(b) != 1 || int(b[0]) >= count {
		return 0, false
	}
	return int(b[0]), true
}

// fastest is the number of the fastest proposal: the first, unless another one is clearly faster. The best of
// a few rounds counts, because the processors' clock rises in the first milliseconds, and other work may be
// under way.
func (m *multiplication) fastest(list []heuristicResult) (best int) {
	t, err := m.newTrial(list)
	if err != nil {
		return 0
	}
	runs := 2
	switch flops := m.product.Flops(); {
	case flops < shortProduct:
		runs = 10
	case flops > longProduct:
		runs = 1
	}
	times := make([]time.Duration, len(list))
	for round := range rounds + 1 {
		for n := range list {
			if times[n] < 0 {
				continue
			}
			m.take(&list[n])
			took, err := t.run(max(1, runs*min(round, 1))) // the first loads what the library's kernels need
			switch {
			case errors.Is(err, gpu.Timeout): // it uses the memory still
				return 0
			case err != nil:
				times[n] = -1
			case round == 1 || round > 1 && took < times[n]:
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

// A trial is a product with matrices of zeros, which no other program sees.
type trial struct {
	m        *multiplication
	stream   gpu.Stream
	memory   *buffer
	operands gpu.Operands
}

// newTrial takes memory for the matrices, and for the largest workspace of the proposals.
func (m *multiplication) newTrial(list []heuristicResult) (*trial, error) {
	t := &trial{m: m, memory: m.device.newBuffer(0, true)}
	t.lay(&m.product)
	most := 0
	for i := range list {
		most = max(most, int(list[i].workspace))
	}
	t.place(&t.operands.Workspace, max(most, 1))
	if err := m.device.alloc(t.memory, gpu.DeviceMemory); err != nil {
		return nil, err
	}
	var err error
	if t.stream, err = m.device.Stream(); err != nil {
		t.memory.Free()
		return nil, err
	}
	if err = t.stream.Fill(t.memory, 0, t.memory.Bytes, 0); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

// lay gives the matrices places in the memory, which it does not take.
func (t *trial) lay(p *gpu.Product) {
	o := &t.operands
	for n := range o.List {
		if bytes := p.Bytes(n); bytes > 0 && !(n == kernel.ProductC && p.C == p.D) {
			t.place(&o.List[n], bytes)
		}
	}
	if p.Added() && p.C == p.D {
		o.List[kernel.ProductC] = o.List[kernel.ProductD]
	}
	o.Scale = 1
}

func (t *trial) place(to *gpu.Arg, bytes int) {
	*to = gpu.Arg{Buffer: t.memory, Offset: t.memory.Bytes}
	t.memory.Bytes += (bytes + 255) &^ 255
}

// run computes the product so many times, and returns how long that took on the device.
func (t *trial) run(times int) (time.Duration, error) {
	from, err := t.stream.Stamp()
	if err != nil {
		return 0, err
	}
	defer from.Close()
	for range times {
		if err := t.m.Encode(t.stream, &t.operands); err != nil {
			return 0, err
		}
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
	t.memory.Free()
	t.stream.Close()
}
