package python

import (
	"cmp"
	"fmt"
	gotoken "go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
)

// A training is what the statements of a step have said so far: PyTorch keeps it in the tensors and in the
// optimizer.
type training struct {
	loss string // whose gradients the step takes
	clip string // the largest norm of the gradients
	held bool   // in torch.no_grad(), where x -= … changes a parameter
}

// step writes a call of a training step that is no statement here, or another: opt.zero_grad() is nothing,
// loss.backward() says which loss opt.step() means.
func (t *translator) step(n *node) (text string, ok bool) {
	name, call, _ := strings.Cut(n.kids[0].path(), ".")
	typ := t.typeOf(name)
	kind := Kind(typ)
	if call == "zero_grad" || call == "backward" || call == "step" {
		need(!slices.ContainsFunc(n.kids[1:], func(k *node) bool { return !implied(argument{name: k.key}) }))
	}
	steps := t.root.has(".", "step")
	switch {
	case call == "grad.zero_" && kind == "", call == "zero_grad" && (kind == "Optimizer" || kind == "Module"):
		return "", true
	case call == "backward" && kind == "" && (steps || t.root.has(".", "grad")):
		t.training.loss = name
		return "", true
	case strings.HasSuffix(call, "utils.clip_grad_norm_") && steps && len(n.kids) == 3:
		t.training.clip = t.expr(n.kids[2])
		return "", true
	case call != "step":
	case typ != nil && typeText(typ) == "optim.Schedule":
		return "", true
	case kind == "Optimizer":
		return t.stepped(name), true
	case t.training.loss != "":
		giveUp() // the step has no optimizer
	}
	return "", false
}

// stepped is optimizer.step().
func (t *translator) stepped(optimizer string) string {
	loss, schedule := t.stands("loss"), t.stands("schedule")
	need(loss != "")
	if t.training.clip == "" && schedule == "" {
		return fmt.Sprintf("%s.Step(%s, %s)", optimizer, loss, t.rate())
	}
	grads, scale := fmt.Sprintf("%s.Grads(%s)", optimizer, loss), "tensor.Tensor{}"
	if t.training.clip != "" {
		name := t.fresh("grads")
		t.first("%s := %s", name, grads)
		grads, scale = name, t.fresh("scale")
		t.first("%s, _ := optim.ClipScale(%s, %s)", scale, grads, t.training.clip)
	}
	update := fmt.Sprintf("%s.Update(%s, %s, %s)", optimizer, grads, t.rate(), scale)
	if schedule != "" {
		update += fmt.Sprintf(".At(%s.At)", schedule)
	}
	return update + ".Commit()"
}

// rate returns the learning rate: a variable that has it, or the usual one.
func (t *translator) rate() string { return cmp.Or(t.stands("rate"), "1e-3") }

// optimizer writes optim.SGD(m.parameters(), lr=…). The rate is kept as a variable for the steps, where it is
// given. Adam adds its weight_decay to the gradients, which no rule here does; AdamW has one in any case.
func (t *translator) optimizer(f, name string, args []argument) (string, bool) {
	if len(args) == 0 {
		return "", false
	}
	params := "New(" + args[0].text + ")"
	if list := args[0].items(); len(list) > 0 { // optim.SGD([w, b])
		params = "Of(" + t.joined(list) + ")"
	} else if !strings.HasPrefix(params, "New(nn.Params(") {
		return "", false
	}
	var list []argument
	decay := map[string]string{"AdamW": "0.01"}[name]
	for i, a := range args[1:] {
		switch {
		case a.name == "" && i > 0:
			return "", false
		case a.name == "lr" || a.name == "":
			typ := t.typeOf(a.text)
			kept := Family(typ) == "float" && !untyped(a.text, typ) && gotoken.IsIdentifier(a.text)
			if t.loops == 0 && !kept {
				t.first("lr %s %s", t.operator("lr", a.text), a.text)
			}
		case a.name == "weight_decay":
			decay = a.text
		case a.name == "betas" && len(a.items()) == 2:
			for i, n := range a.items() {
				list = append(list, argument{name: fmt.Sprint("beta", i+1), text: t.expr(n)})
			}
		default:
			list = append(list, a)
		}
	}
	if strings.Trim(decay, "0.") != "" {
		if name == "Adam" {
			return "", false
		}
		list = append(list, argument{name: "weight_decay", text: decay})
	}
	options, ok := under(t.typeOf(f + "{}")).(*types.Struct)
	need(ok)
	return fmt.Sprintf("%s{%s}.%s", f, t.fields(options, list), params), true
}

// batches opens the loop over the batches of a source; n is their number, if it has a name. Each epoch has an
// order of its own.
func (t *translator) batches(source, n string, names []*node) string {
	need(len(names) <= 2)
	if n == "" || n == "_" {
		n = t.fresh("n")
	}
	b := names[0].text
	if len(names) == 2 {
		b = t.fresh("b")
	}
	number := n
	if t.epoch != "" {
		number = fmt.Sprintf("%s*data.Epoch(%s)+%s", t.epoch, source, n)
	}
	err := t.fresh("err")
	opening := fmt.Sprintf("for %s := range data.Epoch(%s) { %s, %s := %s.Batch(%s); if %[4]s != nil { panic(%[4]s) }; ",
		n, source, b, err, in(source, primary), number)
	if len(names) == 2 {
		opening += fmt.Sprintf("%s, %s := %s.Inputs, %[3]s.Targets; ", names[0].text, names[1].text, b)
	}
	return opening
}

// learn ends the line with train.Run, if the statements of a loop over batches have no Go of their own: it
// makes the steps.
func (t *translator) learn(n *node, opening string) {
	body := n.last()
	if body != nil {
		start := *t
		t.done, t.taken = map[*node]string{}, maps.Clone(t.taken)
		failed := !t.tries(func() { t.body(body, opening, "") })
		*t = start
		if !failed || !body.has(".", "backward") {
			return
		}
	}
	model, loss := t.stands("m"), cmp.Or(t.stands("lossfn"), "nn.CrossEntropyLoss")
	need(model != "" && t.function == nil)
	_, source, _ := strings.Cut(opening, "data.Epoch(")
	source, _, _ = strings.Cut(source, ") {")
	t.whole = fmt.Sprintf("h := train.Run(ctx, train.WithLoss(%s, %s), %s, train.Options{Epochs: %s, LR: optim.Constant(%s)})",
		model, loss, source, t.epochs, t.rate())
	giveUp()
}

// tries says whether f does not give up. What f puts before the statement is forgotten.
func (t *translator) tries(f func()) bool {
	before := slices.Clone(t.before)
	defer func() { t.before = before }()
	return understood(f)
}

// withoutGradients writes the statements of a block in which PyTorch makes no gradients: they stand alone.
func (t *translator) withoutGradients(n *node) string {
	call := n.kids[0]
	need(call.op == "call" && n.last() != nil)
	_, name := cutLast(call.kids[0].path())
	need(slices.Contains([]string{"no_grad", "inference_mode", "set_grad_enabled"}, name))
	t.training.held = true
	text := t.block(n.last())
	t.training.held = false
	if t.open > 0 || t.root.kids[len(t.root.kids)-1] != n || text == "" {
		return text
	}
	return text + " // nothing need be switched off: gradients are made where tensor.Grad asks for them"
}
