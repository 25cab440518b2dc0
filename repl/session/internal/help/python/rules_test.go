package python

import (
	"regexp"
	"strings"
	"testing"
)

// lost are the operands that the Go of a pattern does without: the type of an exception, the optimizer of a
// schedule.
var lost = map[string]string{"raise A(B)": "A", "raise A": "A", "optim.lr_scheduler.OneCycleLR(A, max_lr=L, total_steps=N)": "A"}

// Each pattern of rules.txt can be read, and each letter of its Go stands in it. No operand of a pattern is
// lost in the Go.
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
			r.pattern.each(func(n *node) {
				letter := regexp.MustCompile(`\b` + n.text + `\b`)
				_, spread := r.spreads[n.text]
				if hole(n) && !spread && goText != "-" && lost[patterns] != n.text && len(letter.FindAllString(text, 2)) == 1 && !letter.MatchString(goText) {
					t.Errorf("%s: %s is lost in %s", text, n.text, goText)
				}
			})
			if r.pattern.op == "name" {
				t.Errorf("%s matches everything", text)
			}
		}
	}
	if n < 300 {
		t.Errorf("there are %d patterns, want at least 300", n)
	}
}
