package session

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestWhatStandsForNamesChecks declares a function of each Go text that the session suggests for a name of
// PyTorch, NumPy or MLX, so the session's checker sees it as it would see a cell.
func TestWhatStandsForNamesChecks(t *testing.T) {
	table, err := os.ReadFile("internal/help/elsewhere/table.txt")
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{} // Go, and a name that it stands for
	for line := range strings.Lines(string(table)) {
		name, goText, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if !strings.HasPrefix(goText, "!") && !strings.HasPrefix(goText, "//") && name[0] != '!' {
			for _, form := range strings.Split(goText, " | ") {
				texts[form] = name
			}
		}
	}
	if len(texts) < 450 {
		t.Errorf("the table has %d texts, want at least 450", len(texts))
	}
	s, _ := newSession(t, Options{})
	n := 0
	for goText, name := range texts {
		n++
		params := "x, y, index, mask, weight, bias, loss tensor.Tensor, m nn.Layer, p nn.Param, opt optim.Optimizer, lm *llm.Model, tok *tokenizer.Tokenizer"
		var failed string
		for _, body := range []string{"_ = " + goText, goText, goText + "; _, _ = train, test", "_, _ = " + goText, "_, _, _ = " + goText} {
			r := s.Run(t.Context(), fmt.Sprintf("func suggested%d(%s) {\n%s\n}", n, params, body))
			if r.Err == nil {
				failed = ""
				break
			}
			if failed == "" {
				failed = firstLine(r.Err)
			}
		}
		if failed != "" {
			t.Errorf("%s: %s: %s", name, goText, failed)
		}
	}
}
