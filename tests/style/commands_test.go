package style

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	goTest   = regexp.MustCompile(`\bgo test\b.*`)
	chosen   = regexp.MustCompile(`-(run|bench|fuzz)[ =]('[^']*'|\S+)`)
	packages = regexp.MustCompile(`(?:^|\s)(\./\S*)`)
	testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Example|Fuzz|Benchmark)\w*)\(`)
)

// kindsOf are the functions that a flag of go test chooses among.
var kindsOf = map[string][]string{"run": {"Test", "Example", "Fuzz"}, "bench": {"Benchmark"}, "fuzz": {"Fuzz"}}

// TestCommands: each word of -run, -bench and -fuzz of a command in a document is that of a test. A piece of
// code that begins with one of them belongs to the go test before it in its line.
func TestCommands(t *testing.T) {
	tests := map[string][]string{} // by folder
	written(t, func(path, text string) {
		if strings.HasSuffix(path, "_test.go") {
			folder := "./" + filepath.ToSlash(filepath.Dir(path))
			tests[folder] = append(tests[folder], submatches(text, testFunc.String())...)
		}
	})
	var documents []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/guide/*.md", "shaders/*.md", "tests/peers/*.md"} {
		found, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pattern)))
		if err != nil || found == nil {
			t.Fatalf("%s: no documents (%v)", pattern, err)
		}
		documents = append(documents, found...)
	}
	n := 0
	for _, path := range documents {
		for line := range strings.Lines(textOf(t, strings.TrimPrefix(filepath.ToSlash(path), "../../"))) {
			var folders []string
			for _, code := range inline.FindAllString(line, -1) {
				code = strings.ReplaceAll(strings.Trim(code, "`"), `\|`, "|")
				if goTest.MatchString(code) {
					folders = nil
				} else if folders == nil || !strings.HasPrefix(code, "-") {
					continue
				}
				if of := submatches(code, packages.String()); of != nil {
					folders = of
				} else if folders == nil { // it is run in a folder of its own
					continue
				}
				n++
				for _, wrong := range unmatched(tests, folders, code) {
					t.Errorf("%s: %s: %s", path, code, wrong)
				}
			}
		}
	}
	if n < 60 {
		t.Errorf("found %d commands, want all", n)
	}
}

// unmatched says which words of a command choose no function of its folders.
func unmatched(tests map[string][]string, folders []string, command string) (wrong []string) {
	for _, m := range chosen.FindAllStringSubmatch(command, -1) {
		pattern, _, _ := strings.Cut(strings.Trim(m[2], "'"), "/")
		if slices.Contains([]string{"none", "xxx"}, strings.ToLower(pattern)) { // so that benchmarks run alone
			continue
		}
		var names []string
		for _, folder := range folders {
			below, all := strings.CutSuffix(folder, "/...")
			for of, list := range tests {
				if of == folder || all && (of == below || strings.HasPrefix(of, below+"/")) {
					names = append(names, slices.DeleteFunc(slices.Clone(list), func(name string) bool {
						return !slices.ContainsFunc(kindsOf[m[1]], func(kind string) bool { return strings.HasPrefix(name, kind) })
					})...)
				}
			}
		}
		for word := range strings.SplitSeq(pattern, "|") {
			if expression, err := regexp.Compile(word); err != nil {
				wrong = append(wrong, err.Error())
			} else if !slices.ContainsFunc(names, expression.MatchString) {
				wrong = append(wrong, "no test has "+word)
			}
		}
	}
	return wrong
}
