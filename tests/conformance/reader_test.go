package conformance

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
)

// Messages written by hand: a field's key is its number and wire type, then comes the value.
func varint(number int, v uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(nil, uint64(number)<<3|wireVarint), v)
}

func text[T string | []byte](number int, s T) []byte {
	b := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(number)<<3|wireBytes), uint64(len(s)))
	return append(b, s...)
}

func float(number int, f float32) []byte {
	b := binary.AppendUvarint(nil, uint64(number)<<3|wireFixed32)
	return binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
}

func message(fields ...[]byte) []byte { return bytes.Join(fields, nil) }

func floats(values ...float32) (raw []byte) {
	for _, f := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(f))
	}
	return raw
}

// floatTensor is a TensorProto of raw data.
func floatTensor(values ...float32) []byte {
	return message(varint(1, uint64(len(values))), varint(2, uint64(kFloat)), text(9, floats(values...)))
}

// leakyRelu is a ModelProto of one LeakyRelu with alpha = 0.5.
func leakyRelu() []byte {
	alpha := message(text(1, "alpha"), float(2, 0.5), varint(20, 1))
	tensorType := text(1, message(varint(1, uint64(kFloat))))
	port := func(name string) []byte { return message(text(1, name), text(2, tensorType)) }
	node := message(text(1, "x"), text(2, "y"), text(4, "LeakyRelu"), text(5, alpha))
	graph := message(text(1, node), text(2, "graph"), text(11, port("x")), text(12, port("y")))
	return message(varint(1, 8), text(7, graph), text(8, message(text(1, ""), varint(2, 16))))
}

func TestReadModel(t *testing.T) {
	m, err := readModel(leakyRelu())
	if err != nil {
		t.Fatal(err)
	}
	n := m.graph.nodes[0]
	if n.op != "LeakyRelu" || n.version != 16 || n.attributes["alpha"].float != 0.5 ||
		!slices.Equal(n.inputs, []string{"x"}) || !slices.Equal(n.outputs, []string{"y"}) {
		t.Errorf("got %+v, want LeakyRelu of version 16 from x to y with alpha 0.5", n)
	}
	if want := []port{{"x", true}}; !slices.Equal(m.graph.inputs, want) {
		t.Errorf("got inputs %v, want %v", m.graph.inputs, want)
	}
}

func TestReadAttribute(t *testing.T) {
	name, a, err := readAttribute(message(text(1, "a"), varint(3, math.MaxUint64), text(4, "mode"),
		varint(8, 7), text(8, []byte{1, 2, 0xff, 1}), float(7, 2), text(7, floats(3, 4)), text(5, floatTensor(1))))
	if err != nil {
		t.Fatal(err)
	}
	if name != "a" || a.number != -1 || a.text != "mode" || !slices.Equal(a.ints, []int64{7, 1, 2, 255}) ||
		!slices.Equal(a.floats, []float64{2, 3, 4}) || a.tensor == nil || a.graph {
		t.Errorf("got %q %+v, want packed and unpacked lists joined", name, a)
	}
}

// Every place in which a TensorProto may keep its elements.
func TestReadTensorProto(t *testing.T) {
	one := func(u uint64) []uint64 { return []uint64{u} }
	for _, c := range []struct {
		name string
		data []byte
		kind kind
		want []uint64
	}{
		{"raw float", floatTensor(1.5), kFloat, one(0x3fc00000)},
		{"float data", message(varint(1, 1), varint(2, 1), text(4, floats(1.5))), kFloat, one(0x3fc00000)},
		{"unpacked float data", message(varint(1, 1), varint(2, 1), float(4, 1.5)), kFloat, one(0x3fc00000)},
		{"packed shape", message(text(1, []byte{1, 1}), varint(2, 1), float(4, 1.5)), kFloat, one(0x3fc00000)},
		{"a number", message(varint(2, 7), varint(7, 5)), kInt64, one(5)},
		{"nothing", message(varint(1, 0), varint(2, 7)), kInt64, nil},
		{"nothing of much", message(varint(1, 0), varint(1, math.MaxInt32), varint(2, 7)), kInt64, nil},
		{"raw int8", message(varint(1, 1), varint(2, 3), text(9, []byte{0xfe})), kInt8, one(math.MaxUint64 - 1)},
		{"raw int16", message(varint(1, 1), varint(2, 5), text(9, []byte{0xfe, 0xff})), kInt16, one(math.MaxUint64 - 1)},
		{"raw int64", message(varint(1, 1), varint(2, 7), text(9, []byte{1, 0, 0, 0, 0, 0, 0, 0x80})), kInt64, one(1<<63 | 1)},
		{"int8 data", message(varint(1, 1), varint(2, 3), varint(5, math.MaxUint64)), kInt8, one(math.MaxUint64)},
		{"float16 data", message(varint(1, 1), varint(2, 10), varint(5, 0x3c00)), kFloat16, one(0x3c00)},
		{"double data", message(varint(1, 1), varint(2, 11), text(10, []byte{0, 0, 0, 0, 0, 0, 0xf0, 0x3f})), kDouble, one(0x3ff0000000000000)},
		{"uint32 data", message(varint(1, 1), varint(2, 12), varint(11, 4e9)), kUint32, one(4e9)},
		{"raw int4, low bits first", message(varint(1, 3), varint(2, 22), text(9, []byte{0x81, 0x07})), kInt4, []uint64{1, math.MaxUint64 - 7, 7}},
		{"raw uint2", message(varint(1, 5), varint(2, 25), text(9, []byte{0xe4, 0x02})), kUint2, []uint64{0, 1, 2, 3, 2}},
		{"int4 data", message(varint(1, 3), varint(2, 22), text(5, []byte{0x81, 1, 0x07})), kInt4, []uint64{1, math.MaxUint64 - 7, 7}},
	} {
		got, err := readTensorProto(c.data)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if got.kind != c.kind || !slices.Equal(got.bits, c.want) {
			t.Errorf("%s: got %v %x, want %v %x", c.name, got.kind, got.bits, c.kind, c.want)
		}
	}
}

// A malformed file gives an error that names the fault.
func TestMalformed(t *testing.T) {
	long := bytes.Repeat([]byte{0xff}, 11)
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"key cut off", []byte{0x80}, "field's key"},
		{"field 0", []byte{0x00, 0x01}, "field number 0"},
		{"number cut off", []byte{0x10, 0x80}, "no whole number in field 2"},
		{"number too long", append([]byte{0x10}, long...), "no whole number in field 2"},
		{"group", []byte{0x13}, "wire type 3"},
		{"bytes cut off", []byte{0x4a, 0x05, 0x00}, "beyond the end"},
		{"length of 2⁶⁴−1", append([]byte{0x4a}, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01), "beyond the end"},
		{"fixed cut off", []byte{0x25, 0, 0}, "want 4"},
		{"wide cut off", []byte{0x51, 0, 0}, "want 8"},
		{"wrong wire type", text(2, "x"), "wire type 2 in field 2"},
		{"doubles as floats", message(varint(2, 1), append(binary.AppendUvarint(nil, 4<<3|wireFixed64), make([]byte, 8)...)), "numbers of 4 bytes"},
		{"packed floats cut off", message(varint(2, 1), text(4, []byte{1, 2, 3})), "multiple of 4"},
		{"packed numbers cut off", message(varint(2, 6), text(5, []byte{0x80})), "packed field 5"},
		{"no type", varint(1, 1), "kind(0)"},
		{"complex", varint(2, 14), "kind(14)"},
		{"too few bytes", message(varint(1, 2), varint(2, 1), text(9, make([]byte, 7))), "got 7 bytes for float[2], want 8"},
		{"too few elements", message(varint(1, 2), varint(2, 7), varint(7, 1)), "got 1 elements"},
		{"negative length", message(varint(1, math.MaxUint64), varint(2, 1)), "lengths of 0 or more"},
		{"huge shape", message(varint(1, 1<<20), varint(1, 1<<20), varint(2, 1)), "fewer than 2³¹"},
		{"huge shape, no data", message(varint(1, 1<<30), varint(2, 25), text(9, "")), "want 268435456"},
		{"other file", message(varint(1, 1), varint(2, 1), text(13, "")), "another file"},
	} {
		if _, err := readTensorProto(c.data); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", c.name, err, c.want)
		}
	}
	whole := leakyRelu()
	for n := range whole {
		if m, err := readModel(whole[:n]); err == nil && m.graph.nodes[0].op != "LeakyRelu" {
			t.Errorf("the first %d bytes of a model: got a graph without its node and no error", n)
		}
	}
	if _, err := readModel(nil); err == nil {
		t.Error("an empty model: got no error")
	}
}

// The readers return for any bytes.
func FuzzReaders(f *testing.F) {
	f.Add(leakyRelu())
	f.Add(floatTensor(1, 2, 3))
	f.Add(message(varint(1, 3), varint(2, 22), text(9, []byte{0x81, 0x07})))
	f.Add(text(7, text(1, text(5, message(text(1, "t"), text(5, floatTensor(1)))))))
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := readModel(b); err == nil && len(m.graph.nodes) == 0 {
			t.Error("readModel gave a model without nodes and no error")
		}
		if x, err := readTensorProto(b); err == nil && x.kind != kString && len(x.bits) != product(x.shape) {
			t.Errorf("readTensorProto gave %d elements for shape %v", len(x.bits), x.shape)
		}
	})
}

// A zip of one case runs as ONNX's do, on each device; a wrong expectation is reported.
func TestSuite(t *testing.T) {
	before := device.Default().String()
	defer device.Use(before)
	for _, c := range []struct {
		name    string
		outputs []byte
		want    string
	}{
		{"right", floatTensor(-1, 3), ""},
		{"within the tolerance", floatTensor(-1.0005, 3), ""},
		{"wrong value", floatTensor(-1, 3.25), "element 1: got 3, want 3.25"},
		{"NaN", floatTensor(-1, float32(math.NaN())), "element 1: got 3, want NaN"},
		{"wrong shape", floatTensor(-1, 3, 0), "got shape [2], want [3]"},
		{"wrong type", message(varint(1, 2), varint(2, 6), varint(5, 1), varint(5, 3)), "got float in f32, want int32 in i32"},
		{"malformed", []byte{0x80}, "field's key"},
	} {
		file := filepath.Join(t.TempDir(), "cases.zip")
		writeZip(t, file, map[string][]byte{
			"test_a/model.onnx":                  leakyRelu(),
			"test_a/test_data_set_0/input_0.pb":  floatTensor(-2, 3),
			"test_a/test_data_set_0/output_0.pb": c.outputs,
		})
		s, closeFile, err := openSuite(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"ref", "cpu"} {
			m, err := newMachine(name)
			if err != nil {
				t.Fatal(err)
			}
			if _, why, _ := s.run(m, "test_a"); c.want == "" && why != "" || !strings.Contains(why, c.want) {
				t.Errorf("%s on %s: got %q, want %q", c.name, name, why, c.want)
			}
		}
		closeFile()
	}
}

func writeZip(t *testing.T, name string, files map[string][]byte) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w := zip.NewWriter(f)
	for name, data := range files {
		entry, err := w.Create(name)
		if err == nil {
			_, err = entry.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
