package main

import (
	"fmt"
	"gopkg.in/yaml.v3"
)

var data = `
a: Easy!
b:
  c: 2
  d: [3, 4]
`

type T struct {
	A string
	B struct {
		RenamedC int   `yaml:"c"`
		D        []int `yaml:",flow"`
	}
}

func main() {

	t := T{}
	err := yaml.Unmarshal([]byte(data), &t)
	fmt.Printf("--- t:\n%v %v\n\n", t, err)
	d, err := yaml.Marshal(&t)
	fmt.Printf("--- t dump:\n%s%v\n\n", string(d), err)
	m := make(map[interface{}]interface{})
	err = yaml.Unmarshal([]byte(data), &m)
	fmt.Printf("--- m:\n%v %v\n\n", m, err)
	d, err = yaml.Marshal(&m)
	fmt.Printf("--- m dump:\n%s\n\n", string(d))
	fmt.Println(yaml.Unmarshal([]byte("a: [1"), &m))
}
