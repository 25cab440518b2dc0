package tensor

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
)

// A peerCase is what another system answers; tests/peers/tensor_ops.py writes them.
type peerCase struct {
	Op       string
	Settings map[string]any
	Args     []peerArray
	Want     []peerArray
	Grads    []peerArray // of the first arguments, for the loss sum(result·weight)
	Weight   *peerArray
}

type peerArray struct {
	Type  string
	Shape []int
	Data  string
}

// tensor puts the array on the default device, f64 as another dtype if that is what it computes in.
func (a peerArray) tensor(t *testing.T, float dtype.Type) Tensor {
	t.Helper()
	dt, err := dtype.Parse(a.Type)
	if err != nil {
		t.Fatal(err)
	}
	b, err := base64.StdEncoding.DecodeString(a.Data)
	if err != nil {
		t.Fatal(err)
	}
	if dt == dtype.F64 && float == dtype.F32 {
		var narrow []byte
		for i := 0; i < len(b); i += 8 {
			f := math.Float64frombits(binary.LittleEndian.Uint64(b[i:]))
			narrow = binary.LittleEndian.AppendUint32(narrow, math.Float32bits(float32(f)))
		}
		dt, b = dtype.F32, narrow
	}
	return FromBytes(dt, b, a.Shape...)
}

func (c peerCase) axis() int               { return int(c.number("axis")) }
func (c peerCase) number(s string) float64 { f, _ := c.Settings[s].(float64); return f }

// peerOps says how ops of the files are written here that are no methods of their name.
var peerOps = map[string]func(c peerCase, a []Tensor) Tensor{
	"log1p_square": func(c peerCase, a []Tensor) Tensor { return a[0].Square().Log1p() },
	"cast": func(c peerCase, a []Tensor) Tensor {
		dt, err := dtype.Parse(c.Settings["to"].(string))
		check("cast", err)
		return a[0].Cast(dt)
	},
	"where":      func(c peerCase, a []Tensor) Tensor { return Where(a[0], a[1], a[2]) },
	"amax":       func(c peerCase, a []Tensor) Tensor { return a[0].Max(c.axis()) },
	"layer_norm": func(c peerCase, a []Tensor) Tensor { return a[0].LayerNorm(a[1], a[2], c.number("eps")) },
	"rms_norm":   func(c peerCase, a []Tensor) Tensor { return a[0].RMSNorm(a[1], c.number("eps")) },
	"cross_entropy": func(c peerCase, a []Tensor) Tensor {
		o := CrossEntropyOptions{Smoothing: c.number("smoothing"), PerRow: c.number("rows") != 0}
		if _, ok := c.Settings["ignore"]; ok {
			o.Ignore = []int{int(c.number("ignore"))}
		}
		return CrossEntropy(a[0], a[1], o)
	},
	"rope": func(c peerCase, a []Tensor) Tensor { return a[0].Rope(a[1], RopeOptions{Base: c.number("base")}) },
	"attention": func(c peerCase, a []Tensor) Tensor {
		o := AttentionOptions{Causal: c.number("causal") != 0, Scale: c.number("scale"), Window: int(c.number("window")), Cap: c.number("cap")}
		if len(a) > 3 {
			o.Mask = a[3]
		}
		return Attention(a[0], a[1], a[2], o)
	},
}

// What NumPy and PyTorch answer is what we answer, values and gradients, on every device: in f64 where they
// used it, and on cpu in f32, too.
func TestPeers(t *testing.T) {
	for _, file := range []string{"numpy.json", "torch.json", "functions.json", "random.json", "conv.json.gz"} {
		cases := readPeers(t, "testdata/"+file)
		file, _, _ := strings.Cut(file, ".")
		for _, on := range []struct {
			device string
			float  dtype.Type
		}{{"ref", dtype.F64}, {"cpu", dtype.F64}, {"cpu", dtype.F32}} {
			use(t, on.device)
			for i, c := range cases {
				if on.float == dtype.F64 || c.uses("f64") {
					t.Run(fmt.Sprintf("%s/%s/%v/%d_%s", file, on.device, on.float, i, c.Op), func(t *testing.T) { c.check(t, on.float) })
				}
			}
		}
	}
}

func readPeers(t *testing.T, path string) []peerCase {
	t.Helper()
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("%v: a script of tests/peers named tensor_… writes it", err)
	}
	var cases []peerCase
	if err == nil && strings.HasSuffix(path, ".gz") {
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(data)); err == nil {
			data, err = io.ReadAll(z)
		}
	}
	if err == nil {
		err = json.Unmarshal(data, &cases)
	}
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// use makes a device the default for the rest of the test.
func use(t *testing.T, name string) {
	t.Helper()
	before := device.Default().String()
	if err := device.Use(name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := device.Use(before); err != nil {
			t.Error(err)
		}
	})
}

// uses says whether an argument is of that type.
func (c peerCase) uses(dt string) bool {
	return slices.ContainsFunc(c.Args, func(a peerArray) bool { return a.Type == dt })
}

func (c peerCase) check(t *testing.T, float dtype.Type) {
	tolerance := 2e-6
	switch {
	case float == dtype.F64 && c.uses("f64"):
		tolerance = 1e-12
	case len(c.Grads) > 0:
		tolerance = 2e-5
	}
	args := make([]Tensor, len(c.Args))
	for i, a := range c.Args {
		args[i] = a.tensor(t, float)
		if i < len(c.Grads) {
			args[i].Param()
		}
	}
	if c.Op == "adamw" {
		c.checkAdamW(t, args, float, tolerance)
		return
	}
	y := c.result(t, args)
	compare(t, "result", y, c.Want[0].tensor(t, float), tolerance, sums[c.Op])
	if len(c.Grads) == 0 {
		return
	}
	grads := Grad(y.Mul(c.Weight.tensor(t, float)).Sum(), args[:len(c.Grads)]...)
	for i, g := range grads {
		compare(t, fmt.Sprintf("gradient %d", i), g, c.Grads[i].tensor(t, float), tolerance, true)
	}
}

// result is what peerOps makes of the arguments, or else the method of that name: log_add_exp is LogAddExp.
// It takes tensors, and an axis.
func (c peerCase) result(t *testing.T, args []Tensor) Tensor {
	if f := peerOps[c.Op]; f != nil {
		return f(c, args)
	}
	for m := range reflect.TypeFor[Tensor]().Methods() {
		if !strings.EqualFold(m.Name, strings.ReplaceAll(c.Op, "_", "")) {
			continue
		}
		in := make([]reflect.Value, len(args))
		for i, a := range args {
			in[i] = reflect.ValueOf(a)
		}
		if c.Settings["axis"] != nil {
			in = append(in, reflect.ValueOf(c.axis()))
		}
		return m.Func.Call(in)[0].Interface().(Tensor)
	}
	t.Fatalf("%s: no method of that name, and none in peerOps", c.Op)
	return Tensor{}
}

// checkAdamW takes as many steps as gradients are given.
func (c peerCase) checkAdamW(t *testing.T, args []Tensor, float dtype.Type, tolerance float64) {
	p, m, v := args[:1], []Tensor{ZerosLike(args[0])}, []Tensor{ZerosLike(args[0])}
	for i, g := range args[1:] {
		p, m, v = AdamW(p, []Tensor{g}, m, v, AdamWStep{
			LR: c.number("lr"), Beta1: c.number("beta1"), Beta2: c.number("beta2"), Eps: c.number("eps"), WeightDecay: c.number("decay"), Step: i + 1,
		})
	}
	for i, x := range []Tensor{p[0], m[0], v[0]} {
		compare(t, []string{"p", "m", "v"}[i], x, c.Want[i].tensor(t, float), tolerance, false)
	}
}

// sums are the ops whose small results may be what is left of large terms.
var sums = map[string]bool{
	"sum": true, "mean": true, "var": true, "cumsum": true, "matmul": true, "attention": true, "vec_dot": true,
	"kl_divergence": true, "cosine_similarity": true, "tensor_dot": true, "trace": true, "layer_norm": true, "rope": true,
	"conv1d": true, "conv2d": true, "conv3d": true, "conv2d_same": true, "conv2d_axes": true,
	"conv_transpose1d": true, "conv_transpose2d": true, "conv_transpose3d": true,
	"avg_pool1d": true, "avg_pool2d": true, "avg_pool3d": true, "adaptive_avg_pool2d": true,
}

// compare holds got against want: bit for bit but for floats, whose tolerance is relative. A sum is exact to
// some digits of the largest element: a tenth of the tolerance.
func compare(t *testing.T, what string, got, want Tensor, tolerance float64, sum bool) {
	t.Helper()
	if got.Brief() != want.Brief() {
		t.Fatalf("%s: got %s, want %s", what, got.Brief(), want.Brief())
	}
	if !got.DType().Float() {
		if !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Errorf("%s: got %v\nwant %v", what, got, want)
		}
		return
	}
	p, q := got.Float64s(), want.Float64s()
	floor := 0.0
	if sum {
		for _, w := range q {
			if !math.IsInf(w, 0) && !math.IsNaN(w) {
				floor = max(floor, tolerance/10*math.Abs(w))
			}
		}
	}
	for i := range p {
		same := p[i] == q[i] || math.IsNaN(p[i]) && math.IsNaN(q[i])
		near := math.Abs(p[i]-q[i]) <= tolerance*math.Abs(q[i])+floor && !math.IsInf(q[i], 0)
		if !same && !near {
			t.Errorf("%s: element %d: got %v, want %v", what, i, p[i], q[i])
			return
		}
	}
}
