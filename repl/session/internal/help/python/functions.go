package python

import (
	"fmt"
	gotoken "go/token"
	"go/types"
	"strconv"
	"strings"
	"unicode"
)

// functions maps Python's functions to Go, as patterns. $1 and $2 are the arguments; their number must
// match.
var functions = map[string]string{
	"str": "fmt.Sprint($1)", "repr": "fmt.Sprint($1)", "type": `fmt.Sprintf("%T", $1)`, "open": "os.Open($1)", "ord": "[]rune($1)[0]",
	"chr": "string(rune($1))", "console.log": "fmt.Println($1)", "bool": "$1 != 0",
	"rand.randint": "$1 + rand.IntN($2-$1+1)", "all": "!slices.Contains($1, false)", "any": "slices.Contains($1, true)",
	"rand.choice": "$1[rand.IntN(len($1))]", "list": "slices.Clone($1)", "del": "delete($1, $2)", "tensor": "tensor.From($1)", "array": "tensor.From($1)",
}

// special has the functions whose Go depends on their arguments. They return false if they do not know the
// arguments.
var special map[string]func(p *reader, args []argument) (value, bool)

func init() { // the table's functions read expressions, which may use the table
	special = map[string]func(p *reader, args []argument) (value, bool){
		"print": printed, "len": length, "sum": sum, "range": ranged, "list": list, "set": set, "max": extreme("Max"), "min": extreme("Min"),
		"abs": absolute, "round": rounded, "int": toInt, "float": toFloat, "sorted": sorted, "reversed": reversed, "isinstance": isInstance,
		"next": next, "time.sleep": sleep, "dict": dict, "os.path.exists": exists, "any": tensorMethod("Any"), "all": tensorMethod("All"),
	}
}

// foreign translates a call of a function that Go does not have under this name.
func (p *reader) foreign(f value, args []argument) (value, bool) {
	switch {
	case f.module == "torch.save" || f.module == "torch.load":
		return p.file(f.name, args)
	case f.module == "torch.device" && len(args) == 1:
		return deviceNamed(args[0].text), true
	case f.text == "tokenizer" && p.stands("tok") != "":
		return p.calledValue(simple("%s", p.stands("tok")), p.typeOf(p.stands("tok")), args)
	case (f.text == "load_dataset" || f.name == "load_dataset") && len(args) > 0:
		return dataset(args), true
	case f.name == "pad" && (f.module == "F.pad" || strings.HasSuffix(f.module, "functional.pad")):
		return p.padded(args)
	case f.name == "DataLoader":
		return p.loader(args)
	case strings.EqualFold(f.name, "gelu"):
		return p.gelu(f, args)
	case f.name == "huber_loss" || f.name == "smooth_l1_loss" || f.name == "SmoothL1Loss":
		return p.huber(f, args)
	case f.text == "optim.SGD" || f.text == "optim.AdamW":
		if v, ok := p.optimizer(f, args); ok {
			return v, true
		}
	}
	if t := p.typeOf(f.text); t != nil {
		return p.calledValue(f, t, args)
	}
	if how := special[f.text]; how != nil {
		if v, ok := how(p, args); ok {
			return v, true
		}
	}
	if pattern, ok := functions[f.text]; ok {
		return fill(pattern, "", args)
	}
	if f.module == "" {
		number := false // sqrt(2) is of package math
		if v, ok := only(args); ok {
			family, _ := p.family(v)
			number = family == integer || family == float
		}
		if module := imported(f.text); module != "" && (!number || unicode.IsUpper(rune(f.text[0]))) { // from torch.nn import Linear
			return p.called(p.packageMember(simple("%s", module), f.text), args), true
		}
		return value{}, false
	}
	if how := special[f.name]; how != nil { // np.sum(xs)
		if v, ok := how(p, args); ok && strings.HasPrefix(f.text, "tensor.") {
			return v, true
		}
	}
	return p.named(f, args)
}

// sleep is time.sleep of seconds.
func sleep(p *reader, args []argument) (value, bool) {
	v, ok := only(args)
	switch f, untyped := p.family(v); {
	case f == float:
		return simple("time.Sleep(time.Duration(%s * float64(time.Second)))", v.in(mulPrec)), ok
	case !untyped:
		return simple("time.Sleep(time.Duration(%s) * time.Second)", v.goText()), ok
	}
	return simple("time.Sleep(%s * time.Second)", v.in(mulPrec)), ok
}

// fill writes a pattern with a receiver and arguments.
func fill(pattern, x string, args []argument) (value, bool) {
	if strings.Contains(pattern, "$*") {
		list := make([]value, len(args))
		for i, a := range args {
			list[i] = a.value
		}
		return simple("%s", strings.NewReplacer("$x", x, "$*", texts(list)).Replace(pattern)), true
	}
	if strings.Contains(pattern, "$"+strconv.Itoa(len(args)+1)) || len(args) > 0 && !strings.Contains(pattern, "$"+strconv.Itoa(len(args))) {
		return value{}, false
	}
	text := strings.ReplaceAll(pattern, "$x", x)
	for i, a := range args {
		if a.name != "" && a.name != "dim" && a.name != "axis" {
			return value{}, false
		}
		text = strings.ReplaceAll(text, "$"+strconv.Itoa(i+1), a.in(primary))
	}
	v := value{text: text, prec: primary}
	switch {
	case strings.Contains(text, " = ") || strings.Contains(text, " != "):
		v.prec = comparePrec
	case strings.HasPrefix(text, "!"):
		v.prec = unaryPrec
	case strings.Contains(pattern, " + "):
		v.prec = addPrec
	}
	return v, true
}

func printed(p *reader, args []argument) (value, bool) {
	name, sep := "fmt.Println", ""
	var list []value
	for _, a := range args {
		switch {
		case a.name == "end":
			name = "fmt.Print"
		case a.name == "sep":
			sep = a.text
		case a.name == "":
			list = append(list, a.value)
		}
	}
	if between, err := strconv.Unquote(sep); err == nil && len(list) > 1 {
		format := strings.TrimSuffix(strings.Repeat("%v"+strings.ReplaceAll(between, "%", "%%"), len(list)), between)
		if name == "fmt.Println" {
			format += "\n"
		}
		return simple("fmt.Printf(%q, %s)", format, texts(list)), true
	}
	if len(list) == 1 && name == "fmt.Println" && list[0].either == nil {
		if format, ok := strings.CutPrefix(list[0].text, `fmt.Sprintf("`); ok { // one call is enough
			if body, rest, ok := strings.Cut(format, `", `); ok {
				return simple(`fmt.Printf("%s\n", %s`, body, rest), true
			}
		}
	}
	return simple("%s(%s)", name, texts(list)), true
}

// only returns the argument of a call with one argument.
func only(args []argument) (value, bool) {
	if len(args) != 1 || args[0].name != "" || args[0].either != nil {
		return value{}, false
	}
	return args[0].value, true
}

func length(p *reader, args []argument) (value, bool) {
	v, ok := only(args)
	if !ok {
		return value{}, false
	}
	if p.is(v, tensorFamily) {
		return simple("%s.Len(0)", v.in(primary)), true
	}
	if p.isSource(v) && strings.Contains(strings.ToLower(v.text), "load") { // batches, of a loader
		return simple("data.Epoch(%s)", v.goText()), true
	}
	if p.isSource(v) {
		return simple("%s.Len()", v.in(primary)), true
	}
	return simple("len(%s)", v.goText()), true
}

func sum(p *reader, args []argument) (value, bool) {
	v, ok := only(args)
	if !ok {
		return value{}, false
	}
	switch f, _ := p.family(v); f {
	case tensorFamily:
		return simple("%s.Sum()", v.in(primary)), true
	case slice:
		zero := "0"
		if elem := p.element(v); elem != "int" {
			zero = elem + "(0)"
		}
		text := v.goText()
		name := p.result("total") // sum would hide the function that a person looks for
		p.first("%s := %s", name, zero)
		p.first("for _, v := range %s { %s += v }", text, name)
		return simple("%s", name), true
	}
	return value{}, false
}

// keepRate keeps the learning rate of an optimizer as a variable, for the steps: an Update takes it.
func (p *reader) keepRate(rate value) {
	if f, untyped := p.family(rate); f == float && !untyped && gotoken.IsIdentifier(rate.text) || p.loops > 0 {
		return
	}
	p.first("lr %s %s", p.operator("lr", rate), rate.goText())
}

// gelu is F.gelu(x) or nn.GELU(), exact or approximate="tanh".
func (p *reader) gelu(f value, args []argument) (value, bool) {
	last := len(args) - 1
	if last < 0 || args[last].name != "approximate" {
		return p.named(f, args)
	}
	switch tanh := args[last].text == `"tanh"`; {
	case !tanh:
		return p.named(f, args[:last])
	case last == 0:
		return simple(`nn.Func{Name: "GELU", Apply: tensor.Tensor.GeluTanh}`), true
	}
	return simple("%s.GeluTanh()", args[0].in(primary)), true
}

// huber is F.huber_loss(x, y, delta=1.0), or smooth_l1_loss, which is divided by its beta.
func (p *reader) huber(f value, args []argument) (value, bool) {
	bend, smooth := "1", f.name != "huber_loss"
	if last := len(args) - 1; last >= 0 && (args[last].name == "delta" || args[last].name == "beta") {
		bend, args = args[last].goText(), args[:last]
	}
	text := "nn.HuberLoss(" + bend + ")"
	switch {
	case f.name == "SmoothL1Loss" && bend == "1":
		return simple("%s", text), len(args) == 0
	case f.name == "SmoothL1Loss": // no loss here is divided by a number
		giveUp()
	case len(args) != 2 || args[1].name != "":
		return value{}, false
	case smooth && bend != "1":
		return simple("%s(%s, %s).Div(%s)", text, args[0].goText(), args[1].goText(), bend), true
	}
	return simple("%s(%s, %s)", text, args[0].goText(), args[1].goText()), true
}

// usualDecay is what PyTorch takes off the weights where a call does not say how much.
var usualDecay = map[string]string{"AdamW": "0.01"}

// optimizer translates optim.SGD(m.parameters(), lr=…). The rate is given where a step is made. Adam adds its
// weight_decay to the gradients, which no rule here does.
func (p *reader) optimizer(f value, args []argument) (value, bool) {
	if len(args) == 0 {
		return value{}, false
	}
	params := "New(" + args[0].text + ")"
	if list := args[0].items; len(list) > 0 { // optim.SGD([w, b])
		params = "Of(" + texts(list) + ")"
	} else if !strings.HasPrefix(args[0].text, "nn.Params(") {
		return value{}, false
	}
	var settings []argument
	decay := usualDecay[f.name]
	for _, a := range args[1:] {
		switch {
		case a.name == "lr" || a.name == "":
			p.keepRate(a.value)
		case a.name == "weight_decay":
			decay = a.goText()
		case a.name == "betas" && len(a.items) == 2:
			settings = append(settings, argument{"beta1", a.items[0]}, argument{"beta2", a.items[1]})
		case a.name == "foreach" || a.name == "fused":
		default:
			settings = append(settings, a)
		}
	}
	if strings.Trim(decay, "0.") != "" {
		settings = append(settings, argument{"weight_decay", simple("%s", decay)})
		if f.name == "Adam" {
			return value{}, false
		}
	}
	options, _ := under(p.typeOf(f.text + "{}")).(*types.Struct)
	if options == nil {
		return value{}, false
	}
	return simple("%s{%s}.%s", f.text, fields(options, settings), params), true
}

func tensorMethod(name string) func(p *reader, args []argument) (value, bool) {
	return func(p *reader, args []argument) (value, bool) {
		v, ok := only(args)
		if !ok || !p.is(v, tensorFamily) {
			return value{}, false
		}
		return simple("%s.%s()", v.in(primary), name), true
	}
}

func extreme(name string) func(p *reader, args []argument) (value, bool) {
	return func(p *reader, args []argument) (value, bool) {
		v, ok := only(args)
		if !ok {
			return value{}, false
		}
		switch f, _ := p.family(v); f {
		case tensorFamily:
			return simple("%s.%s()", v.in(primary), name), true
		case slice:
			return simple("slices.%s(%s)", name, v.goText()), true
		}
		return value{}, false
	}
}

func absolute(p *reader, args []argument) (value, bool) {
	v, ok := only(args)
	if !ok {
		return value{}, false
	}
	switch f, untyped := p.family(v); {
	case f == tensorFamily:
		return simple("%s.Abs()", v.in(primary)), true
	case f == integer && !untyped:
		return simple("max(%s, -%s)", v.goText(), v.in(unaryPrec)), true
	}
	return simple("math.Abs(%s)", v.goText()), true
}

func rounded(p *reader, args []argument) (value, bool) {
	if v, ok := only(args); ok {
		if p.is(v, tensorFamily) {
			return simple("%s.Round()", v.in(primary)), true
		}
		return simple("math.Round(%s)", p.asFloat(v)), true
	}
	if len(args) != 2 {
		return value{}, false
	}
	digits, err := strconv.Atoi(args[1].text)
	if err != nil || digits < 1 || digits > 9 {
		return value{}, false
	}
	scale := "1" + strings.Repeat("0", digits)
	return value{text: fmt.Sprintf("math.Round(%s*%s) / %s", p.asFloat(args[0].value), scale, scale), prec: mulPrec}, true
}

func toInt(p *reader, args []argument) (value, bool) {
	v, ok := only(args)
	if !ok {
		return value{}, false
	}
	switch f, untyped := p.family(v); {
	case f == stringFamily:
		return simple("strconv.Atoi(%s)", v.goText()), true
	case f == tensorFamily:
		return simple("int(%s.Item())", v.in(primary)), true
	case f == float && untyped:
		return simple("int(math.Trunc(%s))", v.goText()), true
	}
	return simple("int(%s)", v.goText()), true
}

func toFloat(p *reader, args []argument) (value, bool) {
	v, ok := only(args)
	if !ok {
		return value{}, false
	}
	switch f, _ := p.family(v); f {
	case stringFamily:
		return simple("strconv.ParseFloat(%s, 64)", v.goText()), true
	case tensorFamily:
		return simple("%s.Item()", v.in(primary)), true
	}
	return simple("float64(%s)", v.goText()), true
}

// ranged translates range(n) outside of a loop: a slice of numbers.
func ranged(p *reader, args []argument) (value, bool) {
	if len(args) == 2 && args[0].name == "" && args[1].name == "" {
		from, to := args[0].value, args[1].value
		name := p.result("numbers")
		p.first("%s := make([]int, %s-%s)", name, to.in(addPrec), from.in(mulPrec))
		p.first("for i := range %s { %[1]s[i] = %s + i }", name, from.in(addPrec))
		return simple("%s", name), true
	}
	v, ok := only(args)
	if !ok {
		return value{}, false
	}
	text := v.goText()
	name := p.result("numbers")
	p.first("%s := make([]int, %s)", name, text)
	p.first("for i := range %s { %[1]s[i] = i }", name)
	return simple("%s", name), true
}

func list(p *reader, args []argument) (value, bool) {
	v, ok := only(args)
	if !ok {
		return value{}, false
	}
	switch {
	case p.is(v, mapFamily):
		return simple("slices.Sorted(maps.Keys(%s))", v.goText()), true
	case p.is(v, stringFamily):
		return simple("[]rune(%s)", v.goText()), true
	case p.taken[v.text]: // of list(range(10))
		return v, true
	}
	return value{}, false
}

func set(p *reader, args []argument) (value, bool) {
	if len(args) == 0 {
		return simple("map[string]bool{}"), true
	}
	v, ok := only(args)
	if !ok || !p.is(v, slice) {
		return value{}, false
	}
	text, elem := v.goText(), p.element(v)
	name := p.result("set")
	p.first("%s := map[%s]bool{}", name, elem)
	p.first("for _, v := range %s { %s[v] = true }", text, name)
	return simple("%s", name), true
}

// dict is dict(a=1, b=2).
func dict(p *reader, args []argument) (value, bool) {
	var keys, values []value
	for _, a := range args {
		if a.name == "" {
			return value{}, false
		}
		keys, values = append(keys, simple("%q", a.name)), append(values, a.value)
	}
	return p.table(keys, values), true
}

// exists is os.path.exists(path).
func exists(p *reader, args []argument) (value, bool) {
	v, ok := only(args)
	if !ok {
		return value{}, false
	}
	err := p.fresh("err")
	p.first("_, %s := os.Stat(%s)", err, v.goText())
	return value{text: err + " == nil", prec: comparePrec}, true
}

func sorted(p *reader, args []argument) (value, bool) {
	if len(args) == 2 && args[1].name == "reverse" && args[1].text == "true" {
		v, ok := sorted(p, args[:1])
		if !ok || p.is(args[0].value, tensorFamily) {
			return simple("%s.Flip(0)", v.in(primary)), ok
		}
		name := p.result("sorted")
		p.first("%s := %s", name, v.goText())
		p.first("slices.Reverse(%s)", name)
		return simple("%s", name), true
	}
	v, ok := only(args)
	if !ok {
		return value{}, false
	}
	switch f, _ := p.family(v); f {
	case tensorFamily:
		return simple("%s.Sort(0)", v.in(primary)), true
	case mapFamily:
		return simple("slices.Sorted(maps.Keys(%s))", v.goText()), true
	}
	return simple("slices.Sorted(slices.Values(%s))", v.goText()), true
}

func reversed(p *reader, args []argument) (value, bool) {
	v, ok := only(args)
	if !ok {
		return value{}, false
	}
	return p.reversed(v), true
}

func isInstance(p *reader, args []argument) (value, bool) {
	if len(args) != 2 {
		return value{}, false
	}
	ok := p.fresh("ok")
	p.first("_, %s := any(%s).(%s)", ok, args[0].goText(), goType(args[1].text))
	return simple("%s", ok), true
}

// goTypes maps Python's types in annotations and conversions to Go's.
var goTypes = map[string]string{
	"float": "float64", "str": "string", "bytes": "[]byte", "list": "[]int", "dict": "map[string]any", "object": "any", "Tensor": "tensor.Tensor",
	"torch.Tensor": "tensor.Tensor", "np.ndarray": "tensor.Tensor", "number": "float64", "boolean": "bool",
}

func goType(name string) string {
	if t, ok := goTypes[name]; ok {
		return t
	}
	return name
}
