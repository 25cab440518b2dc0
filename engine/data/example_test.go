package data_test

import (
	"fmt"
	"log"

	"github.com/mcs-notebook/mcs/engine/data"
)

// Windows cuts a text: each target is the byte that follows its input.
func ExampleWindows() {
	batch, err := data.Windows("hello, world", 4, 2).Batch(0)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(batch.Inputs.Shape(), batch.Tokens(), "tokens")
	fmt.Println(batch.Inputs.Ints()[1] == batch.Targets.Ints()[0])
	// Output:
	// [2 4] 8 tokens
	// true
}

// Split keeps the end of a text for evaluation.
func ExampleSplit() {
	learn, test := data.Split("one two three four", 0.5)
	fmt.Printf("%q %q\n", learn, test)
	// Output: "one two t" "hree four"
}
