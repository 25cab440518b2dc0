package python

import (
	"fmt"
	gotoken "go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

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
		"input_ids": {"$x"}, "first": {"$x[0]"}, "last": {"$x[len($x)-1]"},
	},
	stringFamily: {
		"upper": {"strings.ToUpper($x)"}, "toupper": {"strings.ToUpper($x)"}, "touppercase": {"strings.ToUpper($x)"},
		"lower": {"strings.ToLower($x)"}, "tolower": {"strings.ToLower($x)"}, "tolowercase": {"strings.ToLower($x)"}, "title": {"strings.ToTitle($x)"},
		"len": {"len($x)"}, "length": {"len($x)"}, "size": {"len($x)"}, "strip": {"strings.TrimSpace($x)", "strings.Trim($x, $1)"}, "trim": {"strings.TrimSpace($x)"},
		"split": {"strings.Fields($x)", "strings.Split($x, $1)"}, "splitlines": {`strings.Split($x, "\n")`}, "replace": {"strings.ReplaceAll($x, $1, $2)"},
		"startswith": {"strings.HasPrefix($x, $1)"}, "endswith": {"strings.HasSuffix($x, $1)"},
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

// format is "{} of {:.2f}".format(x, y).
func (p *reader) format(x value, args []argument) (value, bool) {
	body, err := strconv.Unquote(x.text)
	if err != nil {
		return value{}, false
	}
	var list []value
	for _, a := range args {
		list = append(list, a.value)
	}
	var verbs strings.Builder
	for i := 0; i < len(body); i++ {
		switch c := body[i]; c {
		case '{':
			name, spec, length := field(body[i+1:])
			if name != "" {
				return value{}, false
			}
			verbs.WriteString(verbOf(spec))
			i += length + 1
		case '%':
			verbs.WriteString("%%")
		default:
			verbs.WriteByte(c)
		}
	}
	return simple("fmt.Sprintf(%q, %s)", verbs.String(), texts(list)), true
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
	case p.is(x, stringFamily) && name == "format":
		return p.format(x, args)
	case p.is(x, mapFamily) && name == "get" && len(args) == 2:
		return p.entry(x, args[0].value, args[1].value), true
	case module == "Module" && name == "generate" && len(args) > 0 && p.is(args[0].value, slice):
		name = "generate_tokens"
	case module == "" && name == "requires_grad_" && len(args) == 1 && args[0].text == "false":
		return value{text: fmt.Sprintf("%s = %[1]s.Detach()", x.text), prec: comparePrec, changes: x.text}, gotoken.IsIdentifier(x.text)
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
		if v, ok := fill(pattern, operand, args); ok {
			return v, true
		}
	}
	return value{}, false
}
