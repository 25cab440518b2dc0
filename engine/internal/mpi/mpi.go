// Package mpi moves bytes between processes by an MPI library of the machine, which it opens when the process
// runs. It knows Open MPI, MPICH, what is made of that (Intel MPI, MVAPICH), and MPI's standard ABI.
//
// All calls of MPI are made by one thread. MPI adds nothing up here: bytes are its only type.
package mpi

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/ccall"
)

// A World is the processes that mpiexec has started together. Its methods are those of a ranks.Link.
type World struct {
	rank, size int
	calls      chan func()
	library    string
	closed     bool

	comm, bytes uintptr
	functions   map[string]ccall.Func
}

// started is what Open made: MPI can be started once in a process.
var started struct {
	sync.Once
	world *World
	err   error
}

// Open starts MPI in a process that mpiexec has started, of so many. Later calls return the same.
func Open(size int) (*World, error) {
	started.Do(func() { started.world, started.err = open(size) })
	return started.world, started.err
}

// names are what libraries are called, those of the launcher first: the other ones would not find the other
// processes.
func names(openMPI bool) []string {
	list := []string{"libmpi_abi.so.1", "libmpi.so.12", "libmpich.so.12", "libmpi.so.40", "libmpi.so"}
	if openMPI {
		list = []string{"libmpi.so.40", "libmpi_abi.so.1", "libmpi.so"}
	}
	if runtime.GOOS == "darwin" {
		for i, name := range list {
			before, number, _ := strings.Cut(name, ".so")
			list[i] = before + number + ".dylib"
		}
	}
	return list
}

// candidates are where the library may be: where MCS_MPI says, beside the program that started this process
// or the mpiexec of PATH, or where the system finds it.
func candidates() []string {
	if name := os.Getenv("MCS_MPI"); name != "" {
		return []string{name}
	}
	list := names(os.Getenv("OMPI_COMM_WORLD_SIZE") != "")
	var found []string
	mpiexec, _ := exec.LookPath("mpiexec")
	for _, program := range []string{fmt.Sprintf("/proc/%d/exe", os.Getppid()), mpiexec} {
		program, err := filepath.EvalSymlinks(program)
		if err != nil || program == "" {
			continue
		}
		for _, name := range list {
			path := filepath.Join(filepath.Dir(filepath.Dir(program)), "lib", name)
			if _, err := os.Stat(path); err == nil {
				found = append(found, path)
			}
		}
	}
	return append(found, list...)
}

func open(size int) (*World, error) {
	library, err := ccall.Open(candidates()...)
	if err != nil {
		return nil, fmt.Errorf("mpi: no library: install that of the mpiexec that started this, or name its file by MCS_MPI: %w", err)
	}
	// A library that aborts has said why, which a trace of all goroutines would bury.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGABRT)
	w := &World{calls: make(chan func()), library: library.Name(), functions: map[string]ccall.Func{}}
	go func() {
		runtime.LockOSThread() // MPI_Finalize is for the thread of MPI_Init
		for f := range w.calls {
			f()
		}
	}()
	if err := w.do(func() error { return w.start(library) }); err != nil {
		return nil, err
	}
	if w.size != size {
		return nil, fmt.Errorf("mpi: %s sees %d of %d processes, as if it belonged to another MPI than mpiexec: install that of the mpiexec that started this, or name its file by MCS_MPI", library.Name(), w.size, size)
	}
	return w, nil
}

// start finds out which handles the library has, and starts MPI.
func (w *World) start(library *ccall.Library) error {
	for _, name := range []string{"MPI_Init_thread", "MPI_Comm_rank", "MPI_Comm_size", "MPI_Ialltoall", "MPI_Iallgather", "MPI_Test", "MPI_Finalize", "usleep", "exit"} {
		f, err := library.Symbol(name)
		if err != nil {
			return err
		}
		w.functions[name] = f
	}
	funneled := w.handles(library)
	provided, rank, size := new(int32), new(int32), new(int32)
	if err := w.c("MPI_Init_thread", 0, 0, funneled, uintptr(unsafe.Pointer(provided))); err != nil {
		return err
	}
	err := errors.Join(w.c("MPI_Comm_rank", w.comm, uintptr(unsafe.Pointer(rank))), w.c("MPI_Comm_size", w.comm, uintptr(unsafe.Pointer(size))))
	w.rank, w.size = int(*rank), int(*size)
	return err
}

// c calls a function of C that returns 0 unless it fails. Arguments may be pointers, as those of ccall.Func.
//
//go:uintptrescapes
func (w *World) c(name string, args ...uintptr) error {
	if code := int32(w.functions[name].Call(args...)); code != 0 {
		return fmt.Errorf("%s: error %d", name, code)
	}
	return nil
}

// handles sets what stands for all processes and for bytes in one of the three ABIs, and returns the constant
// MPI_THREAD_FUNNELED. The numbers are those of mpi_abi.h (MPI 5.0) and of MPICH's mpi.h.
func (w *World) handles(library *ccall.Library) (funneled uintptr) {
	if world, err := library.Data("ompi_mpi_comm_world"); err == nil {
		if bytes, err := library.Data("ompi_mpi_byte"); err == nil {
			w.comm, w.bytes = world, bytes
			return 1
		}
	}
	if version, err := library.Symbol("MPI_Abi_get_version"); err == nil {
		major, minor := new(int32), new(int32)
		if version.Call(uintptr(unsafe.Pointer(major)), uintptr(unsafe.Pointer(minor))); *major >= 1 {
			w.comm, w.bytes = 0x101, 0x247
			return 1024
		}
	}
	w.comm, w.bytes = 0x44000000, 0x4c00010d
	return 1
}

// do calls f in the thread of MPI.
func (w *World) do(f func() error) (err error) {
	done := make(chan struct{})
	w.calls <- func() { defer close(done); err = f() }
	if <-done; err != nil {
		err = fmt.Errorf("mpi: %s: %w", w.library, err)
	}
	return err
}

// Rank is the number of this process.
func (w *World) Rank() int { return w.rank }

// Size is the number of processes.
func (w *World) Size() int { return w.size }

// String is the file of the library.
func (w *World) String() string { return w.library }

// Most is how many bytes a call may have in all: MPI counts in ints.
const Most = 1 << 30

// Exchange sends part r of src to process r, and receives part r of dst from there.
func (w *World) Exchange(dst, src []byte) error {
	return w.call("MPI_Ialltoall", dst, src, len(src)/w.size)
}

// Gather puts the src of process r into part r of dst.
func (w *World) Gather(dst, src []byte) error {
	return w.call("MPI_Iallgather", dst, src, len(src))
}

// A request is what MPI has begun. It has room for the handles and statuses of all ABIs.
type request struct {
	handle uint64
	done   int32
	status [8]uint64
}

// call begins a call of MPI and waits for its end.
func (w *World) call(name string, dst, src []byte, n int) error {
	return w.do(func() error {
		defer runtime.KeepAlive([][]byte{dst, src})
		r := new(request)
		err := w.c(name, uintptr(unsafe.Pointer(&src[0])), uintptr(n), w.bytes, uintptr(unsafe.Pointer(&dst[0])), uintptr(n), w.bytes, w.comm, uintptr(unsafe.Pointer(&r.handle)))
		if err != nil {
			return err
		}
		return w.await(r)
	})
}

// await asks whether a request is done until it is. A call of MPI that blocks asks without a pause, and takes
// the processor from the process that it waits for.
func (w *World) await(r *request) error {
	const (
		asking  = 30 * time.Microsecond // between two pauses: on an idle machine small messages take less
		moving  = 5 * time.Microsecond  // takes a test that has moved bytes, with more to come
		longest = time.Millisecond
	)
	began := time.Now()
	for pause := began.Add(asking); ; {
		asked := time.Now()
		err := w.c("MPI_Test", uintptr(unsafe.Pointer(&r.handle)), uintptr(unsafe.Pointer(&r.done)), uintptr(unsafe.Pointer(&r.status)))
		if err != nil || r.done != 0 {
			return err
		}
		switch now := time.Now(); {
		case now.Sub(asked) > moving:
			began, pause = now, now.Add(asking)
		case now.After(pause):
			_ = w.c("usleep", uintptr(min(now.Sub(began)/8, longest).Microseconds()))
			pause = time.Now().Add(asking)
		}
	}
}

// Fail does nothing: this process will end without MPI_Finalize, and mpiexec then ends the others. MPI_Abort
// would end this one before it has said why.
func (w *World) Fail(string) {}

// Close ends MPI; all processes call it, and then end by Exit. They wait for each other before MPI_Finalize,
// which would do so without a pause.
func (w *World) Close() error {
	err := w.Gather(make([]byte, w.size), make([]byte, 1))
	if err == nil {
		err = w.do(func() error { return w.c("MPI_Finalize") })
	}
	w.closed = err == nil
	return err
}

// Exit ends the process: after Close as a C program ends, with what libraries do at their exit. MPICH tells
// mpiexec there, and not in MPI_Finalize, that the process is done; otherwise mpiexec kills the other ones.
// A process that has not come to Close ends without, so that mpiexec notices.
func Exit(code int) {
	if w := started.world; w != nil && w.closed {
		_ = w.do(func() error { return w.c("exit", uintptr(code)) })
	}
	os.Exit(code)
}
