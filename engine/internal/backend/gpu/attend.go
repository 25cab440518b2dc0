package gpu

import (
	"errors"
	"fmt"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/kernel"
)

// An Attention is attention, or its gradient, for a library, see kernel.Attention.
type Attention = kernel.Attention

// An Attender is a Device with a library of attention: cuDNN.
type Attender interface {
	Device
	// Attention chooses how the library computes attention whose operands begin at multiples of 16 bytes. Its
	// error has the code Unsupported if the library lacks it. It takes tens of milliseconds, and a second
	// where the library compiles or is loaded.
	Attention(a Attention) (Attending, error)
}

// An Attending is attention that is ready to be computed. One goroutine at a time encodes it.
type Attending interface {
	// Name says what computes it: "cudnn 9.19.0".
	Name() string
	// Workspace is the number of bytes that it needs beside the operands.
	Workspace() int
	// Launches is how many launches the library makes for it.
	Launches() int
	// Encode encodes it into a stream of the same device, as a Multiplication is encoded.
	Encode(s Stream, o *AttentionOperands) error
	// Close lets go of it when no stream has it encoded.
	Close()
}

// AttentionOperands are where the operands begin, by their numbers in package kernel; those that the
// attention does not have are zero. The workspace is aligned to 256 bytes.
type AttentionOperands struct {
	List      [kernel.AttentionOperands]Arg
	Workspace Arg
}

// CheckAttention looks at what every driver must: that the operands lie within their buffers, and are
// aligned.
func CheckAttention(a *Attention, o *AttentionOperands, workspace int) error {
	var list []error
	for i := range o.List {
		if !a.Has(i) {
			continue
		}
		arg := &o.List[i]
		err := CheckRange(fmt.Sprintf("operand %d", i), arg.Buffer, arg.Offset, a.Bytes(i))
		if err == nil && arg.address()%usually != 0 {
			err = fmt.Errorf("got operand %d at %#x, want a multiple of %d", i, arg.address(), usually)
		}
		list = append(list, err)
	}
	if workspace > 0 {
		list = append(list, CheckRange("workspace", o.Workspace.Buffer, o.Workspace.Offset, workspace))
	}
	return errors.Join(list...)
}

// attending returns how attention is computed, or nil.
func (l *library) attending(a Attention) Attending {
	l.Lock()
	defer l.Unlock()
	by, known := l.attention[a]
	if !known {
		var err error
		if by, err = l.attender.Attention(a); err != nil {
			by = nil
		}
		l.attention[a] = by
	}
	return by
}

// attend tells package kernel whether there is such attention.
func (l *library) attend(a Attention) (workspace int, ok bool) {
	by := l.attending(a)
	if by == nil {
		return 0, false
	}
	return by.Workspace(), true
}

// An attentionCall is a step of a group that the library of attention computes.
type attentionCall struct {
	by   Attending
	call *kernel.AttentionCall
}

func (c attentionCall) launches() int  { return c.by.Launches() }
func (c attentionCall) String() string { return fmt.Sprintf("%s: %v", c.by.Name(), &c.call.Attention) }

func (c attentionCall) operands(launch *backend.Launch, t *backend.Table) *AttentionOperands {
	o := &AttentionOperands{}
	for i, f := range c.call.Operands {
		if c.call.Attention.Has(i) {
			o.List[i] = placed(f, launch, t)
		}
	}
	if c.call.WorkspaceBytes > 0 {
		o.Workspace = workspaceAt(c.call.Workspace, launch, t)
	}
	return o
}

func (c attentionCall) pin(launch *backend.Launch, t *backend.Table) (p pin) {
	o := c.operands(launch, t)
	for i, a := range append(o.List[:], o.Workspace) {
		if a.Buffer != nil {
			p[i] = a.address()
		}
	}
	return p
}

func (c attentionCall) encode(s Stream, launch *backend.Launch, t *backend.Table) error {
	return c.by.Encode(s, c.operands(launch, t))
}
