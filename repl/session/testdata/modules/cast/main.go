package main

import (
	"fmt"
	"github.com/spf13/cast"
)

func main() {

	fmt.Println(cast.ToString("mayonegg"), cast.ToString(8), cast.ToString(8.31), cast.ToString([]byte("one time")), cast.ToString(nil))
	var foo interface{} = "one more time"
	fmt.Println(cast.ToString(foo))
	var eight interface{} = 8
	fmt.Println(cast.ToInt(8), cast.ToInt(8.31), cast.ToInt("8"), cast.ToInt(true), cast.ToInt(eight), cast.ToInt(nil))
	_, err := cast.ToIntE("x")
	fmt.Println(err)
	fmt.Println(cast.ToDuration("1h"), cast.ToStringMap(`{"a": 1}`), cast.ToStringSlice("a b"), cast.ToTime("2024-01-02").UTC())
}
