package micro

import "unsafe"

// Lanes is the number of outputs in a block of a quantised weight.
const Lanes = 16

// A Quant is a quantised weight in memory; ir.Quant describes its layout.
type Quant struct {
	Bits, Group   int
	Groups        int // of a block
	Scale         Elem
	Codes, Scales unsafe.Pointer
	Zeros         unsafe.Pointer // one byte for each scale; nil stands for 2^(Bits−1)
}

// middle4 and middle8 are the zero points of a weight without zero points of its own.
var (
	middle4 = [Lanes]byte{8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8}
	middle8 = [Lanes]byte{128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128}
)

// perLine returns the number of inputs in a line (64 bytes) of codes.
func (q *Quant) perLine() int { return 32 / q.Bits }

// lines is the number of lines in a group.
func (q *Quant) lines() int { return q.Group / q.perLine() }

func (q *Quant) blockBytes() int { return q.Groups * q.lines() * 4 * Lanes }

// codes, scales and zeros return the address of the data of a group; step is the distance to the zeros of
// the next group.
func (q *Quant) codes(block, group int) unsafe.Pointer {
	return unsafe.Add(q.Codes, block*q.blockBytes()+group*q.lines()*4*Lanes)
}

func (q *Quant) scales(block, group int) unsafe.Pointer {
	return unsafe.Add(q.Scales, (block*q.Groups+group)*Lanes*q.Scale.Size())
}

func (q *Quant) zeros(block, group int) (p *byte, step int) {
	if q.Zeros != nil {
		return (*byte)(unsafe.Add(q.Zeros, (block*q.Groups+group)*Lanes)), Lanes
	}
	if q.Bits == 4 {
		return &middle4[0], 0
	}
	return &middle8[0], 0
}

// scale and zero return the scale and the zero point of one output.
func (q *Quant) scale(block, group, lane int) float32 {
	return Source{Base: unsafe.Add(q.scales(block, group), lane*q.Scale.Size()), Elem: q.Scale}.first()
}

func (q *Quant) zero(block, group, lane int) int {
	p, _ := q.zeros(block, group)
	return int(*(*byte)(unsafe.Add(unsafe.Pointer(p), lane)))
}

// code returns the code of input i of a group.
func (q *Quant) code(block, group, lane, i int) int {
	per := q.perLine()
	b := *(*byte)(unsafe.Add(q.codes(block, group), (i/per*Lanes+lane)*4+i%4))
	if q.Bits == 4 {
		b = b >> (4 * (i % per / 4)) & 15
	}
	return int(b)
}

// At returns element [k n] of the weight; nothing is rounded.
func (q *Quant) At(k, n int) float64 {
	block, lane, group := n/Lanes, n%Lanes, k/q.Group
	return float64(q.scale(block, group, lane)) * float64(q.code(block, group, lane, k%q.Group)-q.zero(block, group, lane))
}

// Column writes elements [from n], [from+1 n] … of the weight to dst; from is a multiple of 32.
func (q *Quant) Column(n, from int, dst []float32) {
	block, lane := n/Lanes, n%Lanes
	for len(dst) > 0 {
		group, first := from/q.Group, from%q.Group
		count := min(len(dst), q.Group-first)
		s, z := q.scale(block, group, lane), q.zero(block, group, lane)
		for i := range dst[:count] {
			dst[i] = s * float32(q.code(block, group, lane, first+i)-z)
		}
		from, dst = from+count, dst[count:]
	}
}

// Dequantize writes the inputs from … to−1 of a block to dst, 16 outputs for each input, ldd elements
// apart. from and to are multiples of 8.
func (q *Quant) Dequantize(block, from, to int, dst *float32, ldd int) {
	for at := 0; from < to; {
		// Whole groups are taken together, parts of a group alone.
		group, first, groups, count := from/q.Group, from%q.Group, 1, 0
		if groups = (to - from) / q.Group; first == 0 && groups > 0 {
			count = groups * q.Group
		} else {
			groups, count = 1, min(q.Group-first, to-from)
		}
		if d := offset(dst, at*ldd); !q.dequantizeVector(block, group, groups, first, count/groups, d, ldd) {
			q.dequantizeScalar(block, from, count, d, ldd)
		}
		from, at = from+count, at+count
	}
}

// dequantizeScalar is Dequantize in Go.
func (q *Quant) dequantizeScalar(block, from, count int, dst *float32, ldd int) {
	for i := range count {
		for lane := range Lanes {
			*offset(dst, i*ldd+lane) = float32(q.At(from+i, block*Lanes+lane))
		}
	}
}

// A QuantInput is the left operand of a product with a quantised weight: rows of x, prepared once for all
// columns.
//
// With integer dot products each group of a row becomes fixed-point numbers of 24 bits, relative to the
// largest magnitude of the group, in three balanced digits of 8 bits. Their products with the codes are
// added up exactly in 32-bit integers. So only the rounding of x loses anything: about 2⁻²³ of the largest
// magnitude, as a sum in f32 does.
type QuantInput struct {
	rows   int
	digits []byte    // rows of records, if there are integer products and all numbers have digits; else nil
	floats []float32 // rows of Groups·Group, if digits is nil
}

// record returns the bytes of a group of digits. They are the unit of the group (f32); the negative sums of
// the highest, middle and lowest digits (i32); and for each four inputs their highest, middle and lowest
// digits and four unused bytes.
func (q *Quant) record() int { return 16 + 4*q.Group }

// InputLen returns how many elements of scratch memory Prepare needs for the rows.
func (q *Quant) InputLen(rows int) int { return rows * q.Groups * q.record() / 4 }

// Prepare reads rows of k values, lda apart, and keeps them in scratch.
func (q *Quant) Prepare(scratch []float32, rows, k int, a *float32, lda int) QuantInput {
	if integerDot() {
		if d := q.digits(scratch, rows, k, a, lda); d != nil {
			return QuantInput{rows: rows, digits: d}
		}
	}
	width := q.Groups * q.Group
	x := QuantInput{rows: rows, floats: scratch[:rows*width]}
	for i := range rows {
		row := x.floats[i*width : (i+1)*width]
		copy(row, unsafe.Slice(offset(a, i*lda), k))
		clear(row[k:])
	}
	return x
}

// digits returns the digits of all rows. It returns nil if a group has none, because a number is not
// finite, or all are so small that the unit would not be a normal number.
func (q *Quant) digits(scratch []float32, rows, k int, a *float32, lda int) []byte {
	d := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(scratch))), rows*q.Groups*q.record())
	for i := range rows {
		for g := range q.Groups {
			x := offset(a, i*lda+g*q.Group)
			var last [128]float32
			if n := k - g*q.Group; n < q.Group {
				copy(last[:], unsafe.Slice(x, n))
				x = &last[0]
			}
			if !digitsVector(&d[(i*q.Groups+g)*q.record()], x, q.Group) {
				return nil
			}
		}
	}
	return d
}

// Multiply computes c[i][j] += Σ x[i][k]·w[k][col+j] for cols columns; col is a multiple of 16, ldc is in
// elements.
func (q *Quant) Multiply(x *QuantInput, col, cols int, c *float32, ldc int) {
	block, full := col/Lanes, cols/Lanes
	q.multiplyBlocks(x, block, full, c, ldc)
	rest := cols % Lanes
	if rest == 0 {
		return
	}
	for i := 0; i < x.rows; i += 4 {
		var part [4 * Lanes]float32
		rows := min(4, x.rows-i)
		q.multiplyRows(x, i, rows, block+full, 1, &part[0], Lanes)
		for r := range rows {
			to := unsafe.Slice(offset(c, (i+r)*ldc+full*Lanes), rest)
			for j := range to {
				to[j] += part[r*Lanes+j]
			}
		}
	}
}

// multiplyBlocks multiplies all rows by whole blocks, a few rows at a time.
func (q *Quant) multiplyBlocks(x *QuantInput, block, blocks int, c *float32, ldc int) {
	if blocks == 0 {
		return
	}
	for i := 0; i < x.rows; i += 4 {
		q.multiplyRows(x, i, min(4, x.rows-i), block, blocks, offset(c, i*ldc), ldc)
	}
}

// multiplyRows multiplies up to four rows by whole blocks; c is where the first row's result goes.
func (q *Quant) multiplyRows(x *QuantInput, row, rows, block, blocks int, c *float32, ldc int) {
	if x.digits != nil {
		q.multiplyDigits(x, row, rows, block, blocks, c, ldc)
		return
	}
	width := q.Groups * q.Group
	for r := range rows {
		a := x.floats[(row+r)*width:][:width]
		for b := range blocks {
			to := offset(c, r*ldc+b*Lanes)
			if !q.multiplyVector(unsafe.SliceData(a), block+b, to) {
				q.multiplyScalar(a, block+b, unsafe.Slice(to, Lanes))
			}
		}
	}
}

// multiplyScalar multiplies a row by a block in Go.
func (q *Quant) multiplyScalar(x []float32, block int, c []float32) {
	for lane := range c {
		for g := range q.Groups {
			z, sum := q.zero(block, g, lane), float32(0)
			for i, v := range x[g*q.Group:][:q.Group] {
				sum += v * float32(q.code(block, g, lane, i)-z)
			}
			c[lane] += sum * q.scale(block, g, lane)
		}
	}
}
