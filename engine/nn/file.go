package nn

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Save writes the weights of m as a safetensors file, under their paths and as PyTorch has them: the weight
// of a [Linear] is [out in] there, so that load_state_dict takes the file. Readers find the old file or the
// whole new one.
func Save(path string, m Module) error {
	tensors := map[string]tensor.Tensor{}
	for _, p := range Params(m) {
		tensors[p.Name] = p.InFile()
	}
	return safetensors.Save(path, tensors, map[string]string{"format": "pt"})
}

// Load reads a file that Save or PyTorch wrote into m. Every weight of the model must be in the file, in its
// shape, and every tensor of the file in the model; otherwise the model stays as it was. A weight keeps its
// dtype, its device and whether it is trained.
func Load(path string, m Module) error {
	tensors, _, err := safetensors.Load(path)
	if err != nil {
		return err
	}
	params := Params(m)
	for _, p := range params {
		t, ok := tensors[p.Name]
		if !ok {
			return fmt.Errorf("nn: %s: no tensor %q, want %v", path, p.Name, p.shapeInFile())
		}
		if !p.fits(t) {
			return fmt.Errorf("nn: %s: tensor %q: got %v%v, want %s", path, p.Name, t.DType(), t.Shape(), p.shapeInFile())
		}
	}
	if len(tensors) > len(params) {
		for _, p := range params {
			delete(tensors, p.Name)
		}
		return fmt.Errorf("nn: %s: the model has no weights %q", path, slices.Sorted(maps.Keys(tensors)))
	}
	return tensor.Try(func() {
		values := make([]tensor.Tensor, len(params))
		for i, p := range params {
			values[i] = p.fromFile(tensors[p.Name])
		}
		tensor.Eval(values...)
		for i, p := range params {
			p.at.Set(values[i])
		}
	})
}

// turn exchanges the weight's axes if files have them the other way round.
func (p Param) turn(t tensor.Tensor) tensor.Tensor {
	if p.turned {
		return t.Transpose()
	}
	return t
}

// InFile returns the weight as files have it: that of a [Linear] as [out in].
func (p Param) InFile() tensor.Tensor { return p.turn(p.Value().Detach()) }

// shapeInFile describes that: f32[2 3].
func (p Param) shapeInFile() string {
	return fmt.Sprintf("%v%v", p.at.DType(), p.turn(*p.at).Shape())
}

// fits says whether a tensor of a file is one for the weight. A weight of floats takes other floats.
func (p Param) fits(t tensor.Tensor) bool {
	got, want := t.DType(), p.at.DType()
	return slices.Equal(t.Shape(), p.turn(*p.at).Shape()) && (got == want || got.Float() && want.Float())
}

// fromFile returns a tensor of a file as a value for the weight. One that is turned goes through the host, so
// that it lies in memory as the weight of a new layer does: the same bits come out.
func (p Param) fromFile(t tensor.Tensor) tensor.Tensor {
	t = p.turn(t).Cast(p.at.DType())
	if p.turned {
		t = tensor.FromBytes(t.DType(), t.Bytes(), t.Shape()...)
	}
	return t.To(p.at.Device())
}
