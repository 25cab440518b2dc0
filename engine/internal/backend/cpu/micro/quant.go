package micro

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Lanes is the number of outputs in a block of a quantised weight.
const Lanes = 16

// A Quant is a quantised weight in memory; ir.Quant describes its layout.
type Quant struct {
	Bits, Group   int
	Form          ir.Form
	Groups        int  // of a block
	Scale         Elem // of scales and minimums
	Codes, Scales unsafe.Pointer
	Extra         unsafe.Pointer // zero points, minimums or the table, as the form says
}

// middle4 and middle8 are the zero points of a weight without zero points of its own, none those of one with
// minimums.
var (
	none    [Lanes]byte
	middle4 = [Lanes]byte{8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8}
	middle8 = [Lanes]byte{128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128}
)

// perLine returns the number of inputs in a line (64 bytes) of codes.
func (q *Quant) perLine() int { return 32 / q.Bits }

// lines is the number of lines in a group.
func (q *Quant) lines() int { return q.Group / q.perLine() }

func (q *Quant) blockBytes() int { return q.Groups * q.lines() * 4 * Lanes }

// codes, scales, minimums and zeros return the address of the data of a group; step is the distance to the
// zeros of the next group. What vectors read in the place of zeros may be the table.
func (q *Quant) codes(block, group int) unsafe.Pointer {
	return unsafe.Add(q.Codes, block*q.blockBytes()+group*q.lines()*4*Lanes)
}

func (q *Quant) scales(block, group int) unsafe.Pointer {
	return unsafe.Add(q.Scales, (block*q.Groups+group)*Lanes*q.Scale.Size())
}

func (q *Quant) minimums(block, group int) unsafe.Pointer {
	return unsafe.Add(q.Extra, (block*q.Groups+group)*Lanes*q.Scale.Size())
}

func (q *Quant) zeros(block, group int) (p *byte, step int) {
	switch {
	case q.Form == ir.Zeros:
		return (*byte)(unsafe.Add(q.Extra, (block*q.Groups+group)*Lanes)), Lanes
	case q.Form == ir.Minimums:
		return &none[0], 0
	case q.Form == ir.Table:
		return (*byte)(q.Extra), 0
	case q.Bits == 4:
		return &middle4[0], 0
	}
	return &middle8[0], 0
}

// scale, minimum and zero return those of one output.
func (q *Quant) scale(block, group, lane int) float32 {
	return Source{Base: unsafe.Add(q.scales(block, group), lane*q.Scale.Size()), Elem: q.Scale}.first()
}

func (q *Quant) minimum(block, group, lane int) float32 {
	if q.Form != ir.Minimums {
		return 0
	}
	return Source{Base: unsafe.Add(q.minimums(block, group), lane*q.Scale.Size()), Elem: q.Scale}.first()
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

// unscaled is what a scale multiplies at input i of a group: the code less the zero point, or its number in
// the table.
func (q *Quant) unscaled(block, group, lane, i int) float32 {
	code := q.code(block, group, lane, i)
	if q.Form == ir.Table {
		return unsafe.Slice((*float32)(q.Extra), 1<<q.Bits)[code]
	}
	return float32(code - q.zero(block, group, lane))
}

// At returns element [k n] of the weight; nothing is rounded but the product that a minimum is added to.
func (q *Quant) At(k, n int) float64 {
	block, lane, group := n/Lanes, n%Lanes, k/q.Group
	w := float64(q.scale(block, group, lane)) * float64(q.unscaled(block, group, lane, k%q.Group))
	if q.Form == ir.Minimums {
		return float64(float32(w)) + float64(q.minimum(block, group, lane))
	}
	return w
}

// Column writes elements [from n], [from+1 n] … of the weight to dst; from is a multiple of 32.
func (q *Quant) Column(n, from int, dst []float32) {
	block, lane := n/Lanes, n%Lanes
	for len(dst) > 0 {
		group, first := from/q.Group, from%q.Group
		count := min(len(dst), q.Group-first)
		s, m := q.scale(block, group, lane), q.minimum(block, group, lane)
		for i := range dst[:count] {
			dst[i] = float32(s*q.unscaled(block, group, lane, first+i)) + m
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

// Kernels by bits (4, 8) and type of the scales. Products of digits are also by whether there are dot
// products of bytes, by rows and by blocks; those of floats by set, and by whether there is a table.
var (
	quantDots [2][2][2][5][5]func(groups, lines int, codes *byte, block int, x *byte, row int, scales unsafe.Pointer, scaleBlock int,
		zeros *byte, zeroStep, zeroBlock int, c *float32, ldc int)
	quantFloats [isa.NumSets][2][2][2]func(groups, lines int, codes *byte, x *float32, scales unsafe.Pointer, zeros *byte, zeroStep int, c *float32)
	dequantizes [isa.NumSets][2][2][2]func(groups, lines int, codes *byte, scales unsafe.Pointer, zeros *byte, zeroStep int, dst *float32, ldd int)
	quantSums   [isa.NumSets][2]func(groups int, sums *float32, minimums unsafe.Pointer, c *float32)
	addMinimums [isa.NumSets][2]func(groups, inputs int, minimums unsafe.Pointer, dst *float32, ldd int)
)

// dotKernels are the kernels for digits, by rows and blocks.
func (q *Quant) dotKernels() *[5][5]func(groups, lines int, codes *byte, block int, x *byte, row int, scales unsafe.Pointer, scaleBlock int,
	zeros *byte, zeroStep, zeroBlock int, c *float32, ldc int) {
	return &quantDots[one(isa.HasByteDot())][q.Bits/8][q.Scale]
}

// integerDot reports whether products are computed from digits.
func (q *Quant) integerDot() bool {
	return isa.Level() != isa.Portable && q.Form != ir.Table && q.dotKernels()[1][1] != nil
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// multiplyDigits multiplies one to four rows by whole blocks.
func (q *Quant) multiplyDigits(x *QuantInput, row, rows, block, blocks int, c *float32, ldc int) {
	kernels, stride, scales := q.dotKernels(), q.Groups*q.record(), q.Scale.Size()*Lanes*q.Groups
	for done := 0; rows > 0; {
		m, n := 4, 4
		for m > rows || kernels[m][1] == nil {
			m /= 2
		}
		for kernels[m][n] == nil {
			n /= 2
		}
		for b := 0; b < blocks; {
			step := 1
			if blocks-b >= n {
				step = n
			}
			zeros, apart := q.zeros(block+b, 0)
			kernels[m][step](q.Groups, q.lines(), (*byte)(q.codes(block+b, 0)), q.blockBytes(), &x.digits[row*stride], stride,
				q.scales(block+b, 0), scales, zeros, apart, apart*q.Groups, offset(c, done*ldc+b*Lanes), 4*ldc)
			b += step
		}
		row, rows, done = row+m, rows-m, done+m
	}
}

// multiplyVector multiplies a row by a block. It returns false if there is no kernel for it.
func (q *Quant) multiplyVector(x *float32, block int, c *float32) bool {
	f := quantFloats[isa.Level()][q.Bits/8][q.Scale][one(q.Form == ir.Table)]
	if f == nil {
		return false
	}
	zeros, step := q.zeros(block, 0)
	f(q.Groups, q.lines(), (*byte)(q.codes(block, 0)), x, q.scales(block, 0), zeros, step, c)
	return true
}

// dequantizeVector writes count inputs, from input first on, of each of some groups of a block. It returns
// false if there is no kernel for it.
func (q *Quant) dequantizeVector(block, group, groups, first, count int, dst *float32, ldd int) bool {
	f, add := dequantizes[isa.Level()][q.Bits/8][q.Scale][one(q.Form == ir.Table)], addMinimums[isa.Level()][q.Scale]
	if f == nil || q.Form == ir.Minimums && add == nil {
		return false
	}
	codes := unsafe.Add(q.codes(block, group), first/q.perLine()*4*Lanes)
	zeros, step := q.zeros(block, group)
	f(groups, count/q.perLine(), (*byte)(codes), q.scales(block, group), zeros, step, dst, 4*ldd)
	if q.Form == ir.Minimums {
		add(groups, count, q.minimums(block, group), dst, 4*ldd)
	}
	return true
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
	sums   []float32 // of a weight with minimums: rows of the sums of Groups groups
}

// record returns the bytes of a group of digits. They are the unit of the group (f32); the negative sums of
// the highest, middle and lowest digits (i32); and for each four inputs their highest, middle and lowest
// digits and four unused bytes.
func (q *Quant) record() int { return 16 + 4*q.Group }

// InputLen returns how many elements of scratch memory Prepare needs for the rows.
func (q *Quant) InputLen(rows int) int { return rows * q.Groups * (q.record()/4 + 1) }

// Prepare reads rows of k values, lda apart, and keeps them in scratch.
func (q *Quant) Prepare(scratch []float32, rows, k int, a *float32, lda int) QuantInput {
	x := QuantInput{rows: rows}
	if q.Form == ir.Minimums {
		x.sums = scratch[q.InputLen(rows)-rows*q.Groups:][:rows*q.Groups]
		for i := range x.sums {
			row, at := i/q.Groups, i%q.Groups*q.Group
			x.sums[i] = sum(unsafe.Slice(offset(a, row*lda+at), min(q.Group, k-at)))
		}
	}
	if q.integerDot() {
		if x.digits = q.digits(scratch, rows, k, a, lda); x.digits != nil {
			return x
		}
	}
	width := q.Groups * q.Group
	x.floats = scratch[:rows*width]
	for i := range rows {
		row := x.floats[i*width : (i+1)*width]
		copy(row, unsafe.Slice(offset(a, i*lda), k))
		clear(row[k:])
	}
	return x
}

// sum adds up in four parts, so that an addition need not wait for the one before.
func sum(x []float32) float32 {
	var part [4]float32
	for ; len(x) >= 4; x = x[4:] {
		for i := range part {
			part[i] += x[i]
		}
	}
	for i, v := range x {
		part[i] += v
	}
	return part[0] + part[1] + (part[2] + part[3])
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
			var ok int
			if digits(&d[(i*q.Groups+g)*q.record()], x, q.Group, &ok); ok == 0 {
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
	if x.sums != nil {
		for r := range rows {
			for b := range blocks {
				q.multiplySums(x.sums[(row+r)*q.Groups:][:q.Groups], block+b, offset(c, r*ldc+b*Lanes))
			}
		}
	}
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

// multiplySums multiplies the sums of a row's groups by the minimums of a block.
func (q *Quant) multiplySums(sums []float32, block int, c *float32) {
	if f := quantSums[isa.Level()][q.Scale]; f != nil {
		f(q.Groups, unsafe.SliceData(sums), q.minimums(block, 0), c)
		return
	}
	for lane, to := range unsafe.Slice(c, Lanes) {
		for g, s := range sums {
			to += float32(s * q.minimum(block, g, lane))
		}
		unsafe.Slice(c, Lanes)[lane] = to
	}
}

// multiplyScalar multiplies a row by a block in Go.
func (q *Quant) multiplyScalar(x []float32, block int, c []float32) {
	for lane := range c {
		for g := range q.Groups {
			sum := float32(0)
			for i, v := range x[g*q.Group:][:q.Group] {
				sum += v * q.unscaled(block, g, lane, i)
			}
			c[lane] += sum * q.scale(block, g, lane)
		}
	}
}
