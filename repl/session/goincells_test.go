package session

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/repl/session/internal/generic"
	"github.com/mcs-notebook/mcs/stdlib"
)

var write = flag.Bool("write", false, "write docs/go-in-cells.md and what compiled programs print; with -programs, testdata/corpora.json before it")

const (
	goInCells   = "../../docs/go-in-cells.md"
	corporaFile = "testdata/corpora.json"
)

// A corpusRecord is how the programs of a corpus did when they were last run.
type corpusRecord struct {
	Date, Go                           string
	Total, Passed, Refused, Misbehaved int
	Names                              []string          // of those that misbehave
	Why                                map[string]string // of those that are refused
}

func readCorpora(t *testing.T) map[string]corpusRecord {
	t.Helper()
	corpora := map[string]corpusRecord{}
	text, err := os.ReadFile(corporaFile)
	if err == nil {
		err = json.Unmarshal(text, &corpora)
	}
	if err != nil {
		t.Fatal(err)
	}
	return corpora
}

// recordCorpus notes how the programs of a corpus did.
func recordCorpus(t *testing.T, name string, n tally) {
	t.Helper()
	corpora := readCorpora(t)
	slices.Sort(n.names)
	corpora[name] = corpusRecord{time.Now().UTC().Format(time.DateOnly), runtime.Version(), n.total, n.passed, n.refused, n.misbehaved, n.names, n.why}
	text, err := json.MarshalIndent(corpora, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(corporaFile, append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// docs/go-in-cells.md says what cells do not have of Go or do differently. It is made of the cells in
// refused.cells and differs.cells, which TestCells runs, so each of its claims is what happens.
func TestGoInCells(t *testing.T) {
	var b strings.Builder
	b.WriteString(pageHead)
	writeCorpora(&b, readCorpora(t))
	b.WriteString("\n## What is refused\n\nA construct that cannot be run rightly is refused before anything of its cell runs, by name and at its place.\n")
	refused := readSequences(t, "testdata/refused.cells")
	for _, seq := range refused {
		c := seq.cells[len(seq.cells)-1]
		if !strings.HasPrefix(c.want, "In[") || note(c, "why") == "" || note(c, "instead") == "" {
			t.Errorf("refused.cells:%d: want a message with its place, // why: and // instead:", c.line)
		}
		writeSequence(&b, seq)
	}
	b.WriteString("\n## What is different\n")
	for _, seq := range readSequences(t, "testdata/differs.cells") {
		if c := seq.cells[len(seq.cells)-1]; note(c, "why") == "" {
			t.Errorf("differs.cells:%d: want // why:", c.line)
		}
		writeSequence(&b, seq)
	}
	writePackages(&b)
	if *write {
		if err := os.WriteFile(goInCells, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(goInCells)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != b.String() {
		t.Errorf("%s is not what the tests say: run go generate ./repl/session", goInCells)
	}
}

const pageHead = `<!-- Made by go generate ./repl/session from the session's tests. -->

# Go in cells

A cell is Go 1.26, checked by Go's own type checker and then interpreted. This page lists every construct that is known
not to be available in cells or to do something else than in a compiled program. What it shows is run by the tests.

It is no sandbox: a cell can do what you can do.

## How far it reaches

`

// misbehave says why a program of a corpus misbehaves.
var misbehave = map[string]string{
	"divmod":               slow + ": four million divisions, each checked in a hundred calls",
	"ken/divconst":         slow + " on a busy machine",
	"ken/modconst":         slow + " on a busy machine",
	"stack":                slow + " on a busy machine",
	"fixedbugs/issue13169": slow + ": 33 million calls with a frame of 1 KB each",
	"fixedbugs/issue16249": "it was taken for a deadlock while it waited for the collector; mended after this run",
	"fixedbugs/issue59680": slow + " on a busy machine",
	"fixedbugs/issue27718": slow + " on a busy machine",
	"fixedbugs/issue4667":  "it counts allocations, and an interpreted call allocates its frame",
	"typeparam/nested":     "it prints the names that the compiler gives to generic types inside of generic functions, `T[int;main.U[int;int]·3]`, which are `T[main.U[int]]` in cells",
}

const slow = "it takes more than two minutes"

func writeCorpora(b *strings.Builder, corpora map[string]corpusRecord) {
	b.WriteString("Programs of three suites are run and compared with what `go run` prints\n(`go test ./repl/session -run 'GoPrograms|InterpreterPrograms|Examples' -programs`).\n\n" +
		"| programs | run | behave | refused | misbehave | when |\n|---|---|---|---|---|---|\n")
	names := slices.Sorted(maps.Keys(corpora))
	for _, name := range names {
		c := corpora[name]
		fmt.Fprintf(b, "| %s | %d | %d | %d | %d | %s, %s |\n", name, c.Total, c.Passed, c.Refused, c.Misbehaved, c.Date, c.Go)
	}
	for _, name := range names {
		if len(corpora[name].Names) == 0 {
			continue
		}
		fmt.Fprintf(b, "\nOf %s these misbehave:\n\n| program | why |\n|---|---|\n", name)
		for _, program := range corpora[name].Names {
			fmt.Fprintf(b, "| %s | %s |\n", program, cmp.Or(misbehave[program], "not known"))
		}
	}
	for _, name := range names {
		why := corpora[name].Why
		if len(why) == 0 {
			continue
		}
		fmt.Fprintf(b, "\nOf %s these are refused:\n\n| program | why |\n|---|---|\n", name)
		for _, program := range slices.Sorted(maps.Keys(why)) {
			fmt.Fprintf(b, "| %s | %s |\n", program, why[program])
		}
	}
}

// note returns the text behind a word in the comments of a cell.
func note(c testCell, word string) string {
	var lines []string
	for line := range strings.Lines(c.src) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "// "+word+": "); ok {
			lines = append(lines, text)
		}
	}
	return strings.Join(lines, " ")
}

func writeSequence(b *strings.Builder, seq sequence) {
	fmt.Fprintf(b, "\n### %s\n\n", seq.name)
	for _, c := range seq.cells {
		b.WriteString("```go\n")
		for line := range strings.Lines(c.src) {
			if !strings.HasPrefix(line, "// why: ") && !strings.HasPrefix(line, "// instead: ") {
				b.WriteString(line)
			}
		}
		if c.want != "" {
			b.WriteString("```\n\n```\n" + c.want)
		}
		b.WriteString("```\n")
	}
	last := seq.cells[len(seq.cells)-1]
	fmt.Fprintf(b, "\n%s\n", note(last, "why"))
	if instead := note(last, "instead"); instead != "" {
		fmt.Fprintf(b, "\nInstead: %s\n", instead)
	}
}

func writePackages(b *strings.Builder) {
	b.WriteString("\n## Packages that cannot be imported\n\n| package | why |\n|---|---|\n")
	for _, path := range stdlib.LeftOut() {
		fmt.Fprintf(b, "| `%s` | %s |\n", path, strings.TrimPrefix(stdlib.WhyNot(path), "not available in cells: "))
	}
	b.WriteString("\n## Generic names of the standard library\n\nAll work but these.\n\n| name | why |\n|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(generic.Without)) {
		fmt.Fprintf(b, "| `%s` | %s |\n", name, generic.Without[name])
	}
}

// interpreterWords are words that no message to a person may have: they are about the interpreter's insides.
var interpreterWords = []string{"CFG", "cfg", "yaegi", "itype", "reflect.Set", "interp.", "valueInterface", "definition loop",
	"kind: ", "constant.Value", "StructOf", "nil pointer dereference", "%!", "__", "mcs."}

// Refusals name Go's constructs: code that only the interpreter does not compile is reported as a place
// and a construct.
func TestRefusalsAreAboutGo(t *testing.T) {
	s, _ := newSession(t, Options{})
	run(t, s, "xs := []int{1}")
	s.compiler.World.Names["xs"].Internal = "missing" // no code is known that the interpreter refuses
	err := s.Run(t.Context(), "n := 1\nn += len(xs)").Err
	var refusal *CheckError
	if !errors.As(err, &refusal) || refusal.Unwrap() == nil || len(refusal.Diags) == 0 || refusal.Diags[0].Line != 2 {
		t.Fatalf("got %v, want a refusal of line 2 with the interpreter's words as its cause", err)
	}
	for _, seq := range readSequences(t, "testdata/refused.cells") {
		for _, c := range seq.cells {
			checkWords(t, seq.name, c.want)
		}
	}
	checkWords(t, "code that only the interpreter refuses", err.Error())
}

func checkWords(t *testing.T, name, text string) {
	t.Helper()
	for _, w := range interpreterWords {
		if strings.Contains(text, w) {
			t.Errorf("%s: %q has %q, which is not Go's", name, text, w)
		}
	}
}
