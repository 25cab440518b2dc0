package python

import (
	"fmt"
	gotoken "go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// functions maps Python's functions to Go, as patterns. $1 and $2 are the arguments; their number must
// match.
var functions = map[string]string{
	"str": "fmt.Sprint($1)", "repr": "fmt.Sprint($1)", "type": `fmt.Sprintf("%T", $1)`, "open": "os.Open($1)", "ord": "[]rune($1)[0]",
	"chr": "string(rune($1))", "console.log": "fmt.Println($1)", "bool": "$1 != 0",
	"rand.randint": "$1 + rand.IntN($2-$1+1)", "all": "!slices.Contains($1, false)", "any": "slices.Contains($1, true)",
	"os.path.exists": "os.Stat($1)", "rand.choice": "$1[rand.IntN(len($1))]", "list": "slices.Clone($1)", "del": "delete($1, $2)", "tensor": "tensor.From($1)", "array": "tensor.From($1)",
}

// special has the functions whose Go depends on their arguments. They return false if they do not know the
// arguments.
var special map[string]func(p *reader, args []argument) (value, bool)

func init() { // the table's functions read expressions, which may use the table
	special = map[string]func(p *reader, args []argument) (value, bool){
		"print": printed, "len": length, "sum": sum, "range": ranged, "list": list, "set": set, "max": extreme("Max"), "min": extreme("Min"),
		"abs": absolute, "round": rounded, "int": toInt, "float": toFloat, "sorted": sorted, "reversed": reversed, "isinstance": isInstance,
		"next": next, "time.sleep": sleep, "optim.SGD": optimizer("SGD"), "optim.AdamW": optimizer("AdamW"), "any": tensorMethod("Any"), "all": tensorMethod("All"),
	}
}

// foreign translates a call of a function that Go does not have under this name.
func (p *reader) foreign(f value, args []argument) (value, bool) {
	switch {
	case f.module == "torch.save" || f.module == "torch.load":
		return p.file(f.name, args)
	case f.module == "torch.device" && len(args) == 1:
		return deviceNamed(args[0].text), true
	case f.name == "DataLoader":
		return p.loader(args)
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
		if module := imported(f.text); module != "" { // from torch.nn import Linear
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
	if f, _ := p.family(v); f == float {
		return simple("time.Sleep(time.Duration(%s * float64(time.Second)))", v.in(mulPrec)), ok
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
	name := "fmt.Println"
	var list []value
	for _, a := range args {
		switch {
		case a.name == "end":
			name = "fmt.Print"
		case a.name == "":
			list = append(list, a.value)
		}
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
		name := p.result("sum")
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

// optimizer translates optim.SGD(m.parameters(), lr=…). The rate is given where a step is made.
func optimizer(name string) func(p *reader, args []argument) (value, bool) {
	return func(p *reader, args []argument) (value, bool) {
		if len(args) == 0 {
			return value{}, false
		}
		params := args[0].text
		if list := args[0].items; len(list) > 0 { // optim.SGD([w, b])
			for i, v := range list {
				list[i] = simple("nn.NewParam(%q, &%s)", v.text, v.text)
			}
			params = "[]nn.Param{" + texts(list) + "}"
		} else if !strings.HasPrefix(params, "nn.Params(") {
			return value{}, false
		}
		var settings []argument
		for _, a := range args[1:] {
			switch {
			case a.name == "lr" || a.name == "":
				p.keepRate(a.value)
			case a.name == "betas" && len(a.items) == 2:
				settings = append(settings, argument{"beta1", a.items[0]}, argument{"beta2", a.items[1]})
			case a.name == "foreach" || a.name == "fused":
			default:
				settings = append(settings, a)
			}
		}
		options, _ := under(p.typeOf("optim." + name + "{}")).(*types.Struct)
		if options == nil {
			return value{}, false
		}
		return simple("optim.%s{%s}.New(%s)", name, fields(options, settings), params), true
	}
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

func sorted(p *reader, args []argument) (value, bool) {
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

// methods maps methods of Python and JavaScript to Go, by family and by lower-case name, as patterns; $x
// is the value.
var methods = map[family]map[string][]string{
	slice: {
		"append": {"$x = append($x, $1)"}, "push": {"$x = append($x, $1)"}, "add": {"$x = append($x, $1)"}, "extend": {"$x = append($x, $1...)"},
		"len": {"len($x)"}, "length": {"len($x)"}, "size": {"len($x)"}, "shape": {"len($x)"},
		"sort": {"slices.Sort($x)"}, "reverse": {"slices.Reverse($x)"}, "contains": {"slices.Contains($x, $1)"}, "includes": {"slices.Contains($x, $1)"},
		"index": {"slices.Index($x, $1)"}, "indexof": {"slices.Index($x, $1)"}, "join": {`strings.Join($x, $1)`, `strings.Join($x, ", ")`},
		"copy": {"slices.Clone($x)"}, "pop": {"$x = $x[:len($x)-1]", "$x = slices.Delete($x, $1, $1+1)"}, "insert": {"$x = slices.Insert($x, $1, $2)"},
		"remove": {"$x = slices.DeleteFunc($x, func(v int) bool { return v == $1 })"}, "clear": {"$x = $x[:0]"},
		"filter":  {"slices.DeleteFunc(slices.Clone($x), $1)"},
		"foreach": {"for _, v := range $x { fmt.Println(v) }"}, "map": {"for i, v := range $x { $x[i] = v }"},
		"sum": {"tensor.From($x).Sum()"}, "mean": {"tensor.From($x).Mean()"}, "min": {"slices.Min($x)"}, "max": {"slices.Max($x)"},
		"first": {"$x[0]"}, "last": {"$x[len($x)-1]"},
	},
	stringFamily: {
		"upper": {"strings.ToUpper($x)"}, "toupper": {"strings.ToUpper($x)"}, "touppercase": {"strings.ToUpper($x)"},
		"lower": {"strings.ToLower($x)"}, "tolower": {"strings.ToLower($x)"}, "tolowercase": {"strings.ToLower($x)"}, "title": {"strings.ToTitle($x)"},
		"len": {"len($x)"}, "length": {"len($x)"}, "size": {"len($x)"}, "strip": {"strings.TrimSpace($x)", "strings.Trim($x, $1)"}, "trim": {"strings.TrimSpace($x)"},
		"split": {"strings.Fields($x)", "strings.Split($x, $1)"}, "splitlines": {`strings.Split($x, "\n")`}, "replace": {"strings.ReplaceAll($x, $1, $2)"},
		"format": {"fmt.Sprintf($x, $1)", "fmt.Sprintf($x, $1, $2)"}, "startswith": {"strings.HasPrefix($x, $1)"}, "endswith": {"strings.HasSuffix($x, $1)"},
		"find": {"strings.Index($x, $1)"}, "index": {"strings.Index($x, $1)"}, "indexof": {"strings.Index($x, $1)"}, "count": {"strings.Count($x, $1)"},
		"contains": {"strings.Contains($x, $1)"}, "includes": {"strings.Contains($x, $1)"}, "join": {"strings.Join($1, $x)"}, "encode": {"[]byte($x)"},
		"substring": {"$x[$1:$2]"}, "charat": {"$x[$1]"}, "repeat": {"strings.Repeat($x, $1)"}, "isdigit": {`strings.Trim($x, "0123456789") == ""`},
	},
	mapFamily: {
		"keys": {"slices.Sorted(maps.Keys($x))"}, "values": {"slices.Collect(maps.Values($x))"}, "items": {"for k, v := range $x { fmt.Println(k, v) }"},
		"len": {"len($x)"}, "length": {"len($x)"}, "size": {"len($x)"}, "get": {"$x[$1]"}, "has": {"_, ok := $x[$1]"},
		"contains": {"_, ok := $x[$1]"}, "pop": {"delete($x, $1)"}, "remove": {"delete($x, $1)"}, "delete": {"delete($x, $1)"}, "put": {"$x[$1] = $2"},
		"set": {"$x[$1] = $2"}, "copy": {"maps.Clone($x)"}, "clear": {"clear($x)"}, "update": {"maps.Copy($x, $1)"},
	},
	integer: {"tostring": {"fmt.Sprint($x)"}, "string": {"fmt.Sprint($x)"}, "astype": {"float64($x)"}},
	float:   {"tostring": {"fmt.Sprint($x)"}, "string": {"fmt.Sprint($x)"}, "abs": {"math.Abs($x)"}, "astype": {"int($x)"}, "round": {"math.Round($x)"}},
}

// Member returns the Go for a member x.name that Go does not have, or "". It leaves its arguments open.
func Member(t types.Type, x, name string) string {
	f, _ := familyOf(t)
	for _, pattern := range methods[f][strings.ToLower(name)] {
		return strings.NewReplacer("$x", x, "$1", "…", "$2", "…", "$*", "…").Replace(pattern)
	}
	return ""
}

// moved is x.to(where) of a tensor: where is a device by its name in PyTorch, or a type.
func (p *reader) moved(x value, where argument) value {
	switch {
	case strings.HasPrefix(where.text, `"cuda`), strings.HasPrefix(where.text, `"mps`), strings.HasPrefix(where.text, `"gpu`), where.text == "device":
		return simple("%s.To(device.Default())", x.in(primary))
	case strings.HasPrefix(where.text, `"cpu`):
		return simple("%s.To(device.CPU())", x.in(primary))
	case strings.HasPrefix(where.text, "dtype."):
		return simple("%s.Cast(%s)", x.in(primary), where.text)
	}
	if p.is(where.value, tensorFamily) {
		return simple("%s.To(%s.Device())", x.in(primary), where.in(primary))
	}
	return simple("%s.To(%s)", x.in(primary), where.goText())
}

// entry is m.get(key, otherwise).
func (p *reader) entry(m, key, otherwise value) value {
	if slices.Contains([]string{"0", "0.0", `""`, "false", "nil"}, otherwise.text) {
		return simple("%s[%s]", m.in(primary), key.goText())
	}
	ok := p.fresh("ok")
	v := p.result("v")
	p.first("%s, %s := %s[%s]", v, ok, m.in(primary), key.goText())
	p.first("if !%s { %s = %s }", ok, v, otherwise.goText())
	return simple("%s", v)
}

// biased says whether an argument asks for the divisor n: unbiased=False, correction=0.
func biased(a argument) bool {
	return a.name == "unbiased" && a.text == "false" || a.name == "correction" && a.text == "0"
}

// method translates a call of a method that the value does not have; f is x.name.
func (p *reader) method(f value, args []argument) (value, bool) {
	if f.member == nil || p.typeOf(f.text) != nil {
		return value{}, false
	}
	x, name := f.member.x, f.member.name
	t := p.typeOf(x.text)
	module := Kind(t)
	switch {
	case module == "" && name == "to" && len(args) > 0:
		return p.moved(x, args[0]), true
	case module == "" && (name == "clamp" || name == "clip") && len(args) == 1 && (args[0].name == "min" || args[0].name == "max"):
		args[0].name, name = "", "clamp_"+args[0].name
	case module == "" && name == "flatten" && len(args) == 1 && args[0].text == "1":
		return simple("%s.Reshape(%[1]s.Len(0), -1)", x.in(primary)), true
	case module == "" && (name == "std" || name == "var") && len(args) > 0 && biased(args[len(args)-1]):
		f = p.member(x, strings.ToUpper(name[:1])+name[1:])
		return p.plainCall(f, args[:len(args)-1]), true
	case p.is(x, mapFamily) && name == "get" && len(args) == 2:
		return p.entry(x, args[0].value, args[1].value), true
	case module == "" && name == "fill_" && len(args) == 1:
		return simple("%[1]s.Set(tensor.FullLike(%[1]s, %[2]s))", x.in(primary), args[0].goText()), true
	case module == "Module" && name == "to" && !gotoken.IsIdentifier(x.text): // a new one is on the default device
		return x, true
	case module == "Module" && name == "to" && len(args) == 1 && (strings.HasPrefix(args[0].text, "dtype.")):
		return simple("nn.Convert(%s, %s)", x.goText(), args[0].text), true
	case module == "Module" && name == "to" && len(args) == 1:
		d := deviceNamed(args[0].text)
		if d.text == "device" {
			d = simple("device.Default()")
		}
		return simple("nn.To(%s, %s)", x.goText(), d.text), true
	case module == "Module" && name == "load_state_dict" && len(args) > 0:
		path, _, _ := strings.Cut(strings.TrimPrefix(args[0].text, "safetensors.Load("), ")")
		return simple("nn.Load(%s, %s)", path, x.goText()), strings.HasPrefix(args[0].text, "safetensors.Load(")
	}
	if v, ok := p.known(module, name, append([]argument{{value: x}}, args...)); ok {
		return v, true
	}
	fam, _ := familyOf(t)
	for _, pattern := range methods[fam][strings.ToLower(name)] {
		operand := x.text
		if name == "format" && fam == stringFamily {
			operand = strings.ReplaceAll(operand, "{}", "%v")
		}
		if v, ok := fill(pattern, operand, args); ok {
			return v, true
		}
	}
	return value{}, false
}
