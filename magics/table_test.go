package magics

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"

	"github.com/mcs-notebook/mcs/repl/display"
)

// elsewhere are commands without a session in testdata, with the tests that run them.
var elsewhere = map[string]string{
	"plot":  "repl/mcs/plot_test.go: what it shows depends on the terminal",
	"store": "store_test.go: it writes into the user's folder",
}

// Every row must be complete, because help, completion and the manual show nothing else.
func TestTable(t *testing.T) {
	seen, families, family := map[string]bool{}, map[string]bool{}, ""
	sessions := ""
	files, err := filepath.Glob("testdata/*.mcs")
	if err != nil || len(files) == 0 {
		t.Fatalf("no sessions: %v", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		sessions += string(text)
	}
	for _, m := range Magics() {
		if m.Family != family && families[m.Family] {
			t.Errorf("%s: family %s has two chapters in the manual", m.sign(), m.Family)
		}
		family, families[m.Family] = m.Family, true
		switch first, _ := utf8.DecodeRuneInString(m.Summary); {
		case seen[m.Name]:
			t.Errorf("%s: two rows have this name", m.sign())
		case m.Family == "" || m.run == nil || m.Example == "" && m.Takes != TakesNothing:
			t.Errorf("%s: family, function or example is missing", m.sign())
		case m.Summary == "" || len(m.Summary) > 80 || unicode.IsUpper(first) || strings.HasSuffix(m.Summary, "."):
			t.Errorf("%s: the summary is %q, want a short phrase without capital and full stop", m.sign(), m.Summary)
		case m.Help != "" && !strings.HasSuffix(m.Help, "."):
			t.Errorf("%s: help ends without a full stop", m.sign())
		}
		seen[m.Name] = true
		if advice := foreign[m.Name]; advice != "" {
			t.Errorf("%s: unknown.go still says %q of a command of this name", m.sign(), advice)
		}
		shown := m.sign() != "%"+m.Name || regexp.MustCompile(m.sign()+`\b`).MatchString(sessions)
		if at := elsewhere[m.Name]; !shown && at == "" {
			t.Errorf("%s: no session in magics/testdata shows it", m.sign())
		} else if shown && at != "" {
			t.Errorf("%s: a session in magics/testdata shows it, too: take it out of the list elsewhere, which says %q", m.sign(), at)
		}
		for _, f := range m.Flags {
			if f.Help == "" || f.Kind == Choice && len(f.Choices) == 0 {
				t.Errorf("%s: flag -%s is incomplete", m.sign(), f.Name)
			}
			if _, err := f.value(f.Default); err != nil {
				t.Errorf("%s: flag -%s: default %q: %v", m.sign(), f.Name, f.Default, err)
			}
		}
	}
}

var write = flag.Bool("write", false, "write docs/magics.md")

func TestManualIsCurrent(t *testing.T) {
	const file = "../docs/magics.md"
	if *write {
		if err := os.WriteFile(file, []byte(manualPage()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	manual, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(manual) != manualPage() {
		t.Error("docs/magics.md is out of date; run `go generate ./magics` and commit what it changes")
	}
}

// manualPage returns docs/magics.md.
func manualPage() string {
	var b strings.Builder
	b.WriteString("<!-- Generated from the table of package magics by `go generate ./magics`. -->\n\n# Commands\n\n")
	b.WriteString("A line that begins with `%` or `!`, or ends in `?`, is a command and not Go. Commands work at the prompt, in `.mcs`\n" +
		"files and between the lines of a cell. `%%name` as the first line of a cell gives the command the whole cell.\n")
	family := ""
	for _, m := range rows() {
		if m.Family != family {
			family = m.Family
			fmt.Fprintf(&b, "\n## %s\n", family)
		}
		fmt.Fprintf(&b, "\n### %s\n\n", m.sign())
		fmt.Fprintf(&b, "`%s`: %s.\n", m.usage(), m.Summary)
		if m.Cell {
			fmt.Fprintf(&b, "`%%%s` takes all lines of the cell.\n", m.sign())
		}
		if len(m.Flags) > 0 {
			b.WriteString("\n| flag | |\n|---|---|\n")
			for _, f := range m.Flags {
				help := f.Help
				if f.Default != "" {
					help += " (default " + f.Default + ")"
				}
				fmt.Fprintf(&b, "| `%s` | %s |\n", strings.ReplaceAll(f.usage(), "|", "\\|"), help)
			}
		}
		if m.Help != "" {
			b.WriteString("\n" + m.Help + "\n")
		}
		if m.Example != "" {
			b.WriteString("\n```\n" + m.Example + "\n```\n")
		}
	}
	return b.String()
}

func TestHelpText(t *testing.T) {
	m := &Magic{Name: "m", Args: "STATEMENT", Cell: true, Summary: "does it", Help: "And more.", Example: "%m x\n%m y", Flags: []Flag{
		{Name: "n", Kind: Integer, Default: "7", Help: "runs"},
		{Name: "fuse", Kind: Choice, Choices: []string{"on", "off"}, Help: "fusion"},
	}}
	const want = `%m [-n N] [-fuse=on|off] STATEMENT
    does it
%%m
    the same for all lines of the cell below

  -n N             runs (default 7)
  -fuse=on|off     fusion

And more.

    %m x
    %m y`
	if got := (manual{m}).Text(80); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Whatever the width, help is broken between words: a line that is too wide is one word.
func TestHelpFitsAnyWidth(t *testing.T) {
	for width := 20; width <= 200; width += 7 {
		shown := map[string]display.Value{"overview": overview(Table{})}
		for _, m := range rows() {
			shown[m.sign()] = manual{m}
		}
		for name, v := range shown {
			text := v.Text(width)
			for line := range strings.SplitSeq(text, "\n") {
				if runewidth.StringWidth(line) > width && len(strings.Fields(line)) > 1 {
					t.Errorf("%s at %d columns: a line has %d:\n%s", name, width, runewidth.StringWidth(line), line)
				}
			}
			if m := Lookup(strings.TrimLeft(name, "%")); m != nil && !slices.Equal(strings.Fields(text), strings.Fields(v.Text(200))) {
				t.Errorf("%s at %d columns has other words than at 200:\n%s", name, width, text)
			}
		}
		for _, m := range rows() {
			if words := strings.Join(strings.Fields(shown["overview"].Text(width)), " "); width < 40 && !strings.Contains(words, m.Summary) {
				t.Errorf("%%help at %d columns does not say %q", width, m.Summary)
			}
		}
	}
}
