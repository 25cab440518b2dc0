package python

import (
	"fmt"
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

// step translates a statement of a training step that is no statement here, or another: opt.zero_grad() is
// nothing, loss.backward() says which loss opt.step() means.
func (p *reader) step() (text string, ok bool) {
	words := p.chain()
	if len(words) < 2 {
		return "", false
	}
	start, name := p.i, words[0]
	kind := Kind(p.typeOf(name))
	p.i += 2*len(words) - 1
	switch call := strings.Join(words[1:], "."); {
	case call == "grad.zero_" && kind == "", call == "zero_grad" && (kind == "Optimizer" || kind == "Module"):
		p.skipCall()
		return "", true
	case call == "backward" && kind == "" && (p.ahead("step") || p.ahead("grad")):
		p.skipCall()
		p.training.loss = name
		return "", true
	case (call == "nn.utils.clip_grad_norm_" || call == "utils.clip_grad_norm_") && p.ahead("step"):
		p.take("(")
		if args := p.callArguments(); len(args) > 1 {
			p.training.clip = args[1].goText()
			return "", true
		}
	case call == "step" && p.isSchedule(name):
		p.skipCall()
		return "", true
	case call == "step" && kind != "Optimizer" && p.training.loss != "":
		giveUp() // the step has no optimizer
	case call == "step" && kind == "Optimizer":
		p.skipCall()
		return p.stepped(name), true
	}
	p.i = start
	return "", false
}

// chain returns the names of a call that begins here, as in loss.backward(.
func (p *reader) chain() (words []string) {
	for i := p.i; p.toks[i].kind == word; i += 2 {
		words = append(words, p.toks[i].text)
		if p.toks[i+1].is("(") {
			return words
		}
		if !p.toks[i+1].is(".") {
			break
		}
	}
	return nil
}

// skipCall skips the arguments of a call.
func (p *reader) skipCall() {
	p.want("(")
	p.skipTo(")")
	p.want(")")
}

// ahead says whether a member comes further on.
func (p *reader) ahead(member string) bool {
	for i := p.i; i+1 < len(p.toks); i++ {
		if p.toks[i].is(".") && p.toks[i+1].is(member) {
			return true
		}
	}
	return false
}

// isSchedule says whether a variable is a schedule of learning rates.
func (p *reader) isSchedule(name string) bool {
	t := p.typeOf(name)
	return t != nil && typeText(t) == "optim.Schedule"
}

// stepped is optimizer.step().
func (p *reader) stepped(optimizer string) string {
	loss, schedule := p.training.loss, p.stands("schedule")
	if loss == "" {
		loss = p.stands("loss")
	}
	if loss == "" {
		giveUp()
	}
	if p.training.clip == "" && schedule == "" {
		return fmt.Sprintf("%s.Step(%s, %s)", optimizer, loss, p.rate())
	}
	grads, scale := fmt.Sprintf("%s.Grads(%s)", optimizer, loss), "tensor.Tensor{}"
	if p.training.clip != "" {
		name := p.fresh("grads")
		p.first("%s := %s", name, grads)
		grads = name
		factor := p.fresh("scale")
		p.first("%s, _ := optim.ClipScale(%s, %s)", factor, grads, p.training.clip)
		scale = factor
	}
	update := fmt.Sprintf("%s.Update(%s, %s, %s)", optimizer, grads, p.rate(), scale)
	if schedule != "" {
		update += fmt.Sprintf(".At(%s.At)", schedule)
	}
	return update + ".Commit()"
}

// rate returns the learning rate: a variable that has it, or the usual one.
func (p *reader) rate() string {
	if rate := p.stands("rate"); rate != "" {
		return rate
	}
	return "1e-3"
}

// batches opens the loop over the batches of a source; n is their number, if it has a name. Each epoch has an
// order of its own.
func (p *reader) batches(source value, n string, names []string) string {
	if len(names) > 2 {
		giveUp()
	}
	if n == "" || n == "_" {
		n = p.fresh("n")
	}
	b := names[0]
	if len(names) == 2 {
		b = p.fresh("b")
	}
	number := n
	if p.epoch != "" {
		number = fmt.Sprintf("%s*data.Epoch(%s)+%s", p.epoch, source.goText(), n)
	}
	err := p.fresh("err")
	opening := fmt.Sprintf("for %s := range data.Epoch(%s) { %s, %s := %s.Batch(%s); if %[4]s != nil { panic(%[4]s) }; ",
		n, source.goText(), b, err, source.in(primary), number)
	if len(names) == 2 {
		opening += fmt.Sprintf("%s := %s.Inputs, %[2]s.Targets; ", strings.Join(names, ", "), b)
	}
	return opening
}

// learn ends the line with the training that a loop over batches is: train.Run makes the steps.
func (p *reader) learn(source value) {
	model := p.stands("m")
	if model == "" || p.function != nil {
		giveUp()
	}
	loss := p.stands("lossfn")
	if loss == "" {
		loss = "nn.CrossEntropyLoss"
	}
	panic(whole(fmt.Sprintf("h := train.Run(ctx, train.WithLoss(%s, %s), %s, train.Options{Epochs: %s, LR: optim.Constant(%s)})",
		model, loss, source.goText(), p.epochs, p.rate())))
}

// whole is the panic value with the Go for a whole line, whose parts have none of their own; Line recovers
// it.
type whole string

// sourceLoop reads a loop over the batches of a source. Where its statements have no Go of their own, all of
// it is train.Run's.
func (p *reader) sourceLoop(source value, n string, names []string) string {
	opening := p.batches(source, n, names)
	if p.at(":") && p.toks[p.i+1].is(end) {
		p.learn(source)
	}
	state := *p
	failed := p.fails(func() { p.body(opening, "") })
	*p = state
	if failed && p.ahead("backward") {
		p.learn(source)
	}
	return opening
}

// fails says whether f gives up.
func (p *reader) fails(f func()) (failed bool) {
	before := slices.Clone(p.before)
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(notUnderstood); !ok {
				panic(r)
			}
			failed = true
		}
		p.before = before
	}()
	f()
	return false
}
