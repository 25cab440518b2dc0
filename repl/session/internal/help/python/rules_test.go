package python

import (
	"strings"
	"testing"
)

// Each pattern of rules.txt can be read, and each letter of its Go stands in it.
func TestRules(t *testing.T) {
	n := 0
	for line := range strings.Lines(rulesText) {
		patterns, goText, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		for _, text := range alternatives(patterns) {
			n++
			r, err := readRule(text, goText)
			if err != nil {
				t.Error(err)
				continue
			}
			for _, word := range holes().FindAllString(goText, -1) {
				name := strings.Trim(word[max(0, strings.IndexByte(word, '(')):], "*()")
				if !strings.Contains(text, name) && name != "T" {
					t.Errorf("%s: %s is not in the pattern", text, name)
				}
			}
			if r.pattern.op == "name" {
				t.Errorf("%s matches everything", text)
			}
		}
	}
	if n < 300 {
		t.Errorf("there are %d patterns, want at least 300", n)
	}
}
