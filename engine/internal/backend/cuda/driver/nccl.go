package driver

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/ccall"
)

// A nccl is NVIDIA's library that moves bytes between GPUs of several processes. It works in the primary
// context.
type nccl struct {
	*vendor
	uniqueID, initRank                  ccall.Func
	groupStart, groupEnd, send, recv    ccall.Func
	asyncError, abort, destroy, inWords ccall.Func
	lastError                           ccall.Func
}

// multicast is the variable for NVLink's multicast, which hangs on machines where it is set up badly. It only
// helps with sums, which mcs does itself.
const multicast = "NCCL_NVLS_ENABLE"

// oldestNCCL is the first with ncclCommInitRankScalable: the other functions that make a communicator take
// the meeting's 128 bytes by value.
var oldestNCCL = version{2, 23, 4}

// openLinks opens the library.
func (d *device) openLinks() (*nccl, error) {
	if os.Getenv(multicast) == "" {
		os.Setenv(multicast, "0")
	}
	return d.links.open(d, "nccl", d.driver.NCCL, func(library *ccall.Library, by *vendor, v version) (*nccl, error) {
		l := &nccl{vendor: by}
		l.name, l.codes, l.words = "NCCL "+v.String(), linkStatuses, l.says
		by.close = func() {}
		if slices.Compare(v[:], oldestNCCL[:]) < 0 {
			return nil, fmt.Errorf("%s is NCCL %v, want %v or later", library.Name(), v, oldestNCCL)
		}
		if err := lookUp(library, map[string]*ccall.Func{"ncclGetUniqueId": &l.uniqueID, "ncclCommInitRankScalable": &l.initRank,
			"ncclGroupStart": &l.groupStart, "ncclGroupEnd": &l.groupEnd, "ncclSend": &l.send, "ncclRecv": &l.recv,
			"ncclCommGetAsyncError": &l.asyncError, "ncclCommAbort": &l.abort, "ncclCommDestroy": &l.destroy,
			"ncclGetErrorString": &l.inWords, "ncclGetLastError": &l.lastError}); err != nil {
			return nil, err
		}
		l.encodes = map[ccall.Func]encoded{l.groupStart: {"ncclGroupStart", isSetting}, l.send: {"ncclSend", isSetting},
			l.recv: {"ncclRecv", isSetting}, l.groupEnd: {"ncclGroupEnd", isEnd}}
		return l, nil
	})
}

// The codes of ncclResult_t that mean something of their own.
const inProgress = 7

var linkStatuses = map[int]gpu.Code{4: gpu.Misuse, 5: gpu.Misuse}

// says is what the library says of a code.
func (l *nccl) says(code int) string {
	text := ccall.String(l.inWords.Call(uintptr(code)))
	if more := ccall.String(l.lastError.Call(0)); more != "" {
		text += ", " + more
	}
	return text
}

// meetingBytes is the size of ncclUniqueId.
const meetingBytes = 128

// Links is the library and its version.
func (d *device) Links() (string, error) {
	l, err := d.openLinks()
	if err != nil {
		text := err.Error()
		if e := (*gpu.Error)(nil); errors.As(err, &e) {
			text = strings.ReplaceAll(e.Text, "\n", "; ")
		}
		return "", fmt.Errorf("no NCCL (%s): pip install nvidia-nccl-cu12, or -cu13, brings it", text)
	}
	return l.name, nil
}

// Meet asks the library, which opens a port where the others meet.
func (d *device) Meet() ([]byte, error) {
	l, err := d.openLinks()
	if err != nil {
		return nil, err
	}
	id := make([]byte, meetingBytes)
	return id, l.do("ncclGetUniqueId", l.uniqueID, uintptr(unsafe.Pointer(&id[0])))
}

// A link is a communicator.
type link struct {
	library    *nccl
	comm       uintptr
	rank, size int
}

// Link makes a communicator.
func (d *device) Link(meeting []byte, rank, size int) (gpu.Link, error) {
	l, err := d.openLinks()
	if err != nil {
		return nil, err
	}
	if len(meeting) != meetingBytes {
		return nil, d.misused(cuInit, "got a meeting of %d bytes, want %d", len(meeting), meetingBytes)
	}
	comm, id := new(uintptr), slices.Clone(meeting)
	const meetings, noConfig = 1, 0
	if err := l.do("ncclCommInitRankScalable", l.initRank, uintptr(unsafe.Pointer(comm)), uintptr(size), uintptr(rank), meetings,
		uintptr(unsafe.Pointer(&id[0])), noConfig); err != nil {
		return nil, err
	}
	return &link{l, *comm, rank, size}, nil
}

// Move encodes a group of calls, which the library makes one piece of work of.
func (l *link) Move(to gpu.Stream, dst, src gpu.Arg, bytes, apart int) error {
	d := l.library.device
	s, ok := to.(*stream)
	if !ok || s.device != d || l.comm == 0 {
		return d.misused(cuLaunchKernel, "got a stream of another device, or a link that was closed")
	}
	err := cmp.Or(gpu.CheckRange("destination", dst.Buffer, dst.Offset, bytes*l.size),
		gpu.CheckRange("source", src.Buffer, src.Offset, apart*(l.size-1)+bytes), d.OwnsArgs(dst, src))
	if err != nil {
		return d.misused(cuMemcpyAsync, "%v", err)
	}
	call := s.target().call
	const asBytes = 0 // ncclInt8
	call(l.library.groupStart)
	for r := range l.size {
		call(l.library.send, addressOf(src)+uintptr(r*apart), uintptr(bytes), asBytes, uintptr(r), l.comm, s.handle)
		call(l.library.recv, addressOf(dst)+uintptr(r*bytes), uintptr(bytes), asBytes, uintptr(r), l.comm, s.handle)
	}
	call(l.library.groupEnd)
	return nil
}

// Err asks for what the library's own threads have found.
func (l *link) Err() error {
	code := new(int32)
	if err := l.library.do("ncclCommGetAsyncError", l.library.asyncError, l.comm, uintptr(unsafe.Pointer(code))); err != nil {
		return err
	}
	if *code != success && *code != inProgress {
		return l.library.failed("ncclCommGetAsyncError", int(*code))
	}
	return nil
}

// Abort ends the kernels that wait.
func (l *link) Abort() error { return l.end("ncclCommAbort", l.library.abort) }

// Close ends the communicator.
func (l *link) Close() error { return l.end("ncclCommDestroy", l.library.destroy) }

func (l *link) end(name string, f ccall.Func) error {
	comm := l.comm
	l.comm = 0
	if comm == 0 || l.library.device.Closed() {
		return nil
	}
	return l.library.do(name, f, comm)
}
