package main

import (
	"bytes"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
)

type Person struct {
	Name    string         `json:"name"`
	Age     int            `json:"age,omitempty"`
	Emails  []string       `json:"emails"`
	Extra   map[string]any `json:"extra,omitempty"`
	Address *Address       `json:"address,omitempty"`
	secret  string
	Tags    map[string]string `json:"-"`
}

type Address struct{ Street, City string }

type Celsius float64

func (c Celsius) MarshalText() ([]byte, error) {
	return []byte(fmt.Sprintf("%.1f°C", float64(c))), nil
}

type Shape interface{ Area() float64 }
type Square struct{ Side float64 }

func (s Square) Area() float64 { return s.Side * s.Side }

func main() {
	r := csv.NewReader(strings.NewReader("name,age\nann,30\n\"bob, jr\",4\n"))
	rows, err := r.ReadAll()
	fmt.Println(rows, err, len(rows[2][0]))
	p := Person{Name: "ann", Emails: nil, secret: "x", Address: &Address{"A", "B"}, Extra: map[string]any{"z": 1, "a": []int{1, 2}}}
	b, err := json.Marshal(p)
	fmt.Println(string(b), err)
	var q Person
	err = json.Unmarshal([]byte(`{"name":"bob","age":7,"emails":["a@b"],"extra":{"n":1.5,"list":[1,"x",null,true]},"unknown":1}`), &q)
	fmt.Printf("%+v %v\n", q, err)
	fmt.Println(json.Unmarshal([]byte(`{"name":1}`), &q) != nil)
	b, _ = json.MarshalIndent(map[string]any{"t": Celsius(21.55), "s": Square{2}, "list": []Shape{Square{1}, Square{3}}}, "", "  ")
	fmt.Println(string(b))
	var v any
	dec := json.NewDecoder(strings.NewReader(`{"a":1} {"a":2} [3]`))
	for dec.More() {
		if err := dec.Decode(&v); err != nil {
			fmt.Println(err)
			break
		}
		switch x := v.(type) {
		case map[string]any:
			fmt.Println("object", x["a"])
		case []any:
			fmt.Println("list", len(x), x[0])
		}
	}
	var buf bytes.Buffer
	w := csv.NewWriter(&buf)
	w.Write([]string{"a b", "c,d", `e"f`})
	w.Flush()
	fmt.Print(buf.String())
	tw := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', tabwriter.AlignRight|tabwriter.Debug)
	fmt.Fprintln(tw, "name\tage\tcity")
	fmt.Fprintln(tw, "ann\t30\tParis")
	tw.Flush()
	fmt.Println(hex.EncodeToString([]byte("hi!")))
}
