package nn

import (
	"math"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// block is a module with a slot, a part, a bare weight, and a weight that is used twice.
type block struct {
	layer Layer
	norm  *RMSNorm
	tied  *tensor.Tensor
}

func newBlock() *block {
	norm := NewRMSNorm(3, 1e-5)
	return &block{layer: NewLinearBias(3, 2), norm: norm, tied: &norm.Weight}
}

func (b *block) Members() []Member {
	return []Member{{Name: "layer", Slot: &b.layer}, {Name: "norm", Part: b.norm}, {Name: "tied", Weight: b.tied}}
}

func names(params []Param) []string {
	var list []string
	for _, p := range params {
		list = append(list, p.Name)
	}
	return list
}

func TestParams(t *testing.T) {
	b := newBlock()
	params := Params(b)
	if got, want := names(params), []string{"layer.weight", "layer.bias", "norm.weight"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := Count(params); got != 6+2+3 {
		t.Errorf("count: got %d, want 11", got)
	}
	SetNames(b)
	if got := b.norm.Weight.Name(); got != "norm.weight" {
		t.Errorf("name: got %q", got)
	}
	b.layer = NewLinear(3, 5) // what a slot holds may be exchanged
	if got, want := names(Params(b)), []string{"layer.weight", "norm.weight"}; !slices.Equal(got, want) {
		t.Errorf("after exchanging the layer: got %v, want %v", got, want)
	}
}

func TestFreeze(t *testing.T) {
	b := newBlock()
	hash := Hash(Params(b))
	params := Params(b)
	params[1].Freeze()
	if got, want := names(Trainable(b)), []string{"layer.weight", "norm.weight"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	Freeze(b)
	if got := Trainable(b); len(got) != 0 {
		t.Errorf("everything is frozen, but %v is trainable", names(got))
	}
	loss := b.layer.Forward(tensor.Ones(1, 3)).Sum()
	if err := tensor.Try(func() { tensor.Grad(loss.Eval(), Values(params)...) }); err == nil {
		t.Error("a gradient flows to a frozen weight")
	}
	Unfreeze(b)
	if got := Trainable(b); len(got) != 3 {
		t.Errorf("after Unfreeze %v are trainable", names(got))
	}
	if Hash(Params(b)) != hash {
		t.Error("freezing changed a weight")
	}
}

func TestHashSeesOneBit(t *testing.T) {
	b := newBlock()
	hash := Hash(Params(b))
	w := b.norm.Weight.Floats()
	w[1] = math.Nextafter32(w[1], 2)
	b.norm.Weight.Set(tensor.From(w))
	if Hash(Params(b)) == hash {
		t.Error("one bit changed and the hash did not")
	}
}

// switched remembers what it was told.
type switched struct {
	Linear
	training bool
}

func (s *switched) SetTraining(on bool) { s.training = on }

func TestSetTraining(t *testing.T) {
	b, s := newBlock(), &switched{Linear: *NewLinear(3, 2)}
	b.layer = s
	for _, on := range []bool{true, false} {
		if SetTraining(b, on); s.training != on {
			t.Errorf("the layer in the slot was not told %v", on)
		}
	}
}

func TestLayersFollowTheirFormulas(t *testing.T) {
	x := []float64{1, -2, 4}
	mean, square := 1.0, 7.0 // of x, of x²
	rms, deviation := math.Sqrt(square+1e-5), math.Sqrt(square-mean*mean+1e-5)
	linear := NewLinearBias(3, 2)
	linear.Weight.Set(tensor.From([][]float64{{1, 0}, {0, 1}, {2, 3}}))
	linear.Bias.Set(tensor.From([]float64{10, 20}))
	tests := []struct {
		name  string
		layer Layer
		want  []float64
	}{
		{"rms_norm", NewRMSNorm(3, 1e-5), []float64{1 / rms, -2 / rms, 4 / rms}},
		{"layer_norm", NewLayerNorm(3, 1e-5), []float64{0, -3 / deviation, 3 / deviation}},
		{"linear", linear, []float64{1 + 8 + 10, -2 + 12 + 20}},
	}
	for _, test := range tests {
		got := test.layer.Forward(tensor.From([][]float64{x})).Float64s()
		for i := range test.want {
			if math.Abs(got[i]-test.want[i]) > 1e-5 {
				t.Errorf("%s: got %v, want %v", test.name, got, test.want)
				break
			}
		}
	}
}

func TestMLP(t *testing.T) {
	random := tensor.NewRNG(1)
	m := &MLP{Gate: NewLinearNormal(random, 4, 6, 0.5), Up: NewLinearNormal(random, 4, 6, 0.5), Down: NewLinearNormal(random, 6, 4, 0.5)}
	x := random.Randn(2, 3, 4)
	gate, up := m.Gate.Forward(x), m.Up.Forward(x)
	want := m.Down.Forward(gate.Div(gate.Neg().Exp().Add(1)).Mul(up))
	if d := tensor.MaxAbsDiff(m.Forward(x), want); d > 1e-6 {
		t.Errorf("differs from down(silu(gate)·up) by %g", d)
	}
	if got, want := names(Params(m)), []string{"gate_proj.weight", "up_proj.weight", "down_proj.weight"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func newAttention(random *tensor.RNG) *Attention {
	return &Attention{
		Q: NewLinearNormal(random, 16, 16, 0.3), K: NewLinearNormal(random, 16, 8, 0.3),
		V: NewLinearNormal(random, 16, 8, 0.3), O: NewLinearNormal(random, 16, 16, 0.3), Heads: 4, KVHeads: 2,
	}
}

// TestAttentionIsCausal: what comes later does not change what came before.
func TestAttentionIsCausal(t *testing.T) {
	random := tensor.NewRNG(1)
	a := newAttention(random)
	x := random.Randn(1, 6, 16)
	changed := tensor.Concat([]tensor.Tensor{x.Slice(1, 0, 4), random.Randn(1, 2, 16)}, 1)
	y, z := a.Forward(x, tensor.Range(6)), a.Forward(changed, tensor.Range(6))
	if d := tensor.MaxAbsDiff(y.Slice(1, 0, 4), z.Slice(1, 0, 4)); d > 1e-6 {
		t.Errorf("the first rows moved by %g", d)
	}
	if d := tensor.MaxAbsDiff(y.Slice(1, 4, 6), z.Slice(1, 4, 6)); d < 1e-3 {
		t.Errorf("the last rows moved by %g only", d)
	}
}

// step says that tokens of one text go to the slots of their places, and see all of that text.
func step(at, n, slots int) Step {
	positions := tensor.Range(n).Add(at)
	return Step{Positions: positions.Unsqueeze(0), Slots: positions, Pages: tensor.Zeros(1, 1).Cast(dtype.I64), Page: slots, Last: positions.Unsqueeze(0)}
}

// TestContinueIsForward: token by token, or some at a time, with a cache whose slots go to a larger one
// meanwhile.
func TestContinueIsForward(t *testing.T) {
	random := tensor.NewRNG(1)
	a := newAttention(random)
	x := random.Randn(1, 7, 16)
	want := a.Forward(x, tensor.Range(7))
	for dt, limit := range map[dtype.Type]float64{dtype.F32: 1e-5, dtype.BF16: 3e-2, dtype.F16: 3e-3, dtype.I8: 5e-2} {
		for _, pieces := range [][]int{{7}, {1, 1, 1, 1, 1, 1, 1}, {3, 1, 3}} {
			c := NewCache(dt, 2, 2, 4, 4)
			var got []tensor.Tensor
			at := 0
			for _, n := range pieces {
				if at+n+1 > c.Slots() {
					larger := NewCache(dt, 2, at+n+1, 4, 4)
					if at > 0 {
						larger.Copy(tensor.Range(at).Ints(), c, tensor.Range(at).Ints())
					}
					c.Free()
					c = larger
				}
				got = append(got, a.Continue(x.Slice(1, at, at+n), step(at, n, c.Slots()), c))
				tensor.Eval(append(c.Tensors(), got[len(got)-1])...)
				at += n
			}
			if d := tensor.MaxAbsDiff(tensor.Concat(got, 1), want); d > limit {
				t.Errorf("%v, pieces of %v differ by %g", dt, pieces, d)
			}
			if c.Slots() != 8 || c.Keys.Stored.DType() != dt {
				t.Errorf("pieces of %v: %d slots of %v, want 8 of %v", pieces, c.Slots(), c.Keys.Stored.DType(), dt)
			}
		}
	}
	if err := tensor.Try(func() { NewCache(dtype.I32, 1, 1, 1, 1) }); err == nil {
		t.Error("a cache of i32 was made")
	}
}

// Rows of different texts share a cache: each looks at its own slots, wherever they are.
func TestContinueOfSeveralTexts(t *testing.T) {
	random := tensor.NewRNG(1)
	a := newAttention(random)
	x := random.Randn(2, 5, 16)
	slots := [][]int{{9, 3, 0, 7, 4}, {1, 8, 2, 5, 6}} // of the tokens of each text
	for _, dt := range []dtype.Type{dtype.F32, dtype.I8} {
		c := NewCache(dt, 2, 10, 4, 4)
		var got []tensor.Tensor
		for at := range 5 { // the second text begins two tokens later: rows stand at different places
			positions := [][]int{{at}, {max(0, at-2)}}
			row := tensor.Concat([]tensor.Tensor{x.Slice(0, 0, 1).Slice(1, at, at+1), x.Slice(0, 1, 2).Slice(1, positions[1][0], positions[1][0]+1)}, 0)
			s := Step{
				Positions: tensor.From(positions), Slots: tensor.From([]int{slots[0][at], slots[1][positions[1][0]]}),
				Pages: tensor.From(slots), Page: 1, Last: tensor.From(positions),
			}
			got = append(got, a.Continue(row, s, c))
			tensor.Eval(append(c.Tensors(), got[at])...)
		}
		for i, y := range got {
			want := tensor.Concat([]tensor.Tensor{a.Forward(x.Slice(0, 0, 1), tensor.Range(5)).Slice(1, i, i+1), a.Forward(x.Slice(0, 1, 2), tensor.Range(5)).Slice(1, max(0, i-2), max(0, i-2)+1)}, 0)
			if d := tensor.MaxAbsDiff(y, want); d > map[dtype.Type]float64{dtype.F32: 1e-5, dtype.I8: 5e-2}[dt] {
				t.Errorf("%v, step %d differs by %g", dt, i, d)
			}
		}
	}
}

// A cache changes in the memory that it has, unless there is a snapshot of it: then whichever goes on first
// copies.
func TestCachesFromASnapshot(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // nothing else gives memory back meanwhile
	random := tensor.NewRNG(1)
	a, x := newAttention(random), random.Randn(1, 9, 16)
	want := a.Forward(x, tensor.Range(9))
	const room = 1 << 12
	token := func(c *Cache, at int) tensor.Tensor {
		y := a.Continue(x.Slice(1, at, at+1), step(at, 1, room), c)
		tensor.Eval(append(c.Tensors(), y)...)
		return y
	}
	c := NewCache(dtype.F32, 2, room, 4, 4)
	token(c, 0)
	before := device.Default().Memory().InUse
	for at := 1; at < 6; at++ {
		token(c, at)
	}
	if grown := device.Default().Memory().InUse - before; grown > room*2*4*4 {
		t.Errorf("five tokens hold %d bytes more, want less than a cache", grown)
	}
	branch := c.Snapshot()
	for at := 6; at < 9; at++ {
		y, z := token(c, at), token(branch, at)
		for i, got := range []tensor.Tensor{y, z} {
			if d := tensor.MaxAbsDiff(got, want.Slice(1, at, at+1)); d > 1e-5 {
				t.Errorf("token %d, cache %d: differs by %g", at, i, d)
			}
		}
	}
}

// What is converted has the values that a cast gives, however it is stored, and stays trainable or not.
func TestConvert(t *testing.T) {
	for _, shape := range [][2]int{{6, 4}, {4, 6}, {5, 5}} {
		for _, trainable := range []bool{true, false} {
			l := &MLP{Gate: NewLinear(shape[0], shape[1]), Up: NewEmbedding(tensor.NewRNG(1), shape[0], shape[1], 1), Down: NewLinearBias(shape[0], shape[1])}
			if !trainable {
				Freeze(l)
			}
			var want [][]float32
			for _, p := range Params(l) {
				dt := dtype.BF16
				if p.Value().Rank() < 2 {
					dt = dtype.F32
				}
				want = append(want, p.Value().Cast(dt).Floats())
			}
			Convert(l, dtype.BF16)
			for i, p := range Params(l) {
				v := p.Value()
				if !slices.Equal(v.Floats(), want[i]) || p.Trainable() != trainable || (v.DType() == dtype.BF16) != (v.Rank() == 2) {
					t.Errorf("%v: got %v, want %v", p, v.Floats(), want[i])
				}
			}
		}
	}
}
