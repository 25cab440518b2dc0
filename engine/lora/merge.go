package lora

import (
	"fmt"
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/units"
)

// mostLost is the share of what an adapter changes that the rounding to codes may take: where it would take
// more the adapter is kept apart.
const mostLost = 0.1

// A MergeReport says what Merge did with each layer.
type MergeReport struct {
	Layers []MergedLayer
}

// A MergedLayer is a layer of a MergeReport.
type MergedLayer struct {
	Name   string
	Stored string  // in what the weight is stored: "f32", "bf16", "int4, groups of 64, …"
	Change float64 // the largest change of a number of the weight
	Error  float64 // the largest difference of a stored number from the sum
	Lost   float64 // the length of all differences over that of all changes: 0 is nothing, 1 is all
	Apart  string  // why the adapter is kept beside the weight; empty: it is merged
}

// Merged is the number of layers that the adapter is part of now.
func (r *MergeReport) Merged() int {
	count := 0
	for _, l := range r.Layers {
		if l.Apart == "" {
			count++
		}
	}
	return count
}

// String sums the report up: how much is merged, what rounding takes at worst in each kind of weight, and why
// layers are kept apart.
func (r *MergeReport) String() string {
	text := fmt.Sprintf("merged %d of %s", r.Merged(), units.Plural(int64(len(r.Layers)), "layer"))
	var kinds []string
	for _, l := range r.Layers {
		if kind := l.Stored + l.Apart; !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
			text += "\n" + r.kind(l)
		}
	}
	return text
}

// kind sums up the layers that are stored like l and had the same fate.
func (r *MergeReport) kind(like MergedLayer) string {
	count, worst, most := 0, like, 0.0
	for _, l := range r.Layers {
		if l.Stored != like.Stored || l.Apart != like.Apart {
			continue
		}
		count++
		most = max(most, l.Error)
		if l.Lost > worst.Lost {
			worst = l
		}
	}
	text := fmt.Sprintf("%d in %s: ", count, like.Stored)
	switch {
	case like.Apart != "":
		text += "kept apart, because " + like.Apart
	case worst.Lost == 0:
		return text + "exactly"
	default:
		text += "rounded"
	}
	if worst.Lost > 0 {
		text += fmt.Sprintf("; off by at most %.2g, at worst %.2g %% of the change (%s)", most, 100*worst.Lost, worst.Name)
	}
	return text
}

// Merge adds the adapter to the weights: as long as it is on, the model costs what it cost without it.
// Weights are kept as they were for Unmerge, which costs as much memory again. In f32 the sum is exact up to
// the rounding of f32; the report says what bf16 and codes take of it. Beside weights in codes the adapter is
// kept apart where the codes would lose more than a tenth of what it changes; see MergeDequantized. It is an
// error if a weight would not be finite; then nothing changes. To save the merged model, take the adapter out
// by [Adapter.Remove]: the weights stay merged.
func (a *Adapter) Merge() (*MergeReport, error) { return a.mergeInto(false) }

// MergeDequantized is Merge that puts weights in f32, which lose nothing, in the place of those in codes, to
// save or export a merged model. Unmerge puts the codes back.
func (a *Adapter) MergeDequantized() (*MergeReport, error) { return a.mergeInto(true) }

func (a *Adapter) mergeInto(wide bool) (r *MergeReport, err error) {
	a.change(func() { r, err = a.merge(wide) })
	return r, err
}

func (a *Adapter) merge(wide bool) (*MergeReport, error) {
	r := &MergeReport{}
	var merges []*merge
	err := tensor.Try(func() {
		for i, l := range a.layers {
			if l == nil {
				continue
			}
			s := a.parts[i].share()
			m := l.plan(append(l.without(s.Part), s), wide)
			m.report.Name = a.names[i]
			if s.apart {
				m.report.Apart = "the embedding is the output matrix, too, which the adapter does not change"
			}
			r.Layers, merges = append(r.Layers, m.report), append(merges, m)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("lora: merge: %w", err)
	}
	for _, l := range r.Layers {
		if math.IsNaN(l.Change) || math.IsInf(l.Change, 0) {
			return nil, fmt.Errorf("lora: merge: %s: the adapter changes a number by %v; nothing was merged", l.Name, l.Change)
		}
	}
	err = tensor.Try(func() {
		for i, m := range merges {
			if r.Layers[i].Apart == "" {
				m.apply()
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("lora: merge: %w", err)
	}
	a.merged = r.Merged() == len(r.Layers)
	return r, nil
}

// A merge is what the base of a layer would become.
type merge struct {
	layer  *Linear
	list   []share
	codes  *quant.Weight // the sum in codes; nil: it is plain
	report MergedLayer
}

// plan says what becomes of the base's weight if the list is merged into it, and changes nothing.
func (l *Linear) plan(list []share, wide bool) *merge {
	m := &merge{layer: l, list: list}
	if slices.ContainsFunc(nn.Params(l.under()), func(p nn.Param) bool { return access.InParts(p.Value()) }) {
		m.report.Stored, m.report.Apart = "parts", "several processes hold the weight together, and none can change it"
		return m
	}
	w := l.bare(dtype.F32)
	exact := l.with(list)
	stored := exact.Cast(w.DType())
	m.report.Stored = w.DType().String()
	if codes := quant.WeightOf(l.under()); codes != nil && !wide {
		m.report.Stored = codes.Config.String()
		var err error
		if m.codes, err = quant.Quantize(exact, codes.Config); err != nil {
			m.report.Apart = err.Error()
		} else {
			stored = m.codes.Dequantized()
		}
	}
	change := exact.Sub(w)
	if !exact.IsFinite().All().Bools()[0] {
		m.report.Change = math.NaN()
		return m
	}
	m.report.Change = change.Abs().Max().Item()
	if len(withBias(list)) > 0 && !m.planBias() {
		return m
	}
	if m.codes != nil || w.DType().Size() == 2 {
		off := stored.Sub(exact)
		m.report.Error = off.Abs().Max().Item()
		if length := change.Norm().Item(); length > 0 {
			m.report.Lost = off.Norm().Item() / length
		}
	}
	if m.codes != nil && m.report.Lost > mostLost {
		m.report.Apart = fmt.Sprintf("rounding to codes would take more than %g %% of the change: MergeDequantized keeps it", 100*mostLost)
	}
	return m
}

// planBias says what becomes of the base's bias, and whether the list can be merged into it.
func (m *merge) planBias() bool {
	l := m.layer
	bias := l.bareBias()
	if bias.IsNone() {
		m.report.Apart = "the layer has no bias that could take that of B"
		return false
	}
	if slices.ContainsFunc(l.Parts, func(p *Part) bool { return p.adapter != nil && p.adapter.trainsBias(p) }) {
		m.report.Apart = "the layer's bias is trained whole, too"
		return false
	}
	sum := l.biasWith(m.list)
	if !sum.IsFinite().All().Bools()[0] {
		m.report.Change = math.NaN()
		return false
	}
	m.report.Change = max(m.report.Change, sum.Sub(bias).Abs().Max().Item())
	m.report.Error = sum.Cast(bias.DType()).Sub(sum).Abs().Max().Item()
	return true
}

// trainsBias says whether the adapter trains the bias of a part's layer whole.
func (a *Adapter) trainsBias(p *Part) bool {
	name := a.names[slices.Index(a.parts, p)] + ".bias"
	return slices.ContainsFunc(a.wholes, func(w *whole) bool { return w.param.Name == name })
}

// apply changes the base.
func (m *merge) apply() {
	l := m.layer
	base := l.under()
	bias := l.bareBias()
	biased := len(withBias(m.list)) > 0
	if biased {
		bias = l.biasWith(m.list).Cast(bias.DType()).Named("bias").Freeze()
	}
	_, grouped := base.(*quant.Grouped)
	switch {
	case quant.WeightOf(base) != nil:
		l.replaced = base
		number := func() tensor.Tensor { return l.with(m.list).Named("weight").Freeze() }
		switch {
		case m.codes != nil && grouped:
			l.Base = &quant.Grouped{Weight: m.codes}
		case m.codes != nil:
			l.Base = &quant.Linear{Weight: m.codes, Bias: bias}
		case grouped:
			l.Base = &nn.Grouped{Weight: number()}
		default:
			l.Base = &nn.Linear{Weight: number(), Bias: bias}
		}
	default:
		w, _ := parts(l.Base, dtype.F32)
		if !l.Merged() {
			l.before = w.Snapshot()
		}
		if _, b := parts(l.Base, dtype.F32); biased {
			if l.unbiased.IsNone() {
				l.unbiased = b.Snapshot()
			}
			b.Set(bias)
		}
		w.Set(l.with(m.list).Cast(w.DType()).Eval())
	}
	l.setMerged(m.list)
}

// mergedAlready is why the factors of a part that is merged cannot be trained: nothing is computed with them.
const mergedAlready = "merged into the weight: Unmerge the adapter first"

// setMerged says of which parts the base's weight has something now. Their factors are frozen, and those of
// the others are trained again if they were.
func (l *Linear) setMerged(list []share) {
	for _, s := range l.merged {
		for _, w := range s.waiting {
			if w.Frozen() == mergedAlready {
				w.Param()
			}
		}
		s.waiting = nil
	}
	l.merged = list
	for _, s := range l.merged {
		for _, f := range s.factors() {
			if f.Weight.Frozen() == "" {
				access.Freeze(*f.Weight, mergedAlready)
				s.waiting = append(s.waiting, f.Weight)
			}
		}
	}
}

// Merged says whether an adapter is part of the base's weight now.
func (l *Linear) Merged() bool { return len(l.merged) > 0 }

// Merge adds the adapters that are on to the base's weight, as [Adapter.Merge] does.
func (l *Linear) Merge() (MergedLayer, error) {
	var m *merge
	err := tensor.Try(func() {
		if m = l.plan(l.on(nil), false); m.report.Apart == "" && !math.IsNaN(m.report.Change) {
			m.apply()
		}
	})
	if err == nil && math.IsNaN(m.report.Change) {
		err = fmt.Errorf("lora: merge: the weight would not be finite")
	}
	if err != nil {
		return MergedLayer{}, err
	}
	return m.report, nil
}

// Unmerge puts the base's weight back, bit for bit.
func (l *Linear) Unmerge() {
	switch {
	case !l.Merged():
		return
	case l.replaced != nil:
		l.Base = l.replaced
	default:
		w, b := parts(l.Base, dtype.F32)
		w.Set(l.before)
		if !l.unbiased.IsNone() {
			b.Set(l.unbiased)
		}
	}
	l.setMerged(nil)
	l.before, l.unbiased, l.replaced = tensor.Tensor{}, tensor.Tensor{}, nil
}

// unmerge takes a part out of the base's weight; others stay merged, as they were stored.
func (l *Linear) unmerge(p *Part) {
	rest := l.without(p)
	if len(rest) == len(l.merged) {
		return
	}
	_, plain := l.Base.(*nn.Linear)
	l.Unmerge()
	if len(rest) > 0 {
		l.plan(rest, plain).apply()
	}
}

// under is the base without what is merged into it, where that is a layer of its own; else the base.
func (l *Linear) under() nn.Layer {
	if l.replaced != nil {
		return l.replaced
	}
	return l.Base
}

// without lists what is merged of other parts than p.
func (l *Linear) without(p *Part) []share {
	return slices.DeleteFunc(slices.Clone(l.merged), func(s share) bool { return s.Part == p })
}

// bare is the weight without adapters, [in out]; that of a quantised base is lazy, in dt.
func (l *Linear) bare(dt dtype.Type) tensor.Tensor {
	if l.Merged() && l.replaced == nil {
		return l.before
	}
	w, _ := parts(l.under(), dt)
	return w
}

// bareBias is the bias without adapters, or none.
func (l *Linear) bareBias() tensor.Tensor {
	if !l.unbiased.IsNone() {
		return l.unbiased
	}
	_, bias := parts(l.under(), dtype.F32)
	return bias
}

// biasWith is the bias without adapters plus the shares of a list, in f32 at least.
func (l *Linear) biasWith(list []share) tensor.Tensor {
	sum := l.bareBias()
	sum = sum.Cast(dtype.Promote(sum.DType(), dtype.F32))
	for _, s := range withBias(list) {
		sum = sum.Add(s.Bias.Mul(s.factor))
	}
	return sum.Detach()
}

// with is the weight without adapters plus the shares of a list, in f32 at least.
func (l *Linear) with(list []share) tensor.Tensor {
	w := l.bare(dtype.F32)
	w = w.Cast(dtype.Promote(w.DType(), dtype.F32))
	sum := w
	for _, s := range list {
		sum = sum.Add(s.delta(w))
	}
	return sum.Detach()
}

// forget makes what is merged of a part, which is taken out of the layer, belong to the base.
func (l *Linear) forget(p *Part) {
	i := slices.IndexFunc(l.merged, func(s share) bool { return s.Part == p })
	switch {
	case i < 0:
		return
	case len(l.merged) == 1:
		l.before, l.unbiased, l.replaced = tensor.Tensor{}, tensor.Tensor{}, nil
	case l.replaced != nil:
		bias := l.bareBias()
		if !bias.IsNone() {
			bias = l.biasWith(l.merged[i : i+1]).Cast(bias.DType()).Eval()
		}
		l.replaced = &nn.Linear{Weight: l.with(l.merged[i : i+1]).Named("weight").Freeze(), Bias: bias}
	default:
		l.before = l.with(l.merged[i : i+1]).Cast(l.before.DType()).Eval()
		if !l.unbiased.IsNone() {
			l.unbiased = l.biasWith(l.merged[i : i+1]).Cast(l.unbiased.DType()).Eval()
		}
	}
	l.setMerged(slices.Delete(slices.Clone(l.merged), i, i+1))
}
