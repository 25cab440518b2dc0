package grammar

import (
	"math/big"
	"strings"
)

// A limit is the end of a schema's range.
type limit struct {
	value  *big.Rat
	itself bool // a number may be it
}

// A bound is a limit without its sign: the digits before and behind the point.
type bound struct {
	whole, fraction string
	itself          bool
}

// A decimal writes numbers without a sign between two bounds, digit by digit. A number with fewer digits
// before the point is less than one with more; of as many, the first digit that differs decides. So a place
// is where a text is in a number of so many digits, and whether all so far are those of a bound.
type decimal struct {
	c         *compiler
	low, high *bound // nil: there is none
	fractions int    // most digits behind the point
	step      int64  // 10 to places times the number is a multiple of it
	places    int
	made      map[decimalPlace]int32
}

type decimalPlace struct {
	digits, at            int   // the number's before the point; the next one, counted on behind it
	left                  int64 // what is left of the digits so far, divided by the step
	asLow, asHigh, behind bool
}

// number begins a number, or a whole one, in the range that a schema says.
func (c *compiler) number(s schema, whole bool) int32 {
	low, high := c.limit(s, "minimum", "exclusiveMinimum", 1), c.limit(s, "maximum", "exclusiveMaximum", -1)
	step, places := c.step(s)
	if low == nil && high == nil && step == 0 {
		return c.anyNumber(whole)
	}
	var ways []int32
	if high == nil || high.value.Sign() >= 0 {
		from := low
		if low == nil || low.value.Sign() < 0 {
			from = &limit{new(big.Rat), true}
		}
		ways = append(ways, c.between(s, from, high, whole, step, places))
	}
	if low == nil || low.value.Sign() < 0 { // what is below 0 is, without its sign, between the limits in the other order
		from := high
		if high == nil || high.value.Sign() >= 0 {
			from = &limit{new(big.Rat), false}
		}
		ways = append(ways, c.literal("-", c.between(s, from, low, whole, step, places)))
	}
	return c.ways(ways...)
}

// limit reads the narrower one of two; direction 1 has the larger one as such. nil: there is none.
func (c *compiler) limit(s schema, with, without string, direction int) (l *limit) {
	for _, name := range []string{with, without} {
		sub, ok := c.get(s, name)
		if !ok {
			continue
		}
		v, is := new(big.Rat).SetString(string(sub.text))
		if !is || strings.ContainsAny(string(sub.text), `"/`) {
			c.fail(sub, "got %.40s, want a number", sub.text)
		}
		if l == nil || v.Cmp(l.value)*direction > 0 || v.Cmp(l.value) == 0 && name == without {
			l = &limit{v, name == with}
		}
	}
	return l
}

// step is what a number is a multiple of, times 10 to so many places; 0: any number.
func (c *compiler) step(s schema) (step int64, places int) {
	l := c.limit(s, "multipleOf", "", 1)
	if l == nil {
		return 0, 0
	}
	v := new(big.Rat).Set(l.value)
	for ; !v.IsInt() && places < fractionDigits; places++ {
		v.Mul(v, big.NewRat(10, 1))
	}
	const most = 1 << 12 // as many numbers may be left
	if v.Sign() <= 0 || !v.IsInt() || v.Cmp(big.NewRat(most, 1)) > 0 {
		c.fail(s, "got multipleOf %v, want a number above 0 with few digits: %d at most, wherever the point is", l.value.FloatString(places), most)
	}
	return v.Num().Int64(), places
}

// between begins a number without a sign between two limits, whose signs do not count, in steps.
func (c *compiler) between(s schema, low, high *limit, whole bool, step int64, places int) int32 {
	d := &decimal{c: c, made: map[decimalPlace]int32{}, fractions: fractionDigits, step: max(1, step), places: places}
	if step > 0 {
		d.fractions = places
	}
	if whole {
		d.fractions = 0
	}
	d.low, d.high = c.bound(s, low), c.bound(s, high)
	var ways []int32
	for digits := 1; digits <= wholeDigits; digits++ {
		place := decimalPlace{digits: digits, asLow: d.low != nil && digits == len(d.low.whole), asHigh: d.high != nil && digits == len(d.high.whole)}
		if (d.low == nil || digits >= len(d.low.whole)) && (d.high == nil || digits <= len(d.high.whole)) {
			ways = append(ways, d.from(place))
		}
	}
	return c.ways(ways...)
}

// bound is a limit without its sign, by its digits.
func (c *compiler) bound(s schema, l *limit) *bound {
	if l == nil {
		return nil
	}
	text := new(big.Rat).Abs(l.value).FloatString(fractionDigits)
	if exact, _ := new(big.Rat).SetString(text); exact.Cmp(new(big.Rat).Abs(l.value)) != 0 {
		c.fail(s, "got a limit of more than %d digits behind the point", fractionDigits)
	}
	whole, fraction, _ := strings.Cut(text, ".")
	return &bound{whole, strings.TrimRight(fraction, "0"), l.itself}
}

// digit is the one of a bound at a place; 0 behind its last one.
func (b *bound) digit(p decimalPlace) byte {
	digits := b.whole
	if p.behind {
		digits = b.fraction
	}
	if p.at >= len(digits) {
		return '0'
	}
	return digits[p.at]
}

// ends says whether a number that ends at a place, and so far is as the bound, is not beyond it: a low one
// may have no more digits, and none may be the bound if that is not meant.
func (b *bound) ends(p decimalPlace, low bool) bool {
	rest := b.fraction
	if p.behind {
		rest = b.fraction[min(p.at, len(b.fraction)):]
	}
	if rest == "" {
		return b.itself
	}
	return !low
}

// from is the node of a place.
func (d *decimal) from(p decimalPlace) int32 {
	if !p.behind && p.at == p.digits { // in front of the point
		return d.end(p, decimalPlace{left: p.left, asLow: p.asLow, asHigh: p.asHigh, behind: true})
	}
	if at, ok := d.made[p]; ok {
		return at
	}
	least, most := byte('0'), byte('9')
	if !p.behind && p.at == 0 && p.digits > 1 {
		least = '1'
	}
	if p.asLow {
		least = max(least, d.low.digit(p))
	}
	if p.asHigh {
		most = min(most, d.high.digit(p))
	}
	var list []edge
	for b := int(least); b <= int(most); b++ {
		next := p
		next.at++
		next.left = (10*p.left + int64(b-'0')) % d.step
		next.asLow, next.asHigh = p.asLow && byte(b) == d.low.digit(p), p.asHigh && byte(b) == d.high.digit(p)
		to := d.from
		if p.behind {
			to = func(p decimalPlace) int32 { return d.end(p, p) }
		}
		list = append(list, edge{byte(b), byte(b), to(next)})
	}
	at := d.c.edges(list...)
	d.made[p] = at
	return at
}

// end is a place where a number may end, or go on behind the point.
func (d *decimal) end(p, next decimalPlace) int32 {
	key := p
	key.digits = -1 // apart from the places that take a digit
	if at, ok := d.made[key]; ok {
		return at
	}
	var ways []int32
	if d.complete(p) && (!p.asLow || d.low.ends(p, true)) && (!p.asHigh || d.high.ends(p, false)) {
		ways = append(ways, ended)
	}
	if next.at < d.fractions {
		more := d.from(next)
		if !p.behind {
			more = d.c.literal(".", more)
		}
		ways = append(ways, more)
	}
	at := d.c.ways(ways...)
	d.made[key] = at
	return at
}

// complete says whether the digits so far, with zeros up to places behind the point, are a multiple of step.
func (d *decimal) complete(p decimalPlace) bool {
	left, behind := p.left, 0
	if p.behind {
		behind = p.at
	}
	for ; behind < d.places; behind++ {
		left = 10 * left % d.step
	}
	return left == 0
}
