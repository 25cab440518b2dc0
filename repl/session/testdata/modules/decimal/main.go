package main

import (
	"fmt"
	"github.com/shopspring/decimal"
)

func main() {

	price, err := decimal.NewFromString("136.02")
	if err != nil {
		panic(err)
	}
	quantity := decimal.NewFromInt(3)
	fee, _ := decimal.NewFromString(".035")
	taxRate, _ := decimal.NewFromString(".08875")
	subtotal := price.Mul(quantity)
	preTax := subtotal.Mul(fee.Add(decimal.NewFromFloat(1)))
	total := preTax.Mul(taxRate.Add(decimal.NewFromFloat(1)))
	fmt.Println("Subtotal:", subtotal)
	fmt.Println("Pre-tax:", preTax)
	fmt.Println("Taxes:", total.Sub(preTax))
	fmt.Println("Total:", total)
	fmt.Println("Tax rate:", total.Sub(preTax).Div(preTax), decimal.NewFromFloat(2).Pow(decimal.NewFromInt(10)), total.Round(2))
}
