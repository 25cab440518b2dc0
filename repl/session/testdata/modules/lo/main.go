package main

import (
	"fmt"
	"github.com/samber/lo"
	"strconv"
)

func main() {

	names := lo.Uniq([]string{"Samuel", "John", "Samuel"})
	fmt.Println(names)
	even := lo.Filter([]int{1, 2, 3, 4}, func(x int, index int) bool { return x%2 == 0 })
	fmt.Println(even)
	fmt.Println(lo.Map([]int64{1, 2, 3, 4}, func(x int64, index int) string { return strconv.FormatInt(x, 10) }))
	fmt.Println(lo.Chunk([]int{0, 1, 2, 3, 4, 5, 6}, 3), lo.Sum([]int{1, 2, 3}), lo.Contains(names, "John"))
	groups := lo.GroupBy([]int{0, 1, 2, 3, 4, 5}, func(i int) int { return i % 3 })
	fmt.Println(groups, lo.Must(strconv.Atoi("3")), lo.Ternary(true, "a", "b"))
	fmt.Println(lo.Reduce([]int{1, 2, 3, 4}, func(agg int, item int, index int) int { return agg + item }, 0))
	a, b := lo.Unzip2([]lo.Tuple2[string, int]{{A: "a", B: 1}, {A: "b", B: 2}})
	fmt.Println(a, b, lo.ToPtr(3) != nil, lo.KeyBy([]string{"a", "bb"}, func(s string) int { return len(s) }))
}
