package main

import (
	"fmt"
	"math/big"
	"math/bits"
	"math/rand"
)

func generate(ch chan<- int) {
	for i := 2; ; i++ {
		ch <- i
	}
}

func filter(in <-chan int, out chan<- int, prime int) {
	for {
		if i := <-in; i%prime != 0 {
			out <- i
		}
	}
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func hanoi(n int, a, b, c string, move func(from, to string)) {
	if n == 0 {
		return
	}
	hanoi(n-1, a, c, b, move)
	move(a, c)
	hanoi(n-1, b, a, c, move)
}

func queens(n int) (count int) {
	cols, d1, d2 := make([]bool, n), make([]bool, 2*n), make([]bool, 2*n)
	var place func(r int)
	place = func(r int) {
		if r == n {
			count++
			return
		}
		for c := range n {
			if cols[c] || d1[r+c] || d2[r-c+n] {
				continue
			}
			cols[c], d1[r+c], d2[r-c+n] = true, true, true
			place(r + 1)
			cols[c], d1[r+c], d2[r-c+n] = false, false, false
		}
	}
	place(0)
	return
}

func permutations(xs []int, emit func([]int)) {
	if len(xs) == 0 {
		emit(nil)
		return
	}
	for i, x := range xs {
		rest := append(append([]int{}, xs[:i]...), xs[i+1:]...)
		permutations(rest, func(p []int) { emit(append([]int{x}, p...)) })
	}
}

func main() {
	ch := make(chan int)
	go generate(ch)
	for range 10 {
		prime := <-ch
		fmt.Print(prime, " ")
		next := make(chan int)
		go filter(ch, next, prime)
		ch = next
	}
	fmt.Println()
	fmt.Println(gcd(1071, 462), bits.OnesCount(255), bits.LeadingZeros64(1))
	moves := 0
	hanoi(5, "a", "b", "c", func(from, to string) { moves++ })
	fmt.Println(moves, queens(6))
	permutations([]int{1, 2, 3}, func(p []int) { fmt.Print(p) })
	fmt.Println()
	f := big.NewInt(1)
	for i := int64(2); i <= 30; i++ {
		f.Mul(f, big.NewInt(i))
	}
	fmt.Println(f, f.BitLen(), new(big.Int).Exp(big.NewInt(2), big.NewInt(100), nil))
	r := rand.New(rand.NewSource(1))
	fmt.Println(r.Intn(100), r.Intn(100), r.Float64() < 1)
	var x uint32 = 1
	for i := range 5 {
		x = x<<uint(i) | x>>3 ^ 0x5bd1e995
	}
	fmt.Printf("%#x %d\n", x, int32(x))
	fizz := func(n int) string {
		switch {
		case n%15 == 0:
			return "FizzBuzz"
		case n%3 == 0:
			return "Fizz"
		case n%5 == 0:
			return "Buzz"
		}
		return fmt.Sprint(n)
	}
	for i := 1; i <= 15; i++ {
		fmt.Print(fizz(i), " ")
	}
	fmt.Println()
outer:
	for i := 2; ; i++ {
		for j := 2; j < i; j++ {
			if i%j == 0 {
				continue outer
			}
		}
		if i > 20 {
			fmt.Println("first above 20:", i)
			break outer
		}
	}
	var tri [5][5]int
	for i := range tri {
		tri[i][0] = 1
		for j := 1; j <= i; j++ {
			tri[i][j] = tri[i-1][j-1] + tri[i-1][j]
		}
	}
	copyOf := tri
	copyOf[4][2] = 0
	fmt.Println(tri[4], copyOf[4], tri == copyOf)
}
