package main

import (
	"fmt"
	"github.com/tidwall/gjson"
)

func main() {

	value := gjson.Get(`{"name":{"first":"Janet","last":"Prichard"},"age":47}`, "name.last")
	fmt.Println(value.String())
}
