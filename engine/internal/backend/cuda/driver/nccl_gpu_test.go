package driver

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/kernel"
)

// Two processes with a GPU each add up what they have: the library's moves stand in one stream with copies,
// launches, a graph that is replayed and a product of cuBLASLt. One of them then ends in the middle of a
// move, and the other one aborts it.
func TestLinkOnGPU(t *testing.T) {
	d, _ := onGPU(t)
	const variable = "MCS_TEST_LINK"
	if os.Getenv(variable) != "" {
		linked(t, os.Getenv(variable))
		return
	}
	if infos, err := d.Devices(); err != nil || len(infos) < 2 {
		t.Skipf("got the devices %v (%v), want two", infos, err)
	}
	place := t.TempDir()
	var ranks [2]*exec.Cmd
	for r := range ranks {
		c := exec.Command(os.Args[0], "-test.run=^TestLinkOnGPU$", "-test.v")
		c.Env = append(os.Environ(), fmt.Sprintf("%s=%s/%d", variable, place, r))
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		ranks[r] = c
	}
	for r, c := range ranks {
		if err := c.Wait(); (err == nil) != (r == 0) {
			t.Errorf("rank %d: got %v; rank 1 ends in the middle", r, err)
		}
	}
}

// A party is one of the processes of TestLinkOnGPU.
type party struct {
	*testing.T
	gpuBench
	link   gpu.Link
	rank   int
	host   gpu.Buffer // of the largest source
	stream *stream
}

func (p *party) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatalf("rank %d: %v", p.rank, err)
	}
}

func (p *party) alloc(bytes int, m gpu.Memory) gpu.Buffer {
	p.Helper()
	b, err := p.device.Alloc(bytes, m)
	p.must(err)
	return b
}

// run waits for what was encoded.
func (p *party) run() {
	p.Helper()
	e, err := p.stream.Commit()
	p.must(err)
	p.must(e.Wait(p.Context(), time.Minute))
	e.Close()
	if p.link != nil {
		p.must(p.link.Err())
	}
}

// termOf is element i of what a rank has. The numbers are of many magnitudes, so that each order of additions
// has bits of its own.
func termOf(rank, i int) float32 {
	x := uint32(i)*2654435761 ^ uint32(rank+1)*0x9e3779b9
	x ^= x >> 15
	x *= 0x2c1b3c6d
	x ^= x >> 12
	return math.Float32frombits(x&0x807fffff | (117+x>>23%20)<<23)
}

func floats(b []byte) []float32 { return unsafe.Slice((*float32)(unsafe.Pointer(&b[0])), len(b)/4) }

const linkedRanks = 2

func linked(t *testing.T, where string) {
	d, ptx := onGPU(t)
	p := &party{T: t}
	fmt.Sscan(filepath.Base(where), &p.rank)
	device, err := d.Open(p.rank)
	p.must(err)
	p.device = device
	s, err := device.Stream()
	p.must(err)
	p.stream = s.(*stream)
	library, err := device.Load("kernels.ptx", ptx)
	p.must(err)
	p.pipeline, err = library.Pipeline("axpy")
	p.must(err)
	const largest = 256 << 20
	p.host = p.alloc(linkedRanks*largest, gpu.SharedMemory)
	alone := p.product()

	began := time.Now()
	p.link, err = device.(gpu.Linker).Link(p.meet(filepath.Join(filepath.Dir(where), "meeting")), p.rank, linkedRanks)
	p.must(err)
	if p.rank == 0 {
		by, _ := device.(gpu.Linker).Links()
		t.Logf("%v linked in %v", by, time.Since(began).Round(time.Millisecond))
	}
	for _, bytes := range []int{4, 1 << 10, 1 << 20, 17408 << 10, 84 << 20, largest} {
		p.sum(bytes)
	}
	if !slices.Equal(p.product(), alone) {
		t.Errorf("rank %d: a product has other bits once there is a link", p.rank)
	}
	p.parts()
}

// meet hands the meeting of rank 0 over by a file.
func (p *party) meet(file string) []byte {
	if p.rank == 0 {
		meeting, err := p.device.(gpu.Linker).Meet()
		p.must(err)
		p.must(os.WriteFile(file+"~", meeting, 0o600))
		p.must(os.Rename(file+"~", file))
		return meeting
	}
	for range 600 {
		if meeting, err := os.ReadFile(file); err == nil {
			return meeting
		}
		time.Sleep(50 * time.Millisecond)
	}
	p.Fatal("rank 0 does not come")
	return nil
}

// sum adds up by parts of so many bytes, and compares with the host's sum; then it measures.
func (p *party) sum(bytes int) {
	n := bytes / 4
	src, dst := p.alloc(linkedRanks*bytes, gpu.DeviceMemory), p.alloc(linkedRanks*bytes, gpu.DeviceMemory)
	mine := p.alloc(bytes, gpu.DeviceMemory)
	defer src.Free()
	defer dst.Free()
	defer mine.Free()
	x := floats(p.host.Host())[:linkedRanks*n]
	for i := range x {
		x[i] = termOf(p.rank, i)
	}
	threads := min(n, 256)
	dispatch := axpy(p.pipeline, nil, mine, 1)
	dispatch.Groups.X, dispatch.Threads.X = n/threads, threads
	dispatch.Args[0] = gpu.Arg{Buffer: dst, Offset: bytes}
	p.must(p.stream.Record()) // the addition is a graph
	p.must(p.stream.Copy(mine, 0, dst, 0, bytes))
	p.must(p.stream.Dispatch(dispatch))
	g, err := p.stream.Finish()
	p.must(err)
	defer g.Close()
	step := func() {
		p.must(p.link.Move(p.stream, gpu.Arg{Buffer: dst}, gpu.Arg{Buffer: src}, bytes, bytes))
		p.must(g.Replay(p.stream))
		p.must(p.link.Move(p.stream, gpu.Arg{Buffer: dst}, gpu.Arg{Buffer: mine}, bytes, 0))
	}
	p.must(p.stream.Copy(src, 0, p.host, 0, linkedRanks*bytes))
	step()
	p.must(p.stream.Copy(p.host, 0, dst, 0, linkedRanks*bytes))
	p.run()
	for i, got := range x {
		if want := termOf(0, i) + termOf(1, i); math.Float32bits(got) != math.Float32bits(want) {
			p.Fatalf("rank %d, %d bytes: element %d is %g, want %g", p.rank, bytes, i, got, want)
		}
	}
	const rounds = 20
	stamps := []gpu.Stamp{}
	stamp := func() {
		s, err := p.stream.Stamp()
		p.must(err)
		stamps = append(stamps, s)
	}
	took := [3]time.Duration{time.Hour, time.Hour, time.Hour}
	for range rounds {
		stamps = stamps[:0]
		stamp()
		p.must(p.link.Move(p.stream, gpu.Arg{Buffer: dst}, gpu.Arg{Buffer: src}, bytes, bytes))
		stamp()
		p.must(g.Replay(p.stream))
		stamp()
		p.must(p.link.Move(p.stream, gpu.Arg{Buffer: dst}, gpu.Arg{Buffer: mine}, bytes, 0))
		stamp()
		p.run()
		for i := range took {
			since, err := stamps[i+1].Since(stamps[i])
			p.must(err)
			took[i] = min(took[i], since)
		}
		for _, s := range stamps {
			s.Close()
		}
	}
	began := time.Now()
	for range rounds {
		step()
	}
	p.run()
	if p.rank == 0 {
		p.Logf("%10d bytes a part: exchange %8v, add %8v, gather %8v; all in a row %8v", bytes, took[0], took[1], took[2], (time.Since(began) / rounds).Round(100*time.Nanosecond))
	}
}

// product is what cuBLASLt computes.
func (p *party) product() []float32 {
	const n, workspace = 512, 32 << 20
	m, err := p.device.(gpu.Librarian).Computation(gpu.Product{Rows: n, Columns: n, Inner: n, Batches: 1,
		A: byRows(dtype.F32, n, 0), B: byRows(dtype.F32, n, 0), D: byRows(dtype.F32, n, 0)}, 16, workspace)
	p.must(err)
	defer m.Close()
	x, w := p.alloc(3*n*n*4, gpu.DeviceMemory), p.alloc(workspace, gpu.DeviceMemory)
	defer x.Free()
	defer w.Free()
	host := floats(p.host.Host())
	for i := range 2 * n * n {
		host[i] = termOf(2, i)
	}
	o := &gpu.Operands{Workspace: gpu.Arg{Buffer: w}}
	for i, operand := range []int{kernel.ProductA, kernel.ProductB, kernel.ProductD} {
		o.List[operand] = gpu.Arg{Buffer: x, Offset: i * n * n * 4}
	}
	p.must(p.stream.Copy(x, 0, p.host, 0, 2*n*n*4))
	p.must(m.Encode(p.stream, o))
	p.must(p.stream.Copy(p.host, 0, x, 2*n*n*4, n*n*4))
	p.run()
	return slices.Clone(host[:n*n])
}

// parts is where rank 1 ends, and rank 0 waits for it.
func (p *party) parts() {
	const bytes = 1 << 20
	x := p.alloc(linkedRanks*bytes, gpu.DeviceMemory)
	y := p.alloc(linkedRanks*bytes, gpu.DeviceMemory)
	if p.rank == 1 {
		os.Exit(9)
	}
	p.must(p.link.Move(p.stream, gpu.Arg{Buffer: x}, gpu.Arg{Buffer: y}, bytes, bytes))
	e, err := p.stream.Commit()
	p.must(err)
	if err := e.Wait(context.Background(), 2*time.Second); !errors.Is(err, gpu.Timeout) {
		p.Errorf("a move without the other: got %v, want a timeout", err)
	}
	p.Logf("found by the library: %v", p.link.Err())
	began := time.Now()
	p.must(p.link.Abort())
	p.Logf("aborted in %v", time.Since(began).Round(time.Microsecond))
	err = e.Wait(context.Background(), 10*time.Second)
	p.Logf("the move ended with: %v, after %v", err, time.Since(began).Round(time.Microsecond))
	if errors.Is(err, gpu.Timeout) {
		p.Error("the move does not end")
	}
	p.link = nil
	p.product()
	p.must(p.device.Close())
}
