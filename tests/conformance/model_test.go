package conformance

import (
	"fmt"
	"math"
)

// The parts of ONNX's messages (onnx/onnx.proto) that the tests read; the numbers in the readers below are
// the field numbers there.
type (
	// A model is a ModelProto: a graph and the version of each operator set that it uses, by domain.
	model struct {
		opsets map[string]int
		graph  graph
	}

	// A graph is a GraphProto. Inputs and outputs are names.
	graph struct {
		nodes           []*node
		constants       []*tensorProto
		inputs, outputs []port
	}

	// A port is a ValueInfoProto: a name, and whether its type is a tensor's (and not a sequence's, a map's
	// …).
	port struct {
		name   string
		tensor bool
	}

	// A node is a NodeProto. An input or output that is left out has the name "".
	node struct {
		op, domain      string
		version         int // of the operator set
		inputs, outputs []string
		attributes      map[string]attribute
	}

	// An attribute is an AttributeProto without its graphs.
	attribute struct {
		float  float32
		number int64
		text   string
		tensor *tensorProto
		floats []float64
		ints   []int64
		graph  bool
	}
)

// readModel reads a ModelProto.
func readModel(b []byte) (*model, error) {
	m := &model{opsets: map[string]int{}}
	err := eachField(b, func(x field) error {
		switch x.number {
		case 7:
			g, err := readGraph(x.data)
			m.graph = g
			return orWire(err, x)
		case 8:
			return orWire(m.readOpset(x.data), x)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	if len(m.graph.nodes) == 0 {
		return nil, fmt.Errorf("model: got no node in the graph, want at least one")
	}
	for _, n := range m.graph.nodes {
		n.version = m.opsets[n.domain]
	}
	return m, nil
}

// orWire returns the error of reading a message, or the error of a field with a wrong wire type.
func orWire(err error, x field) error {
	if err != nil {
		return err
	}
	return x.want(wireBytes)
}

func (m *model) readOpset(b []byte) error {
	var domain string
	var version int64
	err := eachField(b, func(x field) error {
		switch x.number {
		case 1:
			return x.text(&domain)
		case 2:
			return x.integer(&version)
		}
		return nil
	})
	m.opsets[domain] = int(version)
	return err
}

func readGraph(b []byte) (g graph, err error) {
	err = eachField(b, func(x field) error {
		switch x.number {
		case 1:
			n, err := readNode(x.data)
			g.nodes = append(g.nodes, n)
			return orWire(err, x)
		case 5:
			t, err := readTensorProto(x.data)
			g.constants = append(g.constants, t)
			return orWire(err, x)
		case 11, 12:
			p, err := readPort(x.data)
			if x.number == 11 {
				g.inputs = append(g.inputs, p)
			} else {
				g.outputs = append(g.outputs, p)
			}
			return orWire(err, x)
		}
		return nil
	})
	return g, err
}

func readPort(b []byte) (p port, err error) {
	err = eachField(b, func(x field) error {
		switch x.number {
		case 1:
			return x.text(&p.name)
		case 2: // TypeProto: field 1 is a tensor's type
			return orWire(eachField(x.data, func(kind field) error {
				p.tensor = p.tensor || kind.number == 1
				return nil
			}), x)
		}
		return nil
	})
	return p, err
}

func readNode(b []byte) (*node, error) {
	n := &node{attributes: map[string]attribute{}}
	err := eachField(b, func(x field) error {
		switch x.number {
		case 1, 2:
			var name string
			if err := x.text(&name); err != nil {
				return err
			}
			if x.number == 1 {
				n.inputs = append(n.inputs, name)
			} else {
				n.outputs = append(n.outputs, name)
			}
		case 4:
			return x.text(&n.op)
		case 5:
			name, a, err := readAttribute(x.data)
			n.attributes[name] = a
			return orWire(err, x)
		case 7:
			return x.text(&n.domain)
		}
		return nil
	})
	if n.domain == "ai.onnx" {
		n.domain = ""
	}
	return n, err
}

func readAttribute(b []byte) (name string, a attribute, err error) {
	err = eachField(b, func(x field) error {
		switch x.number {
		case 1:
			return x.text(&name)
		case 2:
			return x.float(&a.float)
		case 3:
			return x.integer(&a.number)
		case 4:
			return x.text(&a.text)
		case 5:
			a.tensor, err = readTensorProto(x.data)
			return orWire(err, x)
		case 6, 11:
			a.graph = true
		case 7:
			var bits []uint64
			err := x.fixed(4, &bits)
			for _, u := range bits {
				a.floats = append(a.floats, float64(math.Float32frombits(uint32(u))))
			}
			return err
		case 8:
			return x.integers(&a.ints)
		}
		return nil
	})
	return name, a, err
}
