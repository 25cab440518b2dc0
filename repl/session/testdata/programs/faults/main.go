// Which of several faults of a statement a panic names: those of a value come before those of its place.
package main

import "fmt"

type T struct {
	A int
	P *T
}

var log []string

func f(n int) int { log = append(log, fmt.Sprint("f", n)); return n }
func try(n int, g func()) {
	defer func() { fmt.Println(n, recover(), log); log = nil }()
	g()
}

func main() {
	xs, ys := []int{1, 2}, []int{1, 2, 3}
	arr, brr := [2]int{}, [3]int{}
	pa, pb := &arr, &brr
	var na *[2]int
	var m map[int]int
	var mm map[string][]int
	var p, q *T
	var pi, pj *int
	s := "ab"
	i, j, z := 5, 7, 0
	var e any
	var ms = map[int]int{}
	var bs []byte
	_, _, _, _, _, _, _, _, _, _, _, _, _ = arr, brr, pa, pb, na, m, mm, p, q, pi, pj, s, e
	_, _ = bs, ms
	try(1, func() { xs[i] = ys[j] })
	try(2, func() { xs[i] = brr[j] })
	try(3, func() { arr[i] = ys[j] })
	try(4, func() { arr[i] = brr[j] })
	try(5, func() { pa[i] = pb[j] })
	try(6, func() { na[i] = pb[j] })
	try(7, func() { na[0] = pb[j] })
	try(8, func() { m[i] = ys[j] })
	try(9, func() { m[i] = *pi })
	try(10, func() { m[i] = p.A })
	try(11, func() { xs[i] = p.A })
	try(12, func() { xs[i] = *pi })
	try(13, func() { p.A = ys[j] })
	try(14, func() { p.A = *pi })
	try(15, func() { p.A = q.A })
	try(16, func() { *pi = ys[j] })
	try(17, func() { *pi = p.A })
	try(18, func() { xs[i] = int(s[j]) })
	try(19, func() { bs[i] = s[j] })
	try(20, func() { xs[i] = ys[j] + 1 })
	try(21, func() { xs[i] = 1 / z })
	try(22, func() { xs[i] += ys[j] })
	try(23, func() { xs[i] += 1 / z })
	try(24, func() { m[i] += ys[j] })
	try(25, func() { m[i] += p.A })
	try(26, func() { p.A += ys[j] })
	try(27, func() { *pi += ys[j] })
	try(28, func() { *pi += p.A })
	try(29, func() { xs[i] += xs[j] })
	try(30, func() { xs[i] = xs[xs[j]] })
	try(31, func() { xs[ys[i]] = ys[j] })
	try(32, func() { xs[ys[2]] = ys[j] })
	try(33, func() { xs[i], ys[j] = ys[9], 1 })
	try(34, func() { xs[i], xs[0] = xs[0], xs[j] })
	try(35, func() { xs[i], xs[j] = xs[j], xs[i] })
	try(36, func() { xs[i], p.A = 1, 2 })
	try(37, func() { p.A, xs[i] = 1, 2 })
	try(38, func() { p.P.A = ys[j] })
	try(39, func() { xs[i] = e.(int) })
	try(40, func() { xs[i] = ys[f(j)] })
	try(41, func() { xs[f(i)] = ys[j] })
	try(42, func() { xs[f(i)] = ys[f(j)] })
	try(43, func() { xs[i] = ys[j] * f(1) })
	try(44, func() { xs[i] = len(ys[j:]) })
	try(45, func() { xs[i] = mm["a"][j] })
	try(46, func() { mm["a"][i] = ys[j] })
	try(47, func() { xs[i]++ })
	try(48, func() { x := ys[j] + xs[i]; _ = x })
	try(49, func() { x := ys[j] + p.A; _ = x })
	try(50, func() { x := p.A + ys[j]; _ = x })
	try(51, func() { x := ys[j] < xs[i]; _ = x })
	try(52, func() { _ = fmt.Sprint(ys[j], xs[i]) })
	try(53, func() { func() (int, int) { return ys[j], xs[i] }() })
	try(54, func() { ms[p.A] = ys[j] })
	try(55, func() { m[xs[i]] = ys[j] })
	try(56, func() { c := make(chan int, 1); c <- ys[j] })
	try(57, func() { _ = T{A: ys[j], P: q.P} })
	try(58, func() { _ = []int{ys[j], q.A, xs[i]} })
	try(59, func() { _ = []int{q.A, ys[j], xs[i]} })
	try(60, func() { xs[i] = ys[1] / z })
	try(61, func() { xs[i] = ys[1] << (z - 1) })
	try(62, func() { var t []T; t[i] = *p })
	try(63, func() { var t []T; *p = t[i] })
	try(64, func() { var t [][3]int; t[i] = *pb })
	try(65, func() { var t [][2]int; t[i] = *na })
	try(66, func() { var t [][2]int; t[i][j] = ys[j] })
	try(67, func() { var t []string; t[i] = s[j:] })
	try(68, func() { var t, u []string; t[i] = u[j] })
	try(69, func() { var t, u []string; t[i] = u[j] + s })
	try(70, func() { var t, u []float64; t[i] = u[j] * 2 })
	try(71, func() { var t, u []any; t[i] = u[j] })
	try(72, func() { var t []any; t[i] = ys[j] })
	try(73, func() { var t []any; t[i] = *p })
	try(74, func() { var t, u []T; t[i].A = u[j].A })
	try(75, func() { var t, u []*T; t[i].A = u[j].A })
	try(76, func() { var u []*T; p.A = u[j].A })
	try(77, func() { v := T{}; v.A = ys[j] })
	try(78, func() { var fs []func(int) int; fs[i](f(1)) })
	try(79, func() { var g func(int) int; g(ys[j]) })
	try(80, func() { var fs []func(int) int; fs[i](ys[j]) })
	try(81, func() { xs = append(xs[:i], ys[j:]...) })
	try(82, func() { p.A, xs = 1, append(xs, ys[j]) })
	try(83, func() { xs[i] = copy(xs[j:], ys) })
	try(84, func() {
		for xs[i] = range ys {
			_ = ys[j]
		}
	})
	try(85, func() {
		for _, xs[i] = range ys[j:] {
		}
	})
	try(86, func() { var c chan int; c = make(chan int, 1); c <- 1; xs[i] = <-c })
	try(87, func() { p.A += q.A })
	try(88, func() { p.A /= z })
	try(89, func() { ys[0], z = 1, 0; ys[i] /= z })
	try(90, func() { ys[i] <<= z - 1 })
	try(91, func() { m[1] /= z })
	try(92, func() { m[1]++ })
	try(93, func() { var t []bool; t[i] = !t[j] })
	try(94, func() { var t []bool; t[i] = ys[j] == 2 })
	try(95, func() { var t []bool; t[i] = t[j] && t[2] })
	try(96, func() { var t []float64; t[i] = float64(ys[j]) })
	try(97, func() { xs[i] = -ys[j] })
	try(98, func() { xs[i] = min(ys[j], 1) })
	try(99, func() { var t []int; t[i] = ms[ys[j]] })
	try(100, func() { var t []*int; t[i] = &ys[j] })
	try(101, func() { var t []*int; t[i] = &p.A })
	try(102, func() { var t []T; t[i] = T{A: ys[j]} })
	try(103, func() { var t []*T; t[i] = &T{A: ys[j]} })
	try(104, func() { var t [][]int; t[i] = []int{ys[j]} })
}
