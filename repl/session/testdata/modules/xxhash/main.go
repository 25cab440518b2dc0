package main

import (
	"fmt"
	"github.com/cespare/xxhash/v2"
)

func main() {

	fmt.Println(xxhash.Sum64String("The quick brown fox jumps over the lazy dog"))
	d := xxhash.New()
	for i := 0; i < 100; i++ {
		fmt.Fprintf(d, "%d ", i)
	}
	fmt.Println(d.Sum64(), xxhash.Sum64(nil))
}
