package help

import (
	"go/ast"
	"go/parser"
	"regexp"
	"strings"
	"unicode"

	"github.com/mcs-notebook/mcs/internal/lazy"
	"github.com/mcs-notebook/mcs/repl/session/internal/help/elsewhere"
	"github.com/mcs-notebook/mcs/repl/session/internal/help/python"
	"github.com/mcs-notebook/mcs/stdlib"
)

// People come from other languages. They may type text that is not Go, or Go with another meaning. These
// tables have the Go way, shown beside the checker's message.

// An idiom is a line of another language and the advice for it.
type idiom struct {
	line func() *regexp.Regexp
	Say  string // $1 … are the groups of line
}

func idioms(pairs ...string) (list []idiom) {
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, idiom{lazy.Regexp(pairs[i]), pairs[i+1]})
	}
	return list
}

// ForeignLines are lines that do not parse.
var ForeignLines = idioms(
	`^for\s+(\w+)\s+in\s+(.+?)\s*[:{]`, "write for _, $1 := range $2 { … }",
	`^for\s+(\w+\s*,\s*\w+)\s+in\s+(.+?)\s*[:{]`, "write for $1 := range $2 { … }",
	`^while\s+(?:[Tt]rue|1)\b`, "write for { … }",
	`^while\s+\(?(.+?)\)?\s*[:{]`, "write for $1 { … }",
	`^(?:async\s+)?(?:def|fn|function)\s+(\w+)`, "write func $1(x int) int { … }",
	`^async\b`, "go f() runs f beside the rest",
	`^elif\s+(.+?)\s*[:{]`, "write } else if $1 { … }",
	`^elif\b`, "write } else if … { … }",
	`^else\b`, "else stands on the line of the closing brace: } else {",
	`(\S+)\s+is\s+(?:not\s+)?(?:None|null|nil)`, "None is called nil; of numbers, strings and structs there is none",
	`^if\s+([^:{]+?)\s*:`, "write if $1 { … }",
	`^if\s+([^={}]+?)\s*=\s*([^={}]+?)\s*\{`, "compare with ==: if $1 == $2 { … }",
	`^(?:let|auto|val)\s+(?:mut\s+)?(\w+)\s*=\s*(.+?);?$`, "write $1 := $2",
	`^(int|float|double|string|bool|str)\s+(\w+)\s*=\s*(.+?);?$`, "write $2 := $3",
	`^(?:\w+\s*:?=\s*)?lambda\s+(\w+)\s*:\s*(.+?)$`, "write func($1 int) int { return $2 }",
	`^(?:\w+\s*:?=\s*)?\(?(\w+)\)?\s*=>\s*(.+?)$`, "write func($1 int) int { return $2 }",
	`\b[fF]["'](.*)["']`, `write fmt.Sprintf("%v", x)`,
	`^print\s+(.+)$`, "write fmt.Println($1)",
	`^del\s+(\w+)\[(.+)\]`, "write delete($1, $2)",
	`^del\s+(\w+)$`, "write %del $1",
	`\bnot\s+(\w+)`, "not is !: (!$1)",
	`(\S+)\s+and\s+(\S+)`, "write $1 && $2",
	`(\S+)\s+or\s+(\S+)`, "write $1 || $2",
	`(\S+)\s+not\s+in\s+(\S+)`, "write !slices.Contains($2, $1)",
	`(\S+)\s+in\s+(\w+)`, "write slices.Contains($2, $1), or _, ok := $2[$1] for a map",
	`^(?:try|except|catch|finally|throw|raise)\b`, "Go returns errors: if err != nil { … }",
	`^(?:class)\s+(\w+)`, "write type $1 struct { … }, and its methods as func (x $1) Name() { … }",
	`^(?:public|private|static)\b`, "names that begin with a capital letter are exported; there is nothing else to write",
	`^type\s+\w+\s+struct\s*\{.*,`, "fields are separated by semicolons or line breaks",
	`(\S+)\s*\?\s*(\S+)\s*:\s*(\S+)`, "Go has no conditional expression: write if … { … } else { … }",
	`^\?\??(\w[\w.]*)$`, "write $1?",
	`^#\s*(.*)$`, "a comment begins with two slashes: // $1",
	`#`, "a comment begins with two slashes: // …",
	`^with\s+torch\.no_grad`, "nothing need be switched off: gradients are made where tensor.Grad asks for them",
	`^with\s+open\((.+?)\)`, "data.ReadText(path) reads a text, os.WriteFile(path, []byte(text), 0o644) writes one",
	`^with\b`, "Go has no with: write defer f.Close() behind what opens f",
	`^global\s+(\w+)`, "functions see the variables of cells: leave it out",
	`^yield\b`, "write a function that takes yield: func(yield func(int) bool) { … }",
	`^cd\s+(\S+)$`, `write %cd $1`,
	`^(?:pip|conda|uv|apt)\s+\w+`, "nothing need be installed; !command runs a command of the shell",
	`^(ls|cat|pwd|mkdir|rm|cp|mv|head|git|python3?|nvidia-smi)(\s+[^=(].*)?$`, "write !$1$2",
	`\bmap\((\w+)\s*,\s*(\w+)\)`, "write a loop: for i, v := range $2 { $2[i] = $1(v) }",
	`\w=[^=]`, "Go has no named arguments: options are the fields of a struct, train.Options{Steps: 10}",
	`^return\s+\S+\s+\S+$`, "results are separated by commas",
	`(\w+)(?:\+\+|--)\s*[-+*/)\],]`, "$1++ is a statement and has no value",
	`\.map\(|\.range\(|\.select\(`, "there is no such method: write a loop, for _, x := range xs { … }",
	`(?:^|=)\s*\[.*\]$`, "a slice has its type in front: []int{1, 2, 3}",
	`(?:^|=)\s*\{.*:.*\}$`, `a map has its type in front: map[string]int{"a": 1}`,
	`(?:^|=)\s*\([^()]*,[^()]*\)$`, "Go has no tuples: write the values without the parentheses",
	`^\w+\s*=\s*\w+\s*=`, "an assignment has no value: write two",
)

// SyntaxAdvice says how to write in Go the code at offset off of a text that does not parse.
func (h *Helper) SyntaxAdvice(text string, off int, msg string) string {
	start := strings.LastIndexByte(text[:off], '\n') + 1
	line, _, _ := strings.Cut(text[start:], "\n")
	line = strings.TrimSpace(line)
	goLine := ""
	if !strings.HasPrefix(line, "import ") && !strings.HasPrefix(line, "from ") && assignedCommand().FindString(line) == "" {
		goLine = h.translated(h.World().Stage(), text, opener(text, 1+strings.Count(text[:start], "\n")))
	}
	if strings.Contains(msg, "rune literal") && goLine == "" {
		if from := strings.IndexByte(text[off:], '\''); from >= 0 {
			if body, _, ok := strings.Cut(text[off+from+1:], "'"); ok && !strings.Contains(body, "\n") {
				return `a string has double quotes: "` + body + `"`
			}
		}
	}
	if rest, ok := strings.CutPrefix(line, "import "); ok {
		return importAdvice(strings.Fields(rest))
	}
	if rest, ok := strings.CutPrefix(line, "from "); ok && strings.Contains(rest, " import ") {
		module, _, _ := strings.Cut(rest, " ")
		if instead, ok := Modules[strings.Split(module, ".")[0]]; ok {
			return instead
		}
		return "nothing need be imported: packages are there when a name like strings.ToUpper is used"
	}
	if m := assignedCommand().FindStringSubmatch(line); m != nil {
		return commandAdvice(m[1], m[2], m[3])
	}
	if goLine != "" {
		return goLine
	}
	if say := foreignCall(line); say != "" {
		return say
	}
	for _, i := range ForeignLines {
		if m := i.line().FindStringSubmatchIndex(line); m != nil {
			return h.pasteable(string(i.line().ExpandString(nil, i.Say, line, m)), line)
		}
	}
	if msg == "expected 1 expression" {
		return "a list of values is shown only at the end of a cell"
	}
	return ""
}

// opener returns the line that opens the statement of line n, which is in a block of it or goes on with it:
// else, elif and except do. Python marks blocks by a colon and by indentation.
func opener(text string, n int) int {
	lines := strings.Split(text, "\n")
	indentation := func(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }
	for {
		line, above := lines[n-1], n-1
		least := indentation(line)
		if word := strings.TrimSpace(line); !strings.HasPrefix(word, "except") && !strings.HasPrefix(word, "el") {
			least--
		}
		for above > 0 && (strings.TrimSpace(lines[above-1]) == "" || indentation(lines[above-1]) > least) {
			above--
		}
		if above == 0 || !strings.HasSuffix(strings.TrimSpace(lines[above-1]), ":") {
			return n
		}
		n = above
	}
}

// calledInModule is a line that calls a name of a module, and may assign the result.
var calledInModule = lazy.Regexp(`^(?:\w+\s*:?=\s*|with\s+)?(\w+(?:\.\w+)*)\.(\w+)\(`)

// calledAlone is a line that calls a name without its module.
var calledAlone = lazy.Regexp(`^(?:\w+\s*:?=\s*)?(\w+)\(`)

// foreignCall returns the advice for a line that calls a name of PyTorch, NumPy or MLX, but does not read as
// a line of Python that has its Go.
func foreignCall(line string) string {
	m := calledInModule().FindStringSubmatch(line)
	if m == nil {
		if m = calledAlone().FindStringSubmatch(line); m != nil {
			return bareName(m[1], line)
		}
		return ""
	}
	root, _, _ := strings.Cut(m[1], ".")
	goText := elsewhere.Lookup(m[1], m[2])
	if goText == "" {
		return ForeignNames[root]
	}
	if why, ok := strings.CutPrefix(goText, "// "); ok || goText == "" {
		return why
	}
	return sample(goText, line)
}

// pasteable words advice that begins with "write" otherwise, if what follows does not check.
func (h *Helper) pasteable(advice, line string) string {
	text, ok := strings.CutPrefix(advice, "write ")
	f := &foreign{h: h, st: h.World().Stage()}
	if ok && (strings.Contains(text, "…") || !strings.HasPrefix(text, "!") && !strings.HasSuffix(text, "?") && !f.checks(text, line)) {
		return "in Go: " + text
	}
	return advice
}

// sample words the advice to write Go of the table. Where its names are not those of the line, or the line
// has more arguments, it is a form to fill in.
func sample(goText, line string) string {
	words := map[string]bool{}
	for _, word := range strings.FieldsFunc(line, func(c rune) bool { return c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c) }) {
		words[word] = true
	}
	for _, name := range python.Operands(goText) {
		if !words[name] {
			return "its Go is " + goText
		}
	}
	if strings.ContainsAny(line, ",0123456789") || strings.Count(line, "=") > 1 {
		return "its Go is " + goText
	}
	return "write " + goText
}

// assignedCommand is an assignment whose right side is a command.
var assignedCommand = lazy.Regexp(`^(?:var\s+)?(\w+)\s*:?=\s*%(\w+)\s*(.*)$`)

// commandAdvice returns the line to write for `name := %command args`. A command is no expression: its
// result has no type before it has run.
func commandAdvice(name, command, args string) string {
	e, err := parser.ParseExpr(args)
	switch {
	case command == "time" && args != "":
		return "write %time " + name + " := " + args
	case command == "timeit" && err == nil:
		if _, called := ast.Unparen(e).(*ast.CallExpr); !called {
			args = "_ = " + args
		}
		return "write " + name + " := bench.Time(func() { " + args + " })"
	}
	return strings.TrimSpace("write %"+command+" "+args) + " in a cell; its result is _ in the next one: " + name + " := _"
}

// importAdvice returns the advice for `import numpy as np`.
func importAdvice(words []string) string {
	if len(words) == 0 {
		return ""
	}
	name := strings.Trim(words[0], "\"';,")
	if instead, ok := Modules[strings.Split(name, ".")[0]]; ok {
		return instead
	}
	if path, ok := stdlib.ImportFor(name); ok {
		return `it is there without an import; an import has its path in quotes: import "` + path + `"`
	}
	return `an import has its path in quotes: import "fmt"`
}

// Modules maps the Python modules that people import to advice. What their names are here is in package
// elsewhere.
var Modules = map[string]string{
	"numpy":                 "tensors are in package tensor, which is there without an import: tensor.Zeros(2, 3)",
	"np":                    "tensors are in package tensor, which is there without an import: tensor.Zeros(2, 3)",
	"torch":                 "tensors are in package tensor, layers in nn, which are there without an import: nn.NewLinear(4, 8)",
	"tensorflow":            "tensors are in package tensor, layers in nn, which are there without an import: nn.NewLinear(4, 8)",
	"jax":                   "tensors are in package tensor, gradients come from tensor.Grad, which is there without an import",
	"transformers":          "decoder models are in package llm, which is there without an import",
	"peft":                  "adapters are in package lora, which is there without an import",
	"pandas":                `data.ReadCSV("x.csv") reads a table, t.Tensor("a", "b") makes columns a tensor; a slice of structs is shown as a table`,
	"csv":                   `data.ReadCSV("x.csv") reads a table, t.Tensor("a", "b") makes columns a tensor; encoding/csv reads the texts`,
	"torchvision":           `data.ReadImage("x.png") reads a picture, data.Images{}.Folder("pets", 64) a folder for each class, data.ReadIDX("x-idx3-ubyte.gz") MNIST`,
	"PIL":                   `data.ReadImage("x.png") reads a picture; package image is there without an import`,
	"tqdm":                  "train.Run shows its progress; a loop needs nothing for it",
	"sklearn":               "package data splits and batches, nn.Accuracy counts: data.Pairs(x, y, 64).Split(0.8)",
	"matplotlib":            "package plot is there without an import: plot.Line(ys), plot.Scatter(xs, ys), plot.Hist(xs, 20); run.Plot() draws what train.Run returns",
	"sys":                   "package os has arguments, streams and exits",
	"random":                "rand is there without an import: rand.IntN(10)",
	"re":                    "package regexp is there without an import",
	"json":                  "package encoding/json is there without an import: json.Marshal",
	"datetime":              "package time is there without an import: time.Now()",
	"collections":           "maps and slices are part of the language; containers are in container/heap, list and ring",
	"asyncio":               "go f() runs f beside the rest; channels connect the two",
	"threading":             "go f() runs f beside the rest; channels connect the two",
	"datasets":              `data.ReadRecords("data.jsonl") reads records for tuning, from files or a folder`,
	"trl":                   "package train is there without an import: train.LoRA, train.DPO, train.ORPO",
	"accelerate":            "train.Run trains on the device that it is given; nothing need be prepared",
	"bitsandbytes":          "quant.Module(m, quant.Config{Bits: 4}) keeps a model's matrices in 4 or 8 bits",
	"huggingface_hub":       "llm.Download(ctx, repository, llm.Hub{}) fetches a model",
	"sentence_transformers": "package embed is there without an import: embed.Load(ctx, dir)",
	"subprocess":            "package os/exec is there as exec; !command runs a command of the shell",
}

// ForeignNames maps names of other languages to Go's.
var ForeignNames = map[string]string{
	"None": "it is called nil", "null": "it is called nil", "NULL": "it is called nil", "nullptr": "it is called nil",
	"True": "it is called true", "False": "it is called false",
	"str": "write fmt.Sprint(x)", "float": "write float64(x)", "double": "write float64(x)", "long": "write int64(x)", "char": "write byte or rune", "boolean": "it is called bool",
	"input": "fmt.Scanln(&name) reads a word that is typed", "del": "write delete(m, key)", "list": "a slice is []int{1, 2, 3}", "dict": `a map is map[string]int{"a": 1}`,
	"set": "a set is a map[string]bool", "tuple": "a struct or several results do that", "abs": "write math.Abs(x)", "sorted": "write slices.Sorted or slices.Sort",
	"zip": "write a loop: for i := range xs { … xs[i], ys[i] … }", "enumerate": "write for i, x := range xs { … }", "isinstance": "write x.(T), or a type switch",
	"console": "write fmt.Println(x)", "System": "write fmt.Println(x)", "puts": "write fmt.Println(x)", "echo": "write fmt.Println(x)", "cout": "write fmt.Println(x)",
	"self": "the receiver has the name that the method gives it", "this": "the receiver has the name that the method gives it",
	"exit": "Ctrl-D leaves the notebook", "quit": "Ctrl-D leaves the notebook", "help": "%help lists the commands, name? tells about a name",
	"ls": "write !ls", "cd": "write %cd", "pwd": "write os.Getwd()", "cat": "write !cat and the file's name", "pip": "nothing need be installed",
	"plt": Modules["matplotlib"], "plot": Modules["matplotlib"], "dir": "name? lists what a value has", "filter": "write slices.DeleteFunc(slices.Clone(xs), func(v int) bool { return v < 0 })",
	"np": Modules["np"], "numpy": Modules["numpy"], "torch": Modules["torch"], "pd": Modules["pandas"],
	"torchvision": Modules["torchvision"], "datasets": Modules["torchvision"], "transforms": "data.Map changes batches by a function; data.Images{Height: 224, Width: 224} scales pictures", "tqdm": Modules["tqdm"],
	"while": "write for … { … }", "foreach": "write for _, x := range xs { … }", "lambda": "write func(x int) int { … }", "pass": "an empty block { } does nothing",
	"assert": "write if !ok { panic(…) }", "typeof": `write fmt.Printf("%T\n", x)`, "unsigned": "write uint", "size_t": "write int or uintptr", "ptr": "a pointer is *T",
}
