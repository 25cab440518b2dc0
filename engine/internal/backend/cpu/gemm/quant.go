package gemm

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/micro"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Codes describes a quantised right operand [K N]. Its parts, each contiguous, come with a Call.
type Codes struct {
	K, N        int // of the weight; a Transposed term reads it as [N K]
	Bits, Group int
	Form        ir.Form
	Scale       micro.Elem
	Transposed  bool
}

// quant returns the weight of term i in call c.
func (t *Term) quant(c *Call, i int) micro.Quant {
	w := t.Codes
	return micro.Quant{
		Bits: w.Bits, Group: w.Group, Form: w.Form, Groups: (w.K + w.Group - 1) / w.Group, Scale: w.Scale,
		Codes: c.B[i], Scales: c.Scales[i], Extra: c.Extra[i],
	}
}

// inputLen returns the scratch memory for the prepared rows of a product with few rows.
func (t *Term) inputLen(rows int) int {
	if t.Codes == nil || t.K == 0 {
		return 0
	}
	q := micro.Quant{Bits: t.Codes.Bits, Group: t.Codes.Group, Form: t.Codes.Form, Groups: (t.Codes.K + t.Codes.Group - 1) / t.Codes.Group}
	return roundUp(q.InputLen(rows), 16)
}

// prepare prepares rows, lda apart, for the product with the codes of term i.
func (t *Term) prepare(c *Call, i int, scratch []float32, rows int, a *float32, lda int) micro.QuantInput {
	q := t.quant(c, i)
	return q.Prepare(scratch, rows, t.K, a, lda)
}

// packCodes is pack for a quantised right operand: it packs the weight.
func (b *block) packCodes(dst []float32, c *chunk, line, lines int) {
	t := &b.p.Terms[c.term]
	q, kernel := t.quant(b.call, c.term), c.kernel
	for j := 0; j < lines; j += kernel.Cols {
		n := min(kernel.Cols, lines-j)
		p := panel{&q, dst[j*c.k:], kernel.PanelCols(n), line + j, n, c.step, c.k}
		if t.Codes.Transposed {
			p.packInputs()
		} else {
			p.packOutputs()
		}
	}
}

// A panel is a part of a quantised weight in the layout of a micro-kernel: steps rows of width values, of
// which the first lines are needed.
type panel struct {
	q           *micro.Quant
	dst         []float32
	width       int
	line, lines int
	step, steps int
}

// tileInputs is the number of inputs of a block that are written at a time if they cannot go straight into
// the panel.
const tileInputs = 64

// packOutputs packs a panel with outputs as lines and inputs as steps.
func (p *panel) packOutputs() {
	for done := 0; done < p.width; {
		block, lane := (p.line+done)/micro.Lanes, (p.line+done)%micro.Lanes
		n := min(micro.Lanes-lane, p.width-done)
		if done >= p.lines { // after the last column
			p.zero(done, n)
		} else if n == micro.Lanes && p.step%8 == 0 && p.steps%8 == 0 {
			p.q.Dequantize(block, p.step, p.step+p.steps, &p.dst[done], p.width)
		} else {
			p.copyOutputs(block, lane, done, n)
		}
		done += n
	}
}

func (p *panel) zero(at, n int) {
	for i := range p.steps {
		clear(p.dst[i*p.width+at:][:n])
	}
}

// copyOutputs packs n outputs of a block, from lane on.
func (p *panel) copyOutputs(block, lane, at, n int) {
	var tile [tileInputs * micro.Lanes]float32
	for i := p.step &^ 7; i < p.step+p.steps; i += tileInputs {
		end := min(i+tileInputs, (p.step+p.steps+7)&^7)
		p.q.Dequantize(block, i, end, &tile[0], micro.Lanes)
		for k := max(i, p.step); k < min(end, p.step+p.steps); k++ {
			copy(p.dst[(k-p.step)*p.width+at:][:n], tile[(k-i)*micro.Lanes+lane:])
		}
	}
}

// packInputs packs a panel with inputs as lines and outputs as steps.
func (p *panel) packInputs() {
	first := p.line &^ 7
	end := (p.line + p.lines + 7) &^ 7
	var small [(tileInputs + 8) * micro.Lanes]float32
	tile := small[:]
	if need := (end - first) * micro.Lanes; need > len(tile) {
		tile = make([]float32, need)
	}
	for done := 0; done < p.steps; {
		block, lane := (p.step+done)/micro.Lanes, (p.step+done)%micro.Lanes
		n := min(micro.Lanes-lane, p.steps-done)
		p.q.Dequantize(block, first, end, &tile[0], micro.Lanes)
		s := micro.Source{Base: unsafe.Pointer(unsafe.SliceData(tile)), Line: micro.Lanes, Step: 1}
		micro.PackPanel(p.dst[done*p.width:], p.width, s.At(p.line-first, lane), p.lines, n)
		done += n
	}
}
