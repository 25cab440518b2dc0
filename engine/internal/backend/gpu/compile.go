package gpu

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/kernel"
	"github.com/mcs-notebook/mcs/engine/internal/msl"
	"github.com/mcs-notebook/mcs/shaders"
)

// pipelines are those of a backend, by the name of the function, which has the text's hash in it: so groups
// that differ in lengths alone share one. They live as long as the backend.
type pipelines struct {
	sync.Mutex
	of map[string]*pending
}

// A pending is a pipeline that is compiled once, by the first that asks.
type pending struct {
	once     sync.Once
	library  Library
	pipeline Pipeline
	err      error
}

func (p *pipelines) close() {
	p.Lock()
	defer p.Unlock()
	for _, q := range p.of {
		if q.pipeline != nil {
			q.pipeline.Close()
		}
		if q.library != nil {
			q.library.Close()
		}
	}
}

// pipeline compiles a dispatch's text, if nobody has yet.
func (b *Backend) pipeline(d *kernel.Dispatch) (Pipeline, error) {
	b.pipelines.Lock()
	p := b.pipelines.of[d.Function]
	if p == nil {
		p = &pending{}
		b.pipelines.of[d.Function] = p
	}
	b.pipelines.Unlock()
	p.once.Do(func() {
		var text string
		if text, p.err = Translate(d.Function, d.Text, b.info.Language); p.err != nil {
			return
		}
		if p.library, p.err = b.device.Compile(context.Background(), Source{Name: d.Function, Text: text, Overlaps: true, Cache: cacheDir()}); p.err == nil {
			p.pipeline, p.err = p.library.Pipeline(d.Function)
		}
	})
	return p.pipeline, p.err
}

// Translate makes the text of a kernel.Dispatch whole, in a device's language. That of a person is whole.
func Translate(function, text string, to Language) (string, error) {
	if !strings.HasPrefix(text, kernel.Whole) {
		text = shaders.Blocks() + text
	}
	if to == Metal {
		return text, nil
	}
	s, err := msl.Parse(function+".metal", text)
	if err != nil {
		return "", err
	}
	return strings.Replace(s.CUDA(), "#include \"cuda.h\"\n", shaders.CUDA(), 1), nil
}

// cacheDir is where compiled kernels and choices of libraries are kept, or "".
func cacheDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "mcs", "kernels")
}

// A compiled is a group's kernel.
type compiled struct {
	b         *Backend
	group     *backend.Group
	kernel    *kernel.Kernel
	pipelines []Pipeline     // by dispatch; nil where the library computes it
	calls     []*libraryCall // by dispatch; nil where a pipeline does
	launches  int
	table     *buffer
	writes    []int // places in Launch.Bufs
}

// refused is the error of a text that does not compile: where a person wrote it, it is the person's mistake.
func (b *Backend) refused(g *backend.Group, err error) error {
	var e *Error
	if own := g.Insts; len(own) == 1 && own[0].Op == ir.UserKernel && errors.As(err, &e) && e.Code == BadKernel {
		return fmt.Errorf("%s: %s", b.name, own[0].Attr.Kernel.Plain(strings.TrimPrefix(e.Text, "check: ")))
	}
	return err
}

// Compile renders a group and compiles its texts.
func (b *Backend) Compile(g *backend.Group) (backend.Kernel, error) {
	k, err := kernel.Render(g, b.limits())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.name, err)
	}
	c := &compiled{b: b, group: g, kernel: k}
	for i := range k.Dispatches {
		if err := c.add(&k.Dispatches[i]); err != nil {
			return nil, b.refused(g, err)
		}
	}
	for _, o := range g.Outputs {
		c.writes = append(c.writes, o.Buf)
	}
	if len(k.Table) > 0 {
		table, err := b.Alloc(len(k.Table))
		if err != nil {
			return nil, err
		}
		c.table = table.(*buffer)
		if err := b.Upload(table, 0, k.Table); err != nil {
			b.Free(table)
			return nil, err
		}
	}
	return c, nil
}

// add finds what computes the next dispatch: a pipeline, or the library.
func (c *compiled) add(d *kernel.Dispatch) (err error) {
	var p Pipeline
	by := c.b.newCall(d)
	if by != nil {
		c.launches += by.launches()
	} else {
		p, err = c.b.pipeline(d)
		if !d.Spared {
			c.launches++
		}
	}
	c.pipelines, c.calls = append(c.pipelines, p), append(c.calls, by)
	return err
}

// Name returns the group's name.
func (c *compiled) Name() string { return c.group.Name }

// Launches returns how many launches the group is, those of the library counted, too.
func (c *compiled) Launches() int { return c.launches }

// Scratch returns the bytes of the dispatches' workspace.
func (c *compiled) Scratch() int { return c.kernel.Scratch }

// Close gives the table back. The pipelines stay: the next group may have the same text.
func (c *compiled) Close() {
	if c.table != nil {
		c.b.Free(c.table)
	}
}

// Source returns the texts that run, without the blocks that they call, and what the library computes. A text
// that runs several times stands there once.
func (c *compiled) Source() string {
	var texts []string
	stands := map[string]bool{}
	for i, d := range c.kernel.Dispatches {
		if by := c.calls[i]; by != nil {
			texts = append(texts, fmt.Sprintf("// %v\n", by))
			continue
		}
		if stands[d.Function] {
			texts = append(texts, fmt.Sprintf("// %s\n", d.Function))
			continue
		}
		stands[d.Function] = true
		texts = append(texts, d.Text)
	}
	return strings.Join(texts, "\n")
}
