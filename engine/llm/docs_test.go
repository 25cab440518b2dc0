package llm

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// docs/models.md has a row for each family that Load reads, with the number of small models that were
// compared.
func TestDocsListFamilies(t *testing.T) {
	text, err := os.ReadFile("../../docs/models.md")
	if err != nil {
		t.Skip("the documents are not beside the sources: ", err)
	}
	rows := map[string]int{}
	_, table, _ := strings.Cut(string(text), "| family |")
	table, _, _ = strings.Cut(table, "\n\n")
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if n, err := strconv.Atoi(strings.TrimSpace(cells[len(cells)-1])); err == nil {
			name, _, _ := strings.Cut(strings.TrimSpace(cells[0]), " ")
			rows[name] = n
		}
	}
	compared := map[string]int{}
	list, err := filepath.Glob(filepath.Join(fixtures, "*", configFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range list {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		c, err := parseConfig(path, text)
		if err != nil {
			t.Fatal(err)
		}
		compared[c.Family]++
	}
	for family := range families {
		if n, ok := rows[family]; !ok || n != compared[family] || n < 3 {
			t.Errorf("%s: got a row that says %d (there: %v), want %d small models, at least 3", family, n, ok, compared[family])
		}
	}
	if len(rows) != len(families) {
		t.Errorf("got rows %v, want %d families", rows, len(families))
	}
}
