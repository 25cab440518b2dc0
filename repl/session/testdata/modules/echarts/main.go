package main

import (
	"bytes"
	"fmt"
	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"
	"strings"
)

func main() {

	bar := charts.NewBar()
	bar.SetGlobalOptions(charts.WithTitleOpts(opts.Title{Title: "My first bar chart", Subtitle: "It's extremely easy to use, right?"}))
	bar.SetXAxis([]string{"Mon", "Tue", "Wed"}).AddSeries("Category A", []opts.BarData{{Value: 1}, {Value: 2}, {Value: 3}})
	var b bytes.Buffer
	err := bar.Render(&b)
	fmt.Println(err, b.Len() > 1000, strings.Contains(b.String(), "My first bar chart"), strings.Contains(b.String(), `"data":["Mon","Tue","Wed"]`))
}
