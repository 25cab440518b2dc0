package main

import (
	"fmt"
	"github.com/go-playground/validator/v10"
)

type User struct {
	FirstName string `validate:"required"`
	LastName  string `validate:"required"`
	Age       uint8  `validate:"gte=0,lte=130"`
	Email     string `validate:"required,email"`
}

func main() {

	validate := validator.New(validator.WithRequiredStructEnabled())
	fmt.Println(validate.Var("joeybloggs.gmail.com", "required,email"))
	user := &User{FirstName: "Badger", LastName: "Smith", Age: 135, Email: "Badger.Smith@gmail.com"}
	if err := validate.Struct(user); err != nil {
		for _, err := range err.(validator.ValidationErrors) {
			fmt.Println(err.Namespace(), err.Field(), err.Tag(), err.Kind(), err.Type(), err.Value(), err.Param())
		}
	}
}
