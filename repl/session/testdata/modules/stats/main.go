package main

import (
	"fmt"
	"github.com/montanaflynn/stats"
)

func main() {

	data := []float64{1.0, 2.1, 3.2, 4.823, 4.1, 5.8}
	median, _ := stats.Median(data)
	fmt.Println(median)
	roundedMedian, _ := stats.Round(median, 0)
	fmt.Println(roundedMedian)
	d := stats.LoadRawData([]interface{}{1.1, "2", 3.0, 4, "5"})
	a, _ := d.Min()
	fmt.Println(a)
	q, _ := stats.Quartile(data)
	fmt.Println(q)
	_, err := stats.Mean(nil)
	fmt.Println(err)
}
