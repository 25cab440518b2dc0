package grammar

import (
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"regexp"
	"strconv"
	"testing"
	"unicode/utf8"

	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// TestRanges: limits and steps at random take the numbers between them and no others, as package big compares
// them.
func TestRanges(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	decimal := func() string {
		text := strconv.FormatFloat(float64(rng.IntN(4000)-2000)/[]float64{1, 10, 100, 1000}[rng.IntN(4)], 'f', -1, 64)
		if rng.IntN(3) == 0 && text != "-0" {
			text = strconv.Itoa(rng.IntN(300) - 150)
		}
		return text
	}
	n := 60
	if long.CI() {
		n = 300
	}
	for range n {
		low, high, whole := decimal(), decimal(), rng.IntN(2) == 0
		names := [2]string{[]string{"minimum", "exclusiveMinimum", ""}[rng.IntN(3)], []string{"maximum", "exclusiveMaximum", ""}[rng.IntN(3)]}
		schema := map[string]any{"type": "number"}
		if whole {
			schema["type"] = "integer"
		}
		for i, l := range []string{low, high} {
			if names[i] != "" {
				schema[names[i]] = json.Number(l)
			}
		}
		step := []string{"", "", "3", "0.25", "12", "0.1"}[rng.IntN(6)]
		if step != "" {
			schema["multipleOf"] = json.Number(step)
		}
		text, _ := json.Marshal(schema)
		between := func(number string) bool {
			x, _ := new(big.Rat).SetString(number)
			a, _ := new(big.Rat).SetString(low)
			b, _ := new(big.Rat).SetString(high)
			if of, ok := new(big.Rat).SetString(step); ok && !new(big.Rat).Quo(x, of).IsInt() {
				return false
			}
			above := map[string]bool{"": true, "minimum": x.Cmp(a) >= 0, "exclusiveMinimum": x.Cmp(a) > 0}[names[0]]
			return above && map[string]bool{"": true, "maximum": x.Cmp(b) <= 0, "exclusiveMaximum": x.Cmp(b) < 0}[names[1]]
		}
		g, err := Compile(text)
		if err != nil { // no number is between them
			for n := -2000; n <= 2000; n++ {
				if between(strconv.Itoa(n)) {
					t.Fatalf("%s: %v, and %d is valid", text, err, n)
				}
			}
			continue
		}
		for range 200 {
			number := decimal()
			if number == "-0" || whole && regexp.MustCompile(`\.`).MatchString(number) {
				continue
			}
			if got := takes(t, g, single, number); got != between(number) {
				t.Fatalf("%s: %s: got %v", text, number, got)
			}
		}
		for range 5 {
			if number := walk(t, g, single, rng, 8, nil); !between(number) {
				t.Fatalf("%s: got %s", text, number)
			}
		}
	}
}

// TestPatterns: what tokens at random make is what package regexp finds, and it takes what that finds.
func TestPatterns(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	for _, pattern := range []string{`^\d{4}-(0[1-9]|1[0-2])-\d{2}$`, `^[^"\\]{1,3}$`, `^(\w+\.)*\w+@\w+$`, `a|^b$`, `^(?:(?:a|b?)*c?)+$`, `^\p{Greek}+\s?$`, `^["\\/\n\x00-\x1f]{2}$`, `^$`, ``, `^(x|y){2,}?z`} {
		schema, _ := json.Marshal(map[string]any{"type": "string", "pattern": pattern})
		g, err := Compile(schema)
		if err != nil {
			t.Fatal(err)
		}
		re := regexp.MustCompile(pattern)
		for range 30 {
			text := walk(t, g, pieces, rng, 1<<20, nil) // to where chance ends it
			var v string
			if err := json.Unmarshal([]byte(text), &v); err != nil || !re.MatchString(v) || !utf8.ValidString(text) {
				t.Fatalf("%s: got %q, %v", pattern, text, err)
			}
		}
		for range 400 {
			v := ""
			for range rng.IntN(6) {
				v += []string{"a", "b", "c", "x", "y", "z", "1", "0", "-", "\"", "\\", "\n", "λ", "@", ".", " "}[rng.IntN(16)]
			}
			if got, want := takes(t, g, single, quoted(v)), re.MatchString(v); got != want {
				t.Fatalf("%s: %s: got %v, want %v", pattern, fmt.Sprint(quoted(v)), got, want)
			}
		}
	}
}
