package terminal

import (
	"os"
	"path/filepath"
	"testing"
)

// TestNothingIsStale: all callers use the newest declaration. When a name gets another type, a notice
// names the users of the old one. When a file of the user's package changes, all its users get the new
// version.
func TestNothingIsStale(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	const shop = "package shop\n\ntype Item struct{ Price int }\n\n"
	if err := os.Mkdir(filepath.Join(h.dir, "shop"), 0o700); err != nil {
		t.Fatal(err)
	}
	h.write("shop/shop.go", shop+"func Tax(n int) int { return n / 10 }\n")
	p := h.open(nil)
	cell := func(text, see string) {
		t.Helper()
		run(p, text, see)
	}
	cell("func f() int { return 1 }\ng := func() int { return f() }\nask, answer := make(chan bool), make(chan int)\ngo func() { for range ask { answer <- f() } }()\nm := map[string]any{}", "In [2]:")
	cell("func f() int { return 2 }", "In [3]:")
	cell(`ask <- true; fmt.Println("calls", g(), <-answer)`, "calls 2 2")
	cell("type P struct{ n int }\nm[`p`] = P{7}", "In [5]:")
	cell(`func (p P) String() string { return fmt.Sprint("P number ", p.n) }`, "In [6]:")
	cell("m[`p`]", "Out[6]: P number 7")
	cell(`fmt.Println("says", m["p"], m["p"].(P).n)`, "says P number 7 7")
	cell("lr := 0.1; rate := func() float64 { return lr }", "In [9]:")
	cell("lr := 1", "lr is an int now, it was a float64; rate (In[8]) keeps the old one")
	cell("import `./shop`\ntax := func(n int) int { return shop.Tax(n) }\nm[`item`] = shop.Item{100}\ntax(100)", "Out[10]: 10")
	h.write("shop/shop.go", shop+"func Tax(n int) int { return n / 5 }\n\nfunc (i Item) String() string { return `an item` }\n")
	cell("tax(100)", "./shop: reloaded")
	p.See("Out[11]: 20")
	cell("m[`item`]", "Out[12]: an item")
	leave(t, p)
}
