package main

import (
	"fmt"
	"github.com/google/uuid"
)

func main() {

	fmt.Println(len(uuid.NewString()), uuid.New() != uuid.New())
	id, err := uuid.Parse("f47ac10b-58cc-0372-8567-0e02b2c3d479")
	fmt.Println(id, err, id.Version(), id.Variant())
	fmt.Println(uuid.NewSHA1(uuid.NameSpaceDNS, []byte("example.com")))
	_, err = uuid.Parse("xyz")
	fmt.Println(err)
	text, _ := id.MarshalText()
	fmt.Println(string(text))
}
