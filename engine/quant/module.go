package quant

import (
	"fmt"
	"strings"

	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/units"
)

// AllLinear as a target of Module means every linear layer but the output layer lm_head.
const AllLinear = nn.AllLinear

// A Report says what Module did.
type Report struct {
	Config Config
	Layers []string // names of the layers that are quantised now
	Before int64    // bytes of their weights
	After  int64
}

// String sums the report up.
func (r *Report) String() string {
	return fmt.Sprintf("%v: %s · %s → %s", r.Config, units.Plural(int64(len(r.Layers)), "layer"), units.Bytes(r.Before), units.Bytes(r.After))
}

// Module quantises the linear layers, embeddings and experts of m that targets choose, as nn.Targeted says.
// Without targets it takes AllLinear, which chooses no embedding ("embed_tokens" chooses that of a decoder).
// The rest of the model stays as it is, trainable or frozen, and so do the routers of experts, as a rounded
// score chooses other experts. If a layer cannot be quantised, or no layer is chosen, that is an error and m
// is unchanged.
func Module(m nn.Module, c Config, targets ...string) (*Report, error) {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		return nil, err
	}
	if len(targets) == 0 {
		targets = []string{AllLinear}
	}
	r := &Report{Config: c}
	var slots []slot
	var layers []nn.Layer
	for _, s := range slotsOf(m) {
		if s.Exact {
			continue
		}
		layer, bytes, err := replacement(s.Layer(), s.name, c, strings.Join(targets, " "))
		if err != nil {
			return nil, err
		}
		if layer != nil {
			slots, layers = append(slots, s), append(layers, layer)
			r.Layers, r.Before = append(r.Layers, s.name), r.Before+bytes
		}
	}
	if len(slots) == 0 {
		return nil, fmt.Errorf("quant: targets %q choose no layer of the model that can be quantised", targets)
	}
	for i, s := range slots {
		s.set(layers[i])
		_, after := nn.Size(layers[i])
		r.After += int64(after)
	}
	return r, nil
}

// A slot is a place of a model that holds a layer which can be quantised, or is.
type slot struct {
	nn.Member
	name string
}

func slotsOf(m nn.Module) (list []slot) {
	nn.Walk(m, func(path string, member nn.Member) {
		if _, ok := member.Field.(*nn.Grouped); ok || member.Slot != nil {
			list = append(list, slot{member, path})
		}
	})
	return list
}

// set puts a layer there. Experts that others stand for have no weight of their own.
func (s slot) set(l nn.Layer) {
	experts, _ := s.Field.(*nn.Grouped)
	if g, ok := l.(*nn.Grouped); ok {
		experts.Weight, l = g.Weight, experts
	} else if experts != nil {
		experts.Weight = tensor.Tensor{}
	}
	s.Exchange(l)
}

// replacement returns the quantised form of a layer if it is chosen, and how many bytes its weight has.
func replacement(layer nn.Layer, path string, c Config, targets string) (nn.Layer, int64, error) {
	linear, plain := layer.(*nn.Linear)
	embedding, table := layer.(*nn.Embedding)
	experts, grouped := layer.(*nn.Grouped)
	if !plain && !table && !grouped {
		return nil, 0, nil
	}
	if ok, err := chosen(targets, path, table); err != nil || !ok {
		return nil, 0, err
	}
	_, bytes := nn.Size(layer)
	var q nn.Layer
	var err error
	switch {
	case table:
		q, err = NewEmbedding(embedding, c)
	case grouped:
		q, err = NewGrouped(experts, c)
	default:
		q, err = NewLinear(linear, c)
	}
	if err != nil {
		return nil, 0, err
	}
	return q, int64(bytes), nil
}

// chosen says whether targets choose a layer; AllLinear does not choose embeddings.
func chosen(targets, path string, table bool) (bool, error) {
	list, err := nn.Targets(targets)
	if err != nil {
		return false, fmt.Errorf("quant: %w", err)
	}
	for _, t := range list {
		if t.Chooses(path) && !(table && t.String() == AllLinear) {
			return true, nil
		}
	}
	return false, nil
}
