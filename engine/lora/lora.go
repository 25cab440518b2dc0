// Package lora adapts a model with few parameters: beside a frozen weight W [in out] it trains A [in rank]
// and B [rank out], and the layer computes x·W + scale·(x·A)·B (Hu et al.: LoRA, 2021).
//
// [Inject] puts an adapter into a model and freezes everything else; training then changes the adapter only.
// [Adapter.Merge] adds it to the weights, [Adapter.Unmerge] puts back exactly what was there. [Of] finds
// the adapters of a model, [Remove] takes them out. Files are those of PEFT and of mlx-lm.
//
// Config says what is adapted: layers by their names, by blocks, each with a rank of its own if that is
// wanted; and how: DoRA, rank-stabilised, with A and B that begin with a piece of the weight (PiSSA, OLoRA).
// Norms, embeddings, biases and vectors of single tokens can be trained beside the adapters, or all weights.
// [Adapter.Plus] is LoRA+. Weights may be in codes of package quant (QLoRA).
//
// A model can have several adapters, which Config.Name tells apart: x·W + Σ scale·(x·A)·B over those that are
// on. [Use] chooses these, [Adapter.Enable], [Adapter.Disable] and [Adapter.Weigh] change one. A context can
// choose others: [With] for all that is computed within it, [Rows] for each row of a batch.
// [Combine] makes one adapter of several.
//
// Adapters may be put in, exchanged, weighed, merged and removed while another goroutine computes with a
// model that is an [nn.StepLocker], as those of package llm are: the next step, so the next token of a text
// that is being generated, sees all of the change. Texts keep what is in their caches. An adapter whose ranks
// and layers are those of the one before it needs no new plan.
//
// Reading order: lora.go, targets.go (which layers), start.go (the first A and B), svd.go, linear.go (what a
// layer computes), dora.go, embedding.go, grouped.go, tokens.go, side.go, choice.go, adapter.go, whole.go,
// merge.go, plus.go, list.go, combine.go, file.go, peft.go, mlx.go.
package lora

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// AllLinear as Config.Targets means every linear layer but the output layer lm_head: those of all experts and
// the routers, too. It leaves out what PEFT refuses to adapt: out_proj of Mamba 2, Falcon-H1 and Nemotron-H.
const AllLinear = nn.AllLinear

// head is the name of the output matrix in models that have one of their own.
const head = "lm_head"

// DefaultName is what an adapter is called that was given no name.
const DefaultName = "default"

// A Config says what is adapted, and how strongly.
type Config struct {
	Rank  int     // of A and B; 0 means 8
	Alpha float64 // scale = Alpha/Rank; 0 means 2·Rank
	// Targets chooses layers, as nn.Targets says; empty means AllLinear. Each target must choose one: linear
	// ones, and embeddings by their name.
	Targets string
	// Exclude chooses layers that have no adapter, though Targets chooses them.
	Exclude string
	// Blocks are the indices of the blocks whose layers are chosen, the 3 of model.layers.3.mlp.up_proj;
	// none means all. LastBlocks chooses only so many last blocks; 0 means all. BlockList is the name before
	// the index, "layers" here; empty means any.
	Blocks     []int
	LastBlocks int
	BlockList  string
	// Patterns give some of the layers another rank or alpha; the first that chooses a layer counts.
	Patterns []Pattern
	// RankStabilized makes scale = Alpha/√Rank (Kalajdzievski 2023).
	RankStabilized bool
	// DoRA trains the lengths of the weight's columns apart from their directions (Liu et al. 2024).
	DoRA bool
	// LoRABias trains a bias of B, too: the layer computes x·W + scale·((x·A)·B + bias). Embeddings and DoRA
	// have none. Where the layer has no bias the adapter cannot be merged.
	LoRABias bool
	// OnlyInput adapts an embedding where it turns tokens into vectors, not where it is the output matrix,
	// too. Such an adapter cannot be merged.
	OnlyInput bool
	// Init is how A and B begin: Uniform, which is empty, Gaussian, Random, Orthogonal, PiSSA or OLoRA.
	Init string
	// Dropout is the probability with which the adapter does not see an element of x, in training only; it
	// sees the others divided by 1 − Dropout. Which elements these are follows from [tensor.Seed].
	Dropout float64
	// Tokens are those whose vectors are trained apart, in the model's embedding.
	Tokens []int
	// Train names modules whose weights are trained whole beside what is adapted, as nn.Targets reads them:
	// "norm", "embed_tokens lm_head". Bias is which biases are: NoBias, which empty means, AllBiases or
	// AdaptedBiases. Full trains all weights whole, of the blocks that are chosen, and adapts none.
	Train string
	Bias  string
	Full  bool
	// Name tells the adapters of a model apart; empty means DefaultName. It has no dots and no spaces.
	Name string
	Seed uint64 // of A's random values
}

func (c Config) withDefaults() Config {
	c.Name = cmp.Or(c.Name, DefaultName)
	c.Rank = cmp.Or(c.Rank, 8)
	c.Alpha = cmp.Or(c.Alpha, 2*float64(c.Rank))
	c.Targets = cmp.Or(c.Targets, AllLinear)
	return c
}

// IsZero says whether nothing is set.
func (c Config) IsZero() bool { return reflect.ValueOf(c).IsZero() }

// Scale is the factor of (x·A)·B.
func (c Config) Scale() float64 {
	c = c.withDefaults()
	if c.RankStabilized {
		return c.Alpha / math.Sqrt(float64(c.Rank))
	}
	return c.Alpha / float64(c.Rank)
}

// check says what is wrong with the numbers of a configuration.
func (c Config) check() error {
	switch {
	case strings.ContainsAny(c.Name, ". \t\n"):
		return fmt.Errorf("got name %q, want one without dots and spaces", c.Name)
	case c.Rank < 1:
		return fmt.Errorf("got rank %d, want at least 1", c.Rank)
	case !(c.Alpha > 0) || math.IsInf(c.Alpha, 0):
		return fmt.Errorf("got alpha %v, want a positive number", c.Alpha)
	case !(c.Dropout >= 0 && c.Dropout <= 1):
		return fmt.Errorf("got dropout %v, want a probability from 0 to 1", c.Dropout)
	case c.LoRABias && c.DoRA:
		return fmt.Errorf("got LoRABias and DoRA, want one of them")
	case !slices.Contains([]string{"", NoBias, AllBiases, AdaptedBiases}, c.Bias):
		return fmt.Errorf("got Bias %q, want %q, %q or %q", c.Bias, NoBias, AllBiases, AdaptedBiases)
	}
	return c.checkInit()
}

// Inject freezes the model and puts an adapter beside each layer that c.Targets chooses. Where other
// adapters stand beside these layers the new one takes their turn: they are off until they are enabled. It is
// an error if no layer is chosen, if one has an adapter of that name already, or if the numbers of c make no
// adapter; the model then stays as it was.
func Inject(m nn.Module, c Config) (*Adapter, error) {
	return injectChosen(m, c, func(*Adapter) {})
}

// injectChosen is Inject of an adapter whose numbers fill sets before the model has it.
func injectChosen(m nn.Module, c Config, fill func(*Adapter)) (*Adapter, error) {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("lora: %w", err)
	}
	layers, err := c.choose(m)
	if err != nil {
		return nil, fmt.Errorf("lora: %w", err)
	}
	wholes, err := c.wholes(m, layers)
	if err != nil {
		return nil, fmt.Errorf("lora: %w", err)
	}
	return inject(m, c, layers, wholes, fill)
}

// inject puts an adapter of some layers into a model. Fill is called before the model has it.
func inject(m nn.Module, c Config, layers []targeted, wholes []*whole, fill func(*Adapter)) (*Adapter, error) {
	slots := linears(m)
	ad := &Adapter{Config: c, factor: 1, off: true, wholes: wholes, blocks: Config{}.count(slots), model: m, routers: routers(slots)}
	ofLayers := len(layers)
	if len(c.Tokens) > 0 {
		s, err := c.tokenSlot(m)
		if err != nil {
			return nil, fmt.Errorf("lora: %w", err)
		}
		layers = append(slices.Clone(layers), targeted{slot: s, config: c})
	}
	for _, s := range layers {
		if has(s.Layer(), c.Name) {
			return nil, adaptedAlready(s.name, c.Name)
		}
	}
	for _, other := range Of(m) {
		if other.Name() == c.Name && (len(layers) == 0 || len(other.parts) == 0) {
			return nil, adaptedAlready("the model", c.Name)
		}
	}
	err := tensor.Try(func() { // there may be no memory
		rng := tensor.NewRNG(c.Seed)
		for i, s := range layers {
			l, _ := adapt(s.Layer())
			if i < ofLayers {
				ad.add(s, newPart(l, s.config, rng))
				l.makeRoom()
			} else {
				ad.add(s, tokenPart(l, c.Tokens))
			}
		}
		fill(ad)
	})
	if err != nil {
		return nil, fmt.Errorf("lora: %w", err)
	}
	nn.Change(m, func() { ad.enter(m, layers) })
	if l, ok := m.(nn.StepLocker); ok {
		ad.lock = l.StepLock()
	}
	return ad, nil
}

// add makes a part one of the adapter's.
func (a *Adapter) add(s targeted, p *Part) {
	p.adapter, p.embeds = a, s.embeds()
	p.tied = p.embeds && !hasHead(a.model)
	p.apart = p.tied && a.Config.OnlyInput && p.tokens == nil
	for _, f := range p.factors() {
		f.Weight.Named(s.name + "." + f.Name)
	}
	a.names, a.parts = append(a.names, s.name), append(a.parts, p)
}

// enter gives the model's layers the adapter's parts, in the turn of the adapters that they have.
func (a *Adapter) enter(m nn.Module, layers []targeted) {
	nn.Freeze(m)
	for other, _ := a.rival(Of(m)); other != nil; other, _ = a.rival(Of(m)) {
		other.turn(false)
	}
	for i, s := range layers {
		l := s.adapt()
		for _, p := range l.Parts {
			if p.adapter != nil {
				p.adapter.turn(false)
			}
		}
		l.Parts = append(slices.Clone(l.Parts), a.parts[i])
		a.layers = append(a.layers, l)
	}
	if s, ok := keeper(m); ok && len(layers) == 0 {
		l := s.adapt()
		l.wholes = append(slices.Clone(l.wholes), a)
	}
	for _, w := range a.wholes {
		if w.other.IsNone() {
			w.other = w.param.Value().Snapshot()
		}
		w.param.Unfreeze()
	}
	a.turn(true)
}

// keeper returns the layer of a model in which adapters are found that have no parts: one that has some
// already, or else the first one that neither makes vectors of tokens nor is the output matrix, if there is
// one.
func keeper(m nn.Module) (found slot, ok bool) {
	for _, s := range linears(m) {
		if l := adapted(s.Layer()); l != nil && len(l.wholes) > 0 {
			return s, true
		}
		if better := !s.embeds() && s.name != head; !ok || better && (found.embeds() || found.name == head) {
			found, ok = s, true
		}
	}
	return found, ok
}

// has says whether a layer has an adapter of that name.
func has(layer nn.Layer, name string) bool {
	l := adapted(layer)
	return l != nil && slices.ContainsFunc(l.Parts, func(p *Part) bool { return p.name() == name })
}

// adaptedAlready is the error of a layer that cannot have a second adapter of a name.
func adaptedAlready(layer, name string) error {
	return fmt.Errorf("lora: %s has an adapter already that is named %q: another one wants another Config.Name; lora.Of(model) returns it, and lora.Remove(model) takes it out", layer, name)
}

// Use turns the adapters of these names on, and all others of the model off; without names it turns all off.
// It is an error if the model has no adapter of a name; then nothing changes.
func Use(m nn.Module, names ...string) error {
	list := Of(m)
	for _, name := range names {
		if _, err := list.Named(name); err != nil {
			return err
		}
	}
	chosen := slices.DeleteFunc(slices.Clone(list), func(a *Adapter) bool { return !slices.Contains(names, a.Name()) })
	for _, a := range chosen {
		if err := a.elsewhere(); err != nil {
			return fmt.Errorf("lora: %w", err)
		}
		if other, weight := a.sharing(chosen); other != nil {
			return fmt.Errorf("lora: %q and %q both train %s whole: only one of them can be on", a.Name(), other.Name(), weight)
		}
	}
	nn.Change(m, func() {
		for _, on := range []bool{false, true} { // weights that are trained whole are put back first
			for _, a := range list {
				if slices.Contains(chosen, a) == on {
					a.turn(on)
				}
			}
		}
	})
	return nil
}

// unknown is the error of a name that none of the adapters has.
func unknown(list Adapters, name string) error {
	if len(list) == 0 {
		return fmt.Errorf("lora: got adapter %q, but the model has none", name)
	}
	var names []string
	for _, a := range list {
		names = append(names, strconv.Quote(a.Name()))
	}
	return fmt.Errorf("lora: got adapter %q, want one of %s", name, strings.Join(names, ", "))
}

// Remove takes all adapters out of a model; the base's layers stay as they are now, merged or not, and stay
// frozen. It is an error if there is none.
func Remove(m nn.Module) error {
	if remove(m, func(*Adapter) bool { return true }) == 0 {
		return errors.New("lora: the model has no adapter")
	}
	return nil
}

// remove takes the adapters that out chooses, where nil is one of Wrap, out of the model, and returns of how
// many parts and adapters without parts. A layer without such is its base again.
func remove(m nn.Module, out func(a *Adapter) bool) (count int) {
	nn.Change(m, func() {
		for _, s := range linears(m) {
			l := adapted(s.Layer())
			if l == nil {
				continue
			}
			for _, p := range l.Parts {
				if out(p.adapter) {
					l.remove(p)
					count++
				}
			}
			for _, a := range l.wholes {
				if out(a) {
					a.release()
					count++
				}
			}
			l.wholes = slices.DeleteFunc(slices.Clone(l.wholes), out)
			if len(l.Parts) == 0 && len(l.wholes) == 0 {
				s.Exchange(l.Base)
			}
		}
	})
	return count
}

// A slot is a place of a model that holds a layer which can have an adapter, or has one.
type slot struct {
	nn.Member
	name  string
	apart bool // AllLinear leaves it out: PEFT adapts it in no model of this family
}

// adapt puts a layer there that can have adapters, unless there is one, and returns what it is made of.
func (s slot) adapt() *Linear {
	l, layer := adapt(s.Layer())
	s.Exchange(layer)
	return l
}

// hasHead says whether a model has a matrix of outputs of its own; otherwise its embedding is that, too.
func hasHead(m nn.Module) bool {
	return slices.ContainsFunc(linears(m), func(s slot) bool { return s.name == head })
}

// embeds says whether the layer turns tokens into vectors.
func (s slot) embeds() bool {
	switch s.Layer().(type) {
	case *nn.Embedding, *Embedding:
		return true
	}
	return false
}

// unadapted is what a model of a family knows of other programs: the layers that PEFT refuses to adapt, and
// why mlx-lm computes something else.
func unadapted(m nn.Module) (layers []string, mlx string) {
	if f, ok := m.(interface {
		Unadapted() (layers []string, mlx string)
	}); ok {
		return f.Unadapted()
	}
	return nil, ""
}

// linears lists the layers of a model that multiply by a matrix and can be exchanged, embeddings among them.
// What an adapted layer is made of is not listed.
func linears(m nn.Module) []slot {
	var list []slot
	without, _ := unadapted(m)
	nn.Walk(m, func(path string, member nn.Member) {
		if member.Slot == nil {
			if f := fieldOf(member); f != nil && !slices.ContainsFunc(list, func(s slot) bool { return s.Field == f }) {
				list = append(list, slot{member, path, false})
			}
			return
		}
		switch (*member.Slot).(type) {
		case *nn.Linear, *quant.Linear, *nn.Embedding, *Linear, *Embedding:
			list = append(list, slot{member, path, slices.Contains(without, path[strings.LastIndexByte(path, '.')+1:])})
		}
	})
	return list
}

// fieldOf is the layer that a part of a model is, or in whose place it computes, if that can be adapted.
func fieldOf(member nn.Member) nn.Replaceable {
	switch member.Part.(type) {
	case *nn.Linear, *nn.Embedding, *nn.Grouped, *quant.Grouped, *Linear, *Embedding, *Grouped:
		return member.Field
	}
	return nil
}

// adapted returns what a layer with adapters is made of, or nil.
func adapted(layer nn.Layer) *Linear {
	switch l := layer.(type) {
	case *Linear:
		return l
	case *Embedding:
		return &l.Linear
	case *Grouped:
		return &l.Linear
	}
	return nil
}

// adapt returns a layer that can have adapters, a new one unless it has some, and what it is made of.
func adapt(layer nn.Layer) (*Linear, nn.Layer) {
	if l := adapted(layer); l != nil {
		return l, layer
	}
	switch layer.(type) {
	case *nn.Embedding:
		e := &Embedding{Linear{Base: layer}}
		return &e.Linear, e
	case *nn.Grouped, *quant.Grouped:
		g := &Grouped{Linear{Base: layer}}
		return &g.Linear, g
	}
	l := &Linear{Base: layer}
	return l, l
}
