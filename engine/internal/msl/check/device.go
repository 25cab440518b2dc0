package check

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"

	"github.com/mcs-notebook/mcs/engine/internal/msl"
)

// A Pointer is an address in a device's memory; 0 is none.
type Pointer uint64

// A Device is a process that has memory and runs kernels. Its methods may be called by several goroutines;
// it does one thing after the other.
type Device struct {
	tools *Toolchain
	mode  Mode

	mu      sync.Mutex
	process *exec.Cmd
	to      io.WriteCloser
	from    io.Reader
	printed *printed
	lost    error
}

// Start starts a device and loads the kernels of sources.
func (t *Toolchain) Start(ctx context.Context, m Mode, sources ...*msl.Source) (*Device, error) {
	path, err := t.runner(ctx, m)
	if err != nil {
		return nil, err
	}
	command := append(slices.Clone(t.emulator), path)
	d := &Device{tools: t, mode: m, process: exec.Command(command[0], command[1:]...), printed: &printed{}}
	d.process.Env = append(os.Environ(), t.options()...)
	d.process.Stderr = d.printed
	apart(d.process)
	if d.to, err = d.process.StdinPipe(); err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	if d.from, err = d.process.StdoutPipe(); err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	if err := d.process.Start(); err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	if err := d.Load(ctx, sources...); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// options are the sanitizers'.
func (t *Toolchain) options() []string {
	common := "halt_on_error=1:abort_on_error=0:exitcode=66"
	if t.symbolizer != "" {
		common += ":external_symbolizer_path=" + t.symbolizer
	}
	return []string{
		"ASAN_OPTIONS=" + common + ":detect_leaks=0:detect_stack_use_after_return=0",
		"UBSAN_OPTIONS=" + common + ":print_stacktrace=1",
		"TSAN_OPTIONS=" + common,
	}
}

// Load compiles the kernels of sources and makes them known to the device. A kernel may replace one of the
// same name.
func (d *Device) Load(ctx context.Context, sources ...*msl.Source) error {
	if len(sources) == 0 {
		return nil
	}
	path, err := d.tools.library(ctx, d.mode, sources)
	if err != nil {
		return err
	}
	_, err = d.ask(ctx, "load", loadRequest, text(nil, path))
	return err
}

// Alloc returns memory of exactly n bytes, aligned to 16 bytes at least. Each byte is 0xff, so floats are
// NaN.
func (d *Device) Alloc(n int) (Pointer, error) {
	b, err := d.ask(context.Background(), "allocate", allocRequest, binary.LittleEndian.AppendUint64(nil, uint64(n)))
	if err != nil {
		return 0, err
	}
	return Pointer(binary.LittleEndian.Uint64(b)), nil
}

// Free gives memory back. A kernel that uses it afterwards is a Fault.
func (d *Device) Free(a Pointer) error {
	_, err := d.ask(context.Background(), "free", freeRequest, binary.LittleEndian.AppendUint64(nil, uint64(a)))
	return err
}

// Write copies bytes into memory.
func (d *Device) Write(a Pointer, src []byte) error {
	_, err := d.ask(context.Background(), "write", writeRequest, append(binary.LittleEndian.AppendUint64(nil, uint64(a)), src...))
	return err
}

// Read copies memory into dst.
func (d *Device) Read(dst []byte, a Pointer) error {
	request := binary.LittleEndian.AppendUint64(nil, uint64(a))
	b, err := d.ask(context.Background(), "read", readRequest, binary.LittleEndian.AppendUint64(request, uint64(len(dst))))
	copy(dst, b)
	return err
}

// A Launch is a grid of threads that run a kernel.
type Launch struct {
	Kernel      string
	Groups      [3]int          // threadgroups
	Threads     [3]int          // threads of each
	Buffers     map[int]Pointer // arguments that are addresses, by index; an address may lie inside of memory
	Bytes       map[int][]byte  // arguments that are values: constant T&
	Threadgroup map[int]int     // sizes of threadgroup arguments in bytes
	Constants   map[int][]byte  // function constants, by index
	Uses        []Pointer       // memory that the kernel reaches through addresses in memory; nil: any
	Seed        uint32          // of the order in which threads take turns; 0 is that of their numbers
}

// Run runs a launch and waits for its end. An error of the kernel is a *Fault. When ctx ends first the
// process is killed, and the device is lost.
func (d *Device) Run(ctx context.Context, l Launch) error {
	b := text(nil, l.Kernel)
	for _, n := range append(l.Groups[:], l.Threads[:]...) {
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
	}
	b = binary.LittleEndian.AppendUint32(b, l.Seed)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(l.Buffers)+len(l.Bytes)+len(l.Threadgroup)+len(l.Constants)))
	head := func(kind, index int) {
		b = binary.LittleEndian.AppendUint32(b, uint32(kind))
		b = binary.LittleEndian.AppendUint32(b, uint32(index))
	}
	for i, a := range l.Buffers {
		head(isBuffer, i)
		b = binary.LittleEndian.AppendUint64(b, uint64(a))
	}
	for i, v := range l.Bytes {
		head(isConstant, i)
		b = text(b, string(v))
	}
	for i, n := range l.Threadgroup {
		head(isThreadgroup, i)
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	for i, v := range l.Constants {
		head(isFunctionConstant, i)
		b = text(b, string(v))
	}
	named := uint32(0)
	if l.Uses != nil {
		named = 1
	}
	b = binary.LittleEndian.AppendUint32(b, named)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(l.Uses)))
	for _, a := range l.Uses {
		b = binary.LittleEndian.AppendUint64(b, uint64(a))
	}
	_, err := d.ask(ctx, l.Kernel, runRequest, b)
	return err
}

// Close ends the process.
func (d *Device) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.to.Close()
	err := d.process.Wait()
	if d.lost == nil {
		d.lost = errors.New("check: the device is closed")
		return err
	}
	return nil
}

// The requests of runner.cpp, and the kinds of arguments of runtime.h.
const (
	loadRequest = 1 + iota
	allocRequest
	freeRequest
	writeRequest
	readRequest
	runRequest
)
const crashed = 2 // the status of an answer after which the process ends
const (
	isFunctionConstant = iota
	isBuffer
	isConstant
	isThreadgroup
)

// text appends a text with its length.
func text(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint64(b, uint64(len(s))), s...)
}

// ask sends a request and waits for its answer.
func (d *Device) ask(ctx context.Context, what string, number uint32, payload []byte) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lost != nil {
		return nil, d.lost
	}
	kill := context.AfterFunc(ctx, func() { d.process.Process.Kill() })
	defer kill()
	request := binary.LittleEndian.AppendUint32(nil, number)
	request = binary.LittleEndian.AppendUint64(request, uint64(len(payload)))
	_, err := d.to.Write(append(request, payload...))
	var head [12]byte
	if err == nil {
		_, err = io.ReadFull(d.from, head[:])
	}
	var answer []byte
	if err == nil {
		answer = make([]byte, binary.LittleEndian.Uint64(head[4:]))
		_, err = io.ReadFull(d.from, answer)
	}
	switch {
	case ctx.Err() != nil:
		d.lost = context.Cause(ctx)
		return nil, d.lost
	case err != nil:
		// The process has ended. What a sanitizer found is in what it printed, complete when Wait returns.
		d.process.Wait()
		d.lost = &Fault{What: what, Text: summary(d.printed.String()), Report: d.printed.String()}
		return nil, d.lost
	case binary.LittleEndian.Uint32(head[:]) != 0:
		fault := &Fault{What: what, Text: strings.TrimPrefix(string(answer), what+": "), Report: string(answer)}
		if binary.LittleEndian.Uint32(head[:]) == crashed {
			d.lost = fault
		}
		return nil, fault
	}
	return answer, nil
}

// A Fault is what a device found wrong with a kernel or a request.
type Fault struct {
	What   string // the kernel's name, or what was asked for
	Text   string // one line, with places in the kernel's text where they are known
	Report string // everything that was said
}

// Error returns the name and the line.
func (e *Fault) Error() string { return "check: " + e.What + ": " + e.Text }

// summary finds the lines of a sanitizer's report that matter: what happened, and where in the kernels'
// texts.
func summary(report string) string {
	var parts []string
	for _, line := range strings.Split(report, "\n") {
		line = strings.TrimSpace(line)
		_, found, sanitizer := strings.Cut(line, "Sanitizer: ")
		_, undefined, ub := strings.Cut(line, "runtime error: ")
		switch {
		case sanitizer && len(parts) == 0:
			parts = append(parts, strings.SplitN(strings.SplitN(found, " on address", 2)[0], " (pid=", 2)[0])
		case ub && len(parts) == 0:
			place, _, _ := strings.Cut(line, ": runtime error")
			return undefined + ", " + base(place)
		case strings.HasPrefix(line, "#0 ") || strings.HasPrefix(line, "#1 "):
			if place := line[strings.LastIndexByte(line, ' ')+1:]; strings.Contains(place, ".metal:") && len(parts) < 6 {
				parts = append(parts, base(place))
			} else if i := strings.Index(line, ".metal:"); i >= 0 && len(parts) < 6 {
				parts = append(parts, base(strings.Fields(line[strings.LastIndexByte(line[:i], ' ')+1:])[0]))
			}
		}
	}
	if len(parts) == 0 {
		return "the process ended: " + strings.TrimSpace(report)
	}
	return strings.Join(parts, ", ")
}

// base is a place without its folder.
func base(place string) string { return place[strings.LastIndexByte(place, '/')+1:] }

// printed keeps what a process prints, up to a limit.
type printed struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (p *printed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.b.Write(b[:min(len(b), max(0, 1<<20-p.b.Len()))])
	return len(b), nil
}

func (p *printed) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.b.String()
}
