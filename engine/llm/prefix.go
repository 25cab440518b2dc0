package llm

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A Prefix is the beginning of prompts, which its model has read: with it as Sampling.Prefix, prompts that
// begin so are read from its end on. It stays as it is, however many go on from it, also at the same time.
type Prefix struct {
	m     *Model
	mem   *memory // in which nobody goes on: a copy of it shares the memory until it is written
	text  *text
	probe tensor.Tensor // what the model said then
}

// Prefix reads the beginning of prompts. Of the Sampling it takes the type of the cache.
func (m *Model) Prefix(ctx context.Context, prompt string, o Sampling) (*Prefix, error) {
	ids, err := m.Encode(prompt)
	if err != nil {
		return nil, err
	}
	return m.PrefixTokens(ctx, ids, o)
}

// PrefixTokens is Prefix of tokens.
func (m *Model) PrefixTokens(ctx context.Context, prompt []int, o Sampling) (*Prefix, error) {
	if err := cmp.Or(m.refuses(prompt, o), m.refusesPrefix()); err != nil {
		return nil, err
	}
	p := &Prefix{m: m, mem: m.memory(m.kept(o), room{texts: 1, asked: len(prompt)})}
	p.text = p.mem.text(prompt)
	err := p.mem.read(ctx, p.text)
	if err == nil {
		err = p.mem.within(ctx, func() { p.probe = m.probe() })
	}
	if err != nil {
		p.mem.free()
		return nil, err
	}
	return p, nil
}

// Tokens returns the tokens that were read.
func (p *Prefix) Tokens() []int { return slices.Clone(p.text.ids) }

// Free gives the memory back at once. The Prefix cannot be used any more.
func (p *Prefix) Free() {
	p.mem.free()
	p.m = nil
}

// String says what was read.
func (p *Prefix) String() string {
	return fmt.Sprintf("prefix: %d tokens, kept in %v", len(p.text.ids), p.mem.kept)
}

// probed is how many scores tell models apart.
const probed = 256

// probe is what the model says of a few tokens, f32 [at most probed]. Models that say the same read the same,
// whatever adapters they have.
func (m *Model) probe() tensor.Tensor {
	v := m.Config.Vocab
	scores := m.Logits(tensor.From([]int{0, v / 3, v / 2, v - 1}, 1, 4)).Slice(1, 3, 4).Flatten().Cast(dtype.F32)
	step := max(1, v/probed)
	return scores.SliceStep(0, 0, v, step).Slice(0, 0, min(v, probed)).Eval()
}

// asBefore says whether the model still says what it said when the prefix was read. The limit leaves room for
// another machine's rounding.
func (m *Model) asBefore(probe tensor.Tensor) bool {
	now, then := m.probe().Floats(), probe.Floats()
	limit := 1e-3
	if dt := m.vectors(tensor.From([]int{0}, 1, 1), tensor.From([]int{0})).DType(); dt == dtype.BF16 || dt == dtype.F16 {
		limit = 3e-2
	}
	var most, apart float64
	for i, x := range now {
		most, apart = max(most, math.Abs(float64(x))), max(apart, math.Abs(float64(x-then[i])))
	}
	return apart <= limit*most
}

// begin returns a memory for texts, with what the prefix has read.
func (m *Model) begin(ctx context.Context, o Sampling, r room) (mem *memory, err error) {
	p := o.Prefix
	if p == nil {
		return m.memory(m.kept(o), r), nil
	}
	same := p.m == m
	if same {
		if err := p.mem.within(ctx, func() { same = m.asBefore(p.probe) }); err != nil {
			return nil, err
		}
	}
	switch {
	case !same:
		return nil, fmt.Errorf("generate: the prefix was read by another model, or by this one with other weights; want it read again")
	case o.Cache != dtype.Invalid && o.Cache != p.mem.kept:
		return nil, fmt.Errorf("generate: the prefix is kept in %v, want %v", p.mem.kept, o.Cache)
	}
	if err = p.mem.within(ctx, func() { mem = p.mem.goOn(p.text, r) }); err != nil {
		if mem != nil {
			mem.free()
		}
		return nil, err
	}
	return mem, nil
}

// recut is how many tokens at the end of a prefix may be others in a prompt, whose text goes on there.
const recut = 16

// from adds a prompt to the memory that goes on from a prefix, if there is one.
func (s *memory) from(p *Prefix, prompt []int) (*text, error) {
	t := s.text(prompt)
	if p == nil {
		return t, nil
	}
	n := common(p.text.ids, prompt)
	if n < max(1, len(p.text.ids)-recut) {
		return nil, fmt.Errorf("generate: token %d of the prompt is not that of the prefix, whose %d tokens a prompt begins with", n, len(p.text.ids))
	}
	n = min(n, s.begun.known, len(prompt)-1)
	if s.room.texts > 1 {
		n -= n % pageTokens // further tokens go to pages of its own
	}
	for k, pool := range s.pools {
		if !pool.sees(&s.begun.held[k], n) {
			return t, nil // a window has passed what the prompt looks at
		}
	}
	t.known, t.turned = n, s.begun.turned
	for k, pool := range s.pools {
		if s.room.texts == 1 {
			t.held[k] = s.begun.held[k].clone()
		} else {
			t.held[k] = pool.share(s.begun.held[k], n)
		}
	}
	return t, nil
}

// common is how many tokens two texts begin with.
func common(a, b []int) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

const prefixFormat = "mcs prefix 1"

// Save writes the prefix to a file of safetensors, for [Model.LoadPrefix].
func (p *Prefix) Save(path string) error {
	if p.m == nil {
		return fmt.Errorf("llm: save %s: the prefix was freed", path)
	}
	tensors := map[string]tensor.Tensor{"tokens": tensor.From(p.text.ids), "probe": p.probe}
	for k, pool := range p.mem.pools {
		slots := p.text.held[k].slots(p.text.known)
		if len(slots) == 0 {
			continue
		}
		at := tensor.From(slots)
		for _, i := range pool.layers {
			for name, t := range prefixTensors(i, p.mem.caches[i]) {
				tensors[name] = t.Take(at, 1)
			}
		}
	}
	if err := safetensors.Save(path, tensors, map[string]string{"format": prefixFormat}); err != nil {
		return fmt.Errorf("llm: %w", err)
	}
	return nil
}

// prefixTensors names the parts of a layer's cache.
func prefixTensors(layer int, c *nn.Cache) map[string]tensor.Tensor {
	list := map[string]tensor.Tensor{}
	for name, rows := range map[string]nn.Rows{"keys": c.Keys, "values": c.Values} {
		if rows.Stored.IsNone() {
			continue
		}
		name = fmt.Sprintf("layers.%d.%s", layer, name)
		list[name] = rows.Stored
		if !rows.Scale.IsNone() {
			list[name+".scale"] = rows.Scale
		}
	}
	return list
}

// LoadPrefix reads what [Prefix.Save] wrote. A file of another model is an error: one that says something
// else.
func (m *Model) LoadPrefix(ctx context.Context, path string) (*Prefix, error) {
	if err := m.refusesPrefix(); err != nil {
		return nil, err
	}
	tensors, metadata, err := safetensors.Load(path)
	if err != nil {
		return nil, fmt.Errorf("llm: %w", err)
	}
	f := &prefixFile{tensors: tensors, m: m}
	if metadata["format"] != prefixFormat {
		f.fail("got the format %q, want %q", metadata["format"], prefixFormat)
	}
	p := &Prefix{m: m}
	same := true
	err = m.memory(dtype.F32, room{}).within(ctx, func() {
		f.read(p)
		if f.err == nil {
			same = m.asBefore(p.probe)
		}
	})
	if f.err == nil && err == nil && !same {
		f.fail("another model has read it: this one says something else")
	}
	if err == nil {
		err = f.err
	}
	if err != nil {
		if p.mem != nil {
			p.mem.free()
		}
		return nil, fmt.Errorf("llm: %s: %w", path, err)
	}
	return p, nil
}

// A prefixFile reads the tensors of a file. What is wrong first is its error.
type prefixFile struct {
	tensors map[string]tensor.Tensor
	m       *Model
	err     error
}

func (f *prefixFile) fail(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf(format, args...)
	}
}

// take returns a tensor of a shape, in which −1 is any length, and of one of some types.
func (f *prefixFile) take(name string, shape []int, types ...dtype.Type) (t tensor.Tensor, ok bool) {
	t, ok = f.tensors[name]
	if !ok {
		f.fail("no tensor %q", name)
		return t, false
	}
	delete(f.tensors, name)
	got := t.Shape()
	fits := len(got) == len(shape) && slices.Contains(types, t.DType())
	for i := range got {
		fits = fits && (shape[i] < 0 || got[i] == shape[i])
	}
	if !fits {
		f.fail("tensor %q: got %v%v, want %v%v (−1: any length)", name, t.DType(), got, types, shape)
	}
	return t.To(nn.Device(f.m)), fits
}

func (f *prefixFile) read(p *Prefix) {
	ids, ok := f.take("tokens", []int{-1}, dtype.I64)
	probe, known := f.take("probe", []int{min(f.m.Config.Vocab, probed)}, dtype.F32)
	if !ok || !known || f.err != nil {
		return
	}
	p.probe = probe
	tokens := ids.Ints()
	if err := f.m.refuses(tokens, Sampling{}); err != nil {
		f.fail("tokens: %v", err)
		return
	}
	first, kept := f.tensors["layers.0.keys"], dtype.F32
	if len(tokens) > 1 && !first.IsNone() {
		kept = first.DType()
	}
	if !slices.Contains([]dtype.Type{dtype.F32, dtype.BF16, dtype.F16, dtype.I8}, kept) {
		f.fail("tensor %q: got %v, want f32, bf16, f16 or i8", "layers.0.keys", kept)
		return
	}
	p.mem = f.m.memory(kept, room{texts: 1, asked: len(tokens)})
	p.text = p.mem.text(tokens)
	p.text.known, p.text.turned = len(tokens)-1, len(tokens)
	p.mem.furnish()
	for k := range p.mem.pools {
		if p.text.known > 0 {
			f.pool(p, k)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.tensors)) {
		f.fail("tensor %q has no place", name)
	}
}

// pool reads the caches of the layers of a pool. The tokens that a window has passed are not there.
func (f *prefixFile) pool(p *Prefix, k int) {
	pool, h := p.mem.pools[k], &p.text.held[k]
	heads, key, value := f.m.Config.cached(pool.layers[0])
	for n, i := range pool.layers {
		name := fmt.Sprintf("layers.%d.keys", i)
		length := -1
		if n > 0 {
			length = p.text.known - h.first
		}
		keys, ok := f.take(name, []int{heads, length, key}, p.mem.kept)
		if !ok || f.err != nil {
			return
		}
		if n == 0 {
			length = keys.Len(1)
			h.first = p.text.known - length
			if length < 1 || h.first < 0 || h.first%pageTokens != 0 || !pool.sees(h, p.text.known) || h.missing(p.text.known) > pool.pages {
				f.fail("tensor %q: got %d tokens of %d, want those that the next one sees", name, length, p.text.known)
				return
			}
			pool.extend(h, p.text.known)
		}
		read := &nn.Cache{Keys: f.rows(p, keys, name, length)}
		if value > 0 {
			name = fmt.Sprintf("layers.%d.values", i)
			values, ok := f.take(name, []int{heads, length, value}, p.mem.kept)
			if ok {
				read.Values = f.rows(p, values, name, length)
			}
		}
		if f.err != nil {
			return
		}
		p.mem.caches[i].Copy(h.slots(p.text.known), read, ir.Indices(length))
	}
}

// rows is stored vectors with their scales.
func (f *prefixFile) rows(p *Prefix, stored tensor.Tensor, name string, length int) nn.Rows {
	r := nn.Rows{Stored: stored}
	if p.mem.kept == dtype.I8 {
		r.Scale, _ = f.take(name+".scale", []int{stored.Len(0), length, 1}, dtype.F32)
	}
	return r
}
