package python

import (
	"fmt"
	"strings"
)

// forLoop reads a loop over something, with the body on its line or without.
func (p *reader) forLoop() string {
	bracket := p.at("(") && (p.peek("let") || p.peek("const") || p.peek("var")) && p.take("(")
	epoch, epochs := p.epoch, p.epochs
	defer func() { p.epoch, p.epochs = epoch, epochs }()
	opening := p.loop()
	if bracket {
		p.want(")")
	}
	names := loopNames(opening)
	return opening + p.body(opening, "fmt.Println("+strings.Join(names, ", ")+")") + closed(opening)
}

// loop reads `row in xs`, and gives the Go that opens the loop.
func (p *reader) loop() string {
	var names []string
	if p.at("let") || p.at("const") || p.at("var") {
		p.i++
	}
	bracket := p.take("(")
	for {
		if p.take("(") { // i, (x, y)
			bracket = true
		}
		names = append(names, p.name())
		if !p.take(",") {
			break
		}
	}
	if bracket {
		p.want(")")
	}
	if !p.take("in") {
		p.want("of")
	}
	if f := p.tok(); f.kind == word && p.peek("(") {
		if how := iterators[f.text]; how != nil {
			if text := how(p, names, p.arguments()); text != "" {
				return text
			}
			giveUp()
		}
	}
	x := p.or()
	if p.isSource(x) {
		return p.sourceLoop(x, "", names)
	}
	for _, suffix := range []struct{ method, format string }{
		{".items()", "for %[2]s := range %[1]s { "}, {".Items()", "for %[2]s := range %[1]s { "},
	} {
		if m, ok := strings.CutSuffix(x.text, suffix.method); ok {
			return fmt.Sprintf(suffix.format, m, strings.Join(names, ", "))
		}
	}
	return p.over(x, names)
}

// over opens the loop over the elements of a value.
func (p *reader) over(x value, names []string) string {
	if m, ok := strings.CutPrefix(x.text, "for k, v := range "); ok { // m.items()
		m, _, _ = strings.Cut(m, " {")
		if len(names) == 2 {
			return fmt.Sprintf("for %s := range %s { ", strings.Join(names, ", "), m)
		}
	}
	if params, ok := strings.CutPrefix(x.text, "nn.Params("); ok && len(names) == 2 { // of m.named_parameters()
		return fmt.Sprintf("for _, %s := range nn.Params(%s { %s := %[1]s.Name; ", names[1], params, names[0])
	}
	if len(names) != 1 {
		giveUp()
	}
	switch f, _ := p.family(x); f {
	case tensorFamily:
		return fmt.Sprintf("for i := range %s.Len(0) { %s := %[1]s.At(i); ", x.in(primary), names[0])
	case mapFamily, integer:
		return fmt.Sprintf("for %s := range %s { ", names[0], x.goText())
	}
	return fmt.Sprintf("for _, %s := range %s { ", names[0], x.goText())
}

// iterators translates loops over Python's iterators that are not a value in Go.
var iterators map[string]func(p *reader, names []string, args []value) string

func init() { // they read expressions
	iterators = map[string]func(p *reader, names []string, args []value) string{
		"range": rangeLoop, "enumerate": enumerateLoop, "zip": zipLoop, "reversed": backwards,
	}
}

func rangeLoop(p *reader, names []string, args []value) string {
	if len(names) != 1 || len(args) == 0 || len(args) > 3 {
		return ""
	}
	i := names[0]
	p.epoch, p.epochs = i, args[0].goText()
	if len(args) > 1 {
		p.epochs = args[1].in(addPrec) + "-" + args[0].in(mulPrec)
	}
	if len(args) == 1 {
		return fmt.Sprintf("for %s := range %s { ", i, args[0].goText())
	}
	condition, step := "<", "++"
	if len(args) == 3 {
		step = " += " + args[2].goText()
		if back, ok := strings.CutPrefix(args[2].text, "-"); ok {
			condition, step = ">", " -= "+back
		}
	}
	return fmt.Sprintf("for %[1]s := %[2]s; %[1]s %[3]s %[4]s; %[1]s%[5]s { ", i, args[0].goText(), condition, args[1].in(addPrec), step)
}

func enumerateLoop(p *reader, names []string, args []value) string {
	if len(args) == 1 && p.isSource(args[0]) && len(names) > 1 {
		return p.sourceLoop(args[0], names[0], names[1:])
	}
	if len(names) != 2 || len(args) != 1 {
		return ""
	}
	if p.is(args[0], tensorFamily) {
		return fmt.Sprintf("for %s := range %s.Len(0) { %s := %[2]s.At(%[1]s); ", names[0], args[0].in(primary), names[1])
	}
	return fmt.Sprintf("for %s, %s := range %s { ", names[0], names[1], args[0].goText())
}

func zipLoop(p *reader, names []string, args []value) string {
	if len(names) != len(args) || len(args) < 2 {
		return ""
	}
	elems := make([]string, len(args))
	for i, a := range args {
		elems[i] = a.in(primary) + "[i]"
		if p.is(a, tensorFamily) {
			elems[i] = a.in(primary) + ".At(i)"
		}
	}
	over := args[0].goText()
	if p.is(args[0], tensorFamily) {
		over = args[0].in(primary) + ".Len(0)"
	}
	return fmt.Sprintf("for i := range %s { %s := %s; ", over, strings.Join(names, ", "), strings.Join(elems, ", "))
}

func backwards(p *reader, names []string, args []value) string {
	if len(names) != 1 || len(args) != 1 || !p.is(args[0], slice) {
		return ""
	}
	return fmt.Sprintf("for _, %s := range slices.Backward(%s) { ", names[0], args[0].goText())
}

// loopNames returns the variables of an opening that its body should use.
func loopNames(opening string) (names []string) {
	header, rest, _ := strings.Cut(opening, "{ ")
	declared := strings.TrimPrefix(header, "for ")
	if rest != "" { // row := x.At(i)
		declared = rest
		if strings.Contains(header, "i :=") {
			declared, _, _ = strings.Cut(rest, " :=")
			return strings.Split(declared, ", ")
		}
		declared, _, _ = strings.Cut(rest, " :=")
		header, _, _ = strings.Cut(strings.TrimPrefix(header, "for "), " :=")
		return append(strings.Split(header, ", "), strings.Split(declared, ", ")...)
	}
	declared, _, _ = strings.Cut(declared, " :=")
	for _, name := range strings.Split(declared, ", ") {
		if name != "_" {
			names = append(names, name)
		}
	}
	return names
}
