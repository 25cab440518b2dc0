package main

import (
	"fmt"
	jsoniter "github.com/json-iterator/go"
)

func main() {

	var json = jsoniter.ConfigCompatibleWithStandardLibrary
	text, err := json.Marshal(map[string]int{"a": 1})
	fmt.Println(string(text), err)
}
