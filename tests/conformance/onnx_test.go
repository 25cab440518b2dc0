// Package conformance holds the engine against test cases that others wrote.
//
// ONNX's node tests are one model with one operator each, with inputs and expected outputs:
//
//	go test ./tests/conformance -run ONNX -v -args -onnx=FILE -device=cpu,emulated
//
// takes a zip of them (test_NAME/model.onnx, test_NAME/test_data_set_0/input_0.pb …; the folders of
// onnx/backend/test/data/node, zipped), runs each case on the devices that are named (ref and cpu, if none
// is) and compares as ONNX's runner does. The device emulated is a GPU that the processor plays (see
// devicetest). It ends with a line of how many pass, which go test shows only with -v, or without it when no
// package is named: in this folder, as go test -run ONNX -args -onnx=FILE. A relative FILE is looked for in
// this folder. The operators are written here with what package tensor exports, as a user would. Of the 1,884
// cases that version 1.23 of onnx makes (tests/peers/onnx_cases.py), 1,648 pass on the processor.
//
// Reading order: wire_test.go (protobuf), model_test.go and tensorproto_test.go (ONNX's messages),
// value_test.go (kinds and dtypes), call_test.go (what an operator gets), ops_*_test.go (the operators),
// onnx_test.go (the run).
package conformance

import (
	"archive/zip"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/device/devicetest"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

var (
	onnxFile = flag.String("onnx", "", "zip of ONNX node tests")
	devices  = flag.String("device", "ref,cpu", "devices, with commas between them, that the ONNX node tests run on")
)

// A suite is the cases of a zip.
type suite struct {
	files map[string]*zip.File
	cases []string
}

// outOfScope has the cases that are not expected to pass, by the contents of their files.
var outOfScope = []struct {
	reason string
	match  func(*testCase) bool
}{
	{"strings: a tensor holds numbers and booleans", (*testCase).strings},
	{"sequences and optional values: an operator takes and gives tensors", func(c *testCase) bool { return !c.tensors() }},
	{"graphs as attributes: control flow is Go's", (*testCase).control},
	{"random bits of another generator", uses("Bernoulli", "RandomUniform", "RandomNormal", "RandomUniformLike", "RandomNormalLike", "Multinomial")},
	{"optional values", uses("Optional", "OptionalHasElement", "OptionalGetElement")},
	{"convolution over places between elements", uses("DeformConv")},
	{"recurrent layers", uses("RNN", "LSTM", "GRU")},
	{"images: decoding, resampling and boxes", uses("ImageDecoder", "Resize", "Upsample", "GridSample", "AffineGrid", "RoiAlign", "MaxRoiPool", "NonMaxSuppression")},
	{"signals: Fourier transforms and what is built on them", uses("DFT", "STFT", "MelWeightMatrix")},
	{"decompositions of matrices", uses("Det")},
	{"text: n-grams", uses("TfIdfVectorizer")},
	{"another domain: trees and features of ai.onnx.ml", func(c *testCase) bool { return c.domain("ai.onnx.ml") }},
}

func uses(ops ...string) func(*testCase) bool {
	return func(c *testCase) bool { return c.uses(ops...) }
}

func TestONNX(t *testing.T) {
	if *onnxFile == "" {
		t.Skip("no cases: give a zip of ONNX node tests with -args -onnx=FILE")
	}
	s, closeFile, err := openSuite(*onnxFile)
	if err != nil {
		t.Fatal(err)
	}
	defer closeFile()
	if strings.Contains(*devices, "emulated") {
		devicetest.Register("emulated")
	}
	before := device.Default().String()
	defer device.Use(before)
	var summary []string
	for _, name := range strings.Split(*devices, ",") {
		if name == "emulated" {
			rehearse(t, s)
		}
		m, err := newMachine(name)
		if err != nil {
			t.Fatal(err)
		}
		passed, widened := 0, 0
		for _, c := range s.cases {
			wide, why, out := s.run(m, c)
			switch {
			case why == "":
				passed++
				if wide {
					widened++
				}
			case out:
				fmt.Printf("onnx: %s: %s: out of scope: %s\n", name, c, why)
			default:
				fmt.Printf("onnx: %s: %s: FAIL: %s\n", name, c, why)
				t.Errorf("%s: %s: %s", name, c, why)
			}
		}
		fmt.Printf("onnx: %s: %d of the %d that pass have types that the engine or the device lacks, floats of 8 or 4 bits, integers of 4 or 2, f64 on GPUs, which travel in another type\n", name, widened, passed)
		summary = append(summary, fmt.Sprintf("%s %d of %d", name, passed, len(s.cases)))
	}
	fmt.Println("onnx: " + strings.Join(summary, ", "))
}

// rehearse lets the emulated device know what it will be asked for.
func rehearse(t *testing.T, s *suite) {
	m, err := newMachine("rehearsal")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range s.cases {
		s.run(m, c)
	}
}

// openSuite opens a zip; a relative path may also be relative to the module's root.
func openSuite(name string) (*suite, func() error, error) {
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) && !filepath.IsAbs(name) {
		name = filepath.Join("..", "..", name)
	}
	z, err := zip.OpenReader(name)
	if err != nil {
		return nil, nil, err
	}
	s := &suite{files: map[string]*zip.File{}}
	for _, f := range z.File {
		s.files[f.Name] = f
		if path.Base(f.Name) == "model.onnx" {
			s.cases = append(s.cases, path.Dir(f.Name))
		}
	}
	slices.Sort(s.cases)
	if len(s.cases) == 0 {
		z.Close()
		return nil, nil, fmt.Errorf("%s: got no model.onnx, want at least one", name)
	}
	return s, z.Close, nil
}

// read returns the contents of a file, or nil if it does not exist.
func (s *suite) read(name string) ([]byte, error) {
	f := s.files[name]
	if f == nil {
		return nil, nil
	}
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// A testCase is a model and its data sets.
type testCase struct {
	*model
	sets []dataSet
}

type dataSet struct{ inputs, outputs []*tensorProto }

// load reads a case.
func (s *suite) load(name string) (*testCase, error) {
	b, err := s.read(name + "/model.onnx")
	if err != nil {
		return nil, err
	}
	c := &testCase{}
	if c.model, err = readModel(b); err != nil || !c.tensors() {
		return c, err
	}
	for i := 0; ; i++ {
		var set dataSet
		dir := fmt.Sprintf("%s/test_data_set_%d/", name, i)
		if set.inputs, err = s.loadTensors(dir + "input_"); err == nil {
			set.outputs, err = s.loadTensors(dir + "output_")
		}
		if err != nil {
			return c, err
		}
		if set.outputs == nil {
			break
		}
		c.sets = append(c.sets, set)
	}
	if len(c.sets) == 0 {
		return c, fmt.Errorf("got no expected output")
	}
	return c, nil
}

func (s *suite) loadTensors(prefix string) (list []*tensorProto, err error) {
	for i := 0; ; i++ {
		b, err := s.read(fmt.Sprintf("%s%d.pb", prefix, i))
		if b == nil || err != nil {
			return list, err
		}
		t, err := readTensorProto(b)
		if err != nil {
			return nil, fmt.Errorf("%s%d.pb: %w", prefix, i, err)
		}
		list = append(list, t)
	}
}

// tensors says whether all inputs and outputs are tensors.
func (c *testCase) tensors() bool {
	for _, p := range slices.Concat(c.graph.inputs, c.graph.outputs) {
		if !p.tensor {
			return false
		}
	}
	return true
}

func (c *testCase) strings() bool {
	for _, s := range c.sets {
		for _, t := range slices.Concat(s.inputs, s.outputs) {
			if t.kind == kString {
				return true
			}
		}
	}
	return false
}

func (c *testCase) control() bool {
	for _, n := range c.graph.nodes {
		for _, a := range n.attributes {
			if a.graph {
				return true
			}
		}
	}
	return false
}

func (c *testCase) domain(name string) bool {
	return slices.ContainsFunc(c.graph.nodes, func(n *node) bool { return n.domain == name })
}

func (c *testCase) uses(ops ...string) bool {
	for _, n := range c.graph.nodes {
		if slices.Contains(ops, n.op) {
			return true
		}
	}
	return false
}

// run runs a case. It says whether a kind needed a wider carrier, why the case failed ("" if it passed), and
// whether that is out of scope.
func (s *suite) run(m machine, name string) (widened bool, why string, out bool) {
	c, err := s.load(name)
	if err != nil {
		return false, err.Error(), false
	}
	for _, o := range outOfScope {
		if o.match(c) {
			return false, o.reason, true
		}
	}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case refusal:
			why, out = r.reason, r.out
		case *tensor.Error:
			why = r.Error()
		default:
			why = fmt.Sprintf("panic: %v", r)
		}
	}()
	for _, set := range c.sets {
		got := c.execute(m, set.inputs)
		for i, want := range set.outputs {
			if d := m.compare(got[i], want); d != "" {
				return false, fmt.Sprintf("output %d: %s", i, d), false
			}
		}
		for _, t := range slices.Concat(set.inputs, set.outputs) {
			_, wide := m.carrier(t.kind)
			widened = widened || wide
		}
	}
	return widened, "", false
}

// execute computes the outputs of a graph.
func (c *testCase) execute(m machine, inputs []*tensorProto) []value {
	values := map[string]value{}
	for _, t := range c.graph.constants {
		values[t.name] = m.upload(t)
	}
	given := slices.DeleteFunc(slices.Clone(c.graph.inputs), func(p port) bool { _, ok := values[p.name]; return ok })
	for i, t := range inputs {
		if i >= len(given) {
			refuse("got %d inputs, want %d", len(inputs), len(given))
		}
		values[given[i].name] = m.upload(t)
	}
	for _, n := range c.graph.nodes {
		op := operators[n.op]
		if op == nil {
			refuse("operator %s is not implemented", n.op)
		}
		k := &call{machine: m, node: n}
		for _, name := range n.inputs {
			k.in = append(k.in, values[name])
		}
		for i, v := range op(k) {
			if i < len(n.outputs) && n.outputs[i] != "" {
				if len(c.graph.nodes) > 1 && !v.IsNone() {
					v.Eval() // between nodes a value is rounded to its type
				}
				values[n.outputs[i]] = v
			}
		}
	}
	out := make([]value, len(c.graph.outputs))
	for i, p := range c.graph.outputs {
		out[i] = values[p.name]
	}
	return out
}
