package python

import (
	"fmt"
	"go/types"
	"strings"
	"unicode"

	"github.com/mcs-notebook/mcs/repl/session/internal/help/elsewhere"
)

// imported returns the module from which people import a name to use it alone: nn for Linear, or "".
func imported(name string) string {
	modules := []string{"nn", "optim", "data", "torch", "hub"}
	if name == "" || !unicode.IsUpper(rune(name[0])) {
		modules = modules[3:]
	}
	for _, module := range modules {
		if len(elsewhere.Forms(module, name)) > 0 {
			return module
		}
	}
	return ""
}

// opened reads a block in which a file is open: it writes a text, or reads one.
func (p *reader) opened() string {
	p.i += 2
	args := p.callArguments()
	if len(args) == 0 || !p.take("as") {
		giveUp()
	}
	path, file := args[0].goText(), p.name()
	p.want(":")
	indented := p.take(indent)
	defer func() {
		if indented {
			p.want(dedent)
		}
	}()
	if p.at(file) { // f.write(text)
		if words := p.chain(); len(words) != 2 || words[1] != "write" {
			giveUp()
		}
		p.i += 4
		text := p.callArguments()
		return fmt.Sprintf("os.WriteFile(%s, []byte(%s), 0o644)", path, text[0].goText())
	}
	name := p.name()
	p.want("=")
	if words := p.chain(); len(words) != 2 || words[0] != file || words[1] != "read" {
		giveUp()
	}
	p.i += 3
	p.skipCall()
	return fmt.Sprintf("%s := data.ReadText(%s)", name, path)
}

// with reads a block in which PyTorch makes no gradients. Its statements stand alone.
func (p *reader) with() string {
	if p.at("open") && p.peek("(") {
		return p.opened()
	}
	p.want("torch")
	p.want(".")
	switch p.name() {
	case "no_grad", "inference_mode", "set_grad_enabled":
	default:
		giveUp()
	}
	for !p.take(":") {
		if p.at(end) {
			giveUp()
		}
		p.i++
	}
	indented := p.take(indent)
	p.training.held = true
	text := p.statements()
	p.training.held = false
	if indented {
		p.want(dedent)
	}
	if p.open > 0 || !p.at(end) || text == "" {
		return text
	}
	return text + " // nothing need be switched off: gradients are made where tensor.Grad asks for them"
}

// file translates torch.save and torch.load. A model is saved by package nn, and tensors by safetensors.
func (p *reader) file(name string, args []argument) (value, bool) {
	if name == "load" && len(args) > 0 {
		return simple("safetensors.Load(%s)", named(args[0].goText())), true
	}
	if len(args) != 2 {
		return value{}, false
	}
	what, path := args[0].value, named(args[1].goText())
	f, _ := p.family(what)
	model, ofModel := strings.CutPrefix(what.text, "nn.Params(")
	switch {
	case ofModel: // m.state_dict()
		return simple("nn.Save(%s, %s", path, model), true
	case Kind(p.typeOf(what.text)) == "Module":
		return simple("nn.Save(%s, %s)", path, what.text), true
	case f == tensorFamily:
		return simple("safetensors.Save(%s, map[string]tensor.Tensor{%q: %s}, nil)", path, what.text, what.text), true
	}
	return simple("safetensors.Save(%s, %s, nil)", path, what.text), true
}

// named returns the name of a file in the format that it will have.
func named(path string) string {
	for _, ending := range []string{`.pth"`, `.pt"`, `.bin"`} {
		if name, ok := strings.CutSuffix(path, ending); ok {
			return name + `.safetensors"`
		}
	}
	return path
}

// deviceNamed is torch.device("cuda"), or of an expression that is a device in Go.
func deviceNamed(name string) value {
	switch {
	case strings.HasPrefix(name, `"cpu`):
		return simple("device.CPU()")
	case strings.HasPrefix(name, `"`):
		return simple("device.Default()")
	}
	return simple("%s", name)
}

// loader translates DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True): examples know their batch.
func (p *reader) loader(args []argument) (value, bool) {
	if len(args) == 0 {
		return value{}, false
	}
	pairs, ok := strings.CutSuffix(args[0].text, ", 64)") // of TensorDataset
	if !ok || !strings.HasPrefix(pairs, "data.Pairs(") {
		return args[0].value, p.isSource(args[0].value)
	}
	batch := "1"
	for i, a := range args {
		if a.name == "batch_size" || a.name == "" && i == 1 {
			batch = a.goText()
		}
	}
	return simple("%s, %s)", pairs, batch), true
}

// next is next(iter(loader)), or next(model.parameters()).
func next(p *reader, args []argument) (value, bool) {
	v, ok := only(args)
	if ok && strings.HasPrefix(v.text, "nn.Params(") {
		return simple("%s[0].Value()", v.text), true
	}
	source, iterates := strings.CutPrefix(v.text, "iter(")
	return simple("%s.Batch(0)", strings.TrimSuffix(source, ")")), ok && iterates
}

// isSource says whether a value gives out batches.
func (p *reader) isSource(v value) bool {
	t := p.typeOf(v.text)
	if t == nil {
		return false
	}
	for _, name := range []string{"Batch", "Fingerprint"} {
		if o, _, _ := types.LookupFieldOrMethod(t, true, nil, name); o == nil {
			return false
		}
	}
	return true
}
