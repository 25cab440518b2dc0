package main

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"sort"
	"strings"
	"text/template"
	"unicode/utf8"
)

const text = `It was the best of times, it was the worst of times;
it was the age of wisdom... it was the age of foolishness!`

type byCount []struct {
	word string
	n    int
}

func (b byCount) Len() int      { return len(b) }
func (b byCount) Swap(i, j int) { b[i], b[j] = b[j], b[i] }
func (b byCount) Less(i, j int) bool {
	return b[i].n > b[j].n || b[i].n == b[j].n && b[i].word < b[j].word
}

func caesar(s string, k rune) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return 'a' + (r-'a'+k+26)%26
		case r >= 'A' && r <= 'Z':
			return 'A' + (r-'A'+k+26)%26
		}
		return r
	}, s)
}

func isPalindrome(s string) bool {
	var rs []rune
	for _, r := range strings.ToLower(s) {
		if r >= 'a' && r <= 'z' {
			rs = append(rs, r)
		}
	}
	for i, j := 0, len(rs)-1; i < j; i, j = i+1, j-1 {
		if rs[i] != rs[j] {
			return false
		}
	}
	return true
}

func main() {
	counts := map[string]int{}
	sc := bufio.NewScanner(strings.NewReader(text))
	sc.Split(bufio.ScanWords)
	for sc.Scan() {
		counts[strings.ToLower(strings.Trim(sc.Text(), ".,;!"))]++
	}
	var list byCount
	for w, n := range counts {
		list = append(list, struct {
			word string
			n    int
		}{w, n})
	}
	sort.Sort(list)
	for _, e := range list[:4] {
		fmt.Printf("%-6s%2d\n", e.word, e.n)
	}
	fmt.Println(caesar("Hello, World", 3), caesar(caesar("abc", 5), -5))
	fmt.Println(isPalindrome("A man, a plan, a canal: Panama"), isPalindrome("no"))
	re := regexp.MustCompile(`(?P<k>\w+)=(\d+)`)
	fmt.Println(re.FindAllStringSubmatch("a=1, bc=22", -1), re.ReplaceAllString("a=1", "$2=${k}"), re.SubexpNames()[1])
	fmt.Println(re.ReplaceAllStringFunc("x=5 y=6", strings.ToUpper))
	t := template.Must(template.New("t").Funcs(template.FuncMap{"up": strings.ToUpper}).Parse(
		"{{range $i, $x := .Items}}{{if $i}}, {{end}}{{$x.Name | up}}={{printf \"%.2f\" $x.Price}}{{end}}\n"))
	type Item struct {
		Name  string
		Price float64
	}
	if err := t.Execute(os.Stdout, map[string]any{"Items": []Item{{"a", 1}, {"b", 2.5}}}); err != nil {
		fmt.Println(err)
	}
	s := "héllo, 世界\xff"
	for i, r := range s {
		fmt.Print(i, ":", string(r), " ")
	}
	fmt.Println(len(s), utf8.RuneCountInString(s), utf8.ValidString(s), []byte("é"), []rune("é"))
	for part := range strings.SplitSeq("a,b,c", ",") {
		fmt.Print(part, ";")
	}
	for line := range strings.Lines("x\ny\n") {
		fmt.Printf("%q ", line)
	}
	before, after, found := strings.Cut("k=v=w", "=")
	fmt.Println(before, after, found, strings.Title("a b"), strings.EqualFold("Go", "GO"))
	var b strings.Builder
	for i := 3; i >= 1; i-- {
		fmt.Fprintf(&b, "%d...", i)
	}
	fmt.Println(b.String(), b.Len(), strings.Fields("  a  b "), strings.Repeat("=", 5))
	r := strings.NewReplacer("<", "&lt;", ">", "&gt;")
	fmt.Println(r.Replace("<b>"), fmt.Sprintf("%[2]d %[1]d", 1, 2))
}
