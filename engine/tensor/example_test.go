package tensor_test

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/tensor"
)

func Example() {
	x := tensor.From([][]float64{{1, 2, 3}, {4, 5, 6}})
	fmt.Println(x.Mul(2).Sub(x.MeanKeep(1)))
	// Output:
	// f32[2 3] cpu 24 B
	// [[0. 2. 4.]
	//  [3. 5. 7.]]
}

func ExampleGrad() {
	w := tensor.From([]float64{0.5, -1}).Param().Named("w")
	x := tensor.From([][]float64{{1, 2}, {3, 4}})
	loss := x.MatMul(w).Square().Mean() // nothing is computed yet
	fmt.Println(tensor.Grad(loss, w)[0])
	fmt.Println(loss.Item())
	// Output:
	// f32[2] cpu 8 B
	// [ -9. -13.]
	// 4.25
}

func ExampleTry() {
	err := tensor.Try(func() {
		tensor.Zeros(4, 1024).MatMul(tensor.Zeros(3, 3))
	})
	fmt.Println(err)
	// Output:
	// matmul: got f32[4 1024] and f32[3 3], want inner dimensions equal (1024 and 3)
}

func ExampleLoRALinear() {
	w := tensor.Eye(3)                           // frozen
	a := tensor.From([][]float64{{1}, {0}, {0}}) // the adapter has rank 1
	b := tensor.From([][]float64{{0, 10, 0}})
	x := tensor.From([]float64{1, 2, 3})
	fmt.Println(tensor.LoRALinear(x, w, a, b, 0.5))
	// Output:
	// f32[3] cpu 12 B
	// [1. 7. 3.]
}

func ExampleWhere() {
	x := tensor.Range(6)
	fmt.Println(tensor.Where(x.Mod(2).Eq(0), x, -1))
	// Output:
	// i64[6] cpu 48 B
	// [ 0 -1  2 -1  4 -1]
}

func ExampleTensor_TopK() {
	probabilities := tensor.From([]float64{0.1, 0.6, 0.05, 0.25})
	values, places := probabilities.TopK(2)
	fmt.Println(values.Floats(), places.Ints())
	// Output:
	// [0.6 0.25] [1 3]
}

func ExampleTensor_Set() {
	w := tensor.Zeros(2).Param()
	for range 3 {
		w.Set(w.Add(1)) // everybody who holds w sees the new value
	}
	fmt.Println(w.Floats())
	// Output:
	// [3 3]
}
