package data

import (
	"bytes"
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"sync"
	"time"
	"unsafe"
)

// The functions here read values of files, without making strings. Numbers are those of package strconv.

// parseBool reads true or false, in any case.
func parseBool(b []byte) (yes, ok bool) {
	switch {
	case len(b) == 4 && bytes.EqualFold(b, []byte("true")):
		return true, true
	case len(b) == 5 && bytes.EqualFold(b, []byte("false")):
		return false, true
	}
	return false, false
}

// parseInt reads a whole number in 64 bits. −0 is a float: it has a sign.
func parseInt(b []byte) (int64, bool) {
	digits, negative := unsigned(b)
	if len(digits) == 0 || len(digits) > 18 {
		x, err := strconv.ParseInt(string(b), 10, 64)
		return x, err == nil
	}
	x := int64(0)
	for _, c := range digits {
		if c -= '0'; c > 9 {
			return 0, false
		}
		x = 10*x + int64(c)
	}
	if negative {
		return -x, x != 0
	}
	return x, true
}

func unsigned(b []byte) (digits []byte, negative bool) {
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		return b[1:], b[0] == '-'
	}
	return b, false
}

// parseWord reads an integer in 64 bits without a sign, but for a plus.
func parseWord(b []byte) (uint64, bool) {
	digits, negative := unsigned(b)
	x, err := strconv.ParseUint(string(digits), 10, 64)
	return x, err == nil && !negative
}

// long says whether a number that parseFloat has read as x is an integer beyond those of 64 bits.
func long(b []byte, x float64) bool {
	return math.Abs(x) >= 1<<63 && !bytes.ContainsAny(b, ".eEfF") // inf has an f
}

// exact are the powers of ten that a float64 has.
var exact = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// parseFloat reads a decimal number, or an infinite one, as strconv.ParseFloat does.
func parseFloat(b []byte) (float64, bool) {
	digits, negative := unsigned(b)
	mantissa, exponent, ok := decimal(digits)
	if ok {
		var x float64
		switch {
		case mantissa < 1<<53 && exponent >= -22 && exponent <= 0: // a quotient of two numbers without error
			x = float64(mantissa) / exact[-exponent]
		case mantissa < 1<<53 && exponent > 0 && exponent <= 22:
			x = float64(mantissa) * exact[exponent]
		default:
			x, ok = scaled(mantissa, exponent)
		}
		if ok {
			if negative {
				x = -x
			}
			return x, true
		}
	}
	if len(b) == 0 || bytes.ContainsAny(b, "_xX") { // Go's own syntax
		return 0, false
	}
	x, err := strconv.ParseFloat(unsafe.String(&b[0], len(b)), 64) // which keeps nothing of the text but for errors
	return x, err == nil
}

// decimal reads a number without sign as mantissa·10^exponent, if it has at most 19 digits.
func decimal(b []byte) (mantissa uint64, exponent int, ok bool) {
	at, point := 0, -1
	for ; at < len(b); at++ {
		c := b[at] - '0'
		if c > 9 {
			break
		}
		mantissa = 10*mantissa + uint64(c)
	}
	if at < len(b) && b[at] == '.' {
		point = at
		for at++; at < len(b); at++ {
			c := b[at] - '0'
			if c > 9 {
				break
			}
			mantissa = 10*mantissa + uint64(c)
		}
	}
	digits := at
	if point >= 0 {
		digits--
		exponent = point + 1 - at
	}
	if digits == 0 || digits > 19 {
		return 0, 0, false
	}
	if at == len(b) {
		return mantissa, exponent, true
	}
	if b[at]|0x20 != 'e' {
		return 0, 0, false
	}
	power, ok := parseInt(b[at+1:])
	if !ok || power < -400 || power > 400 {
		return 0, 0, false
	}
	return mantissa, exponent + int(power), true
}

// Powers of ten from 10^-powers to 10^powers, as 128 bits whose highest one is set: the high and the low
// half.
const powers = 64

var tens = sync.OnceValue(func() *[2*powers + 1][2]uint64 {
	var table [2*powers + 1][2]uint64
	for i := range table {
		power := new(big.Int).Exp(big.NewInt(10), big.NewInt(max(int64(i)-powers, powers-int64(i))), nil)
		if i < powers {
			power.Quo(new(big.Int).Lsh(big.NewInt(1), 512), power)
		} else {
			power.Lsh(power, 512)
		}
		power.Rsh(power, uint(power.BitLen()-128))
		table[i] = [2]uint64{new(big.Int).Rsh(power, 64).Uint64(), new(big.Int).And(power, new(big.Int).SetUint64(math.MaxUint64)).Uint64()}
	}
	return &table
})

// scaled is the float64 that is nearest to mantissa·10^exponent, by Lemire's algorithm ("Number Parsing at a
// Gigabyte per Second", 2021): a product with 128 bits of the power tells it, but for some that it refuses.
func scaled(mantissa uint64, exponent int) (float64, bool) {
	if mantissa == 0 {
		return 0, true
	}
	if exponent < -powers || exponent > powers {
		return 0, false
	}
	power := &tens()[exponent+powers]
	shift := bits.LeadingZeros64(mantissa)
	mantissa <<= shift
	binary := (217706*exponent)>>16 + 64 + 1023 - shift
	high, low := bits.Mul64(mantissa, power[0])
	if high&0x1ff == 0x1ff && low+mantissa < mantissa { // the rest of the power may carry into what is rounded
		top, rest := bits.Mul64(mantissa, power[1])
		sum, carry := bits.Add64(low, top, 0)
		high += carry
		if high&0x1ff == 0x1ff && sum+1 == 0 && rest+mantissa < mantissa {
			return 0, false
		}
		low = sum
	}
	upper := high >> 63
	x := high >> (upper + 9)
	binary -= int(1 ^ upper)
	if low == 0 && high&0x1ff == 0 && x&3 == 1 { // half way between two: which one is even is not known
		return 0, false
	}
	x = (x + x&1) >> 1
	if x>>53 > 0 {
		x, binary = x>>1, binary+1
	}
	return math.Float64frombits(x&(1<<52-1) | uint64(binary)<<52), binary > 0 && binary < 0x7ff
}

const (
	minYear = 1678 // the years that nanoseconds in 64 bits have in whole
	maxYear = 2261
)

// parseTime reads a day, a day and a time of it as ISO 8601 and RFC 3339 write them, 2006-01-02,
// 2006-01-02 15:04:05.5 or 2006-01-02T15:04:05+01:00, as nanoseconds since 1970. Without a zone it is UTC.
func parseTime(b []byte) (int64, bool) {
	if len(b) < 10 || b[4] != '-' || b[7] != '-' {
		return 0, false
	}
	year, month, day := pair(b, 0)*100+pair(b, 2), pair(b, 5), pair(b, 8)
	if year < minYear || year > maxYear || month < 1 || month > 12 || day < 1 || day > daysOf(year, month) {
		return 0, false
	}
	ns := daysTo(year, month, day) * int64(24*time.Hour)
	if len(b) == 10 {
		return ns, true
	}
	if len(b) < 19 || b[10] != ' ' && b[10] != 'T' && b[10] != 't' || b[13] != ':' || b[16] != ':' {
		return 0, false
	}
	hour, minute, second := pair(b, 11), pair(b, 14), pair(b, 17)
	if hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59 {
		return 0, false
	}
	ns += int64(hour)*int64(time.Hour) + int64(minute)*int64(time.Minute) + int64(second)*int64(time.Second)
	b = b[19:]
	if len(b) > 1 && b[0] == '.' {
		unit := int64(time.Second)
		for b = b[1:]; len(b) > 0 && b[0]-'0' <= 9; b = b[1:] {
			unit /= 10
			ns += unit * int64(b[0]-'0')
		}
		if unit == int64(time.Second) {
			return 0, false
		}
	}
	offset, ok := zone(b)
	return ns - offset, ok
}

// pair is the number of two digits, or one below 0 if they are none.
func pair(b []byte, at int) int {
	tens, ones := b[at]-'0', b[at+1]-'0'
	if tens > 9 || ones > 9 {
		return -10000
	}
	return 10*int(tens) + int(ones)
}

// zone reads "", Z, +01:00 or -0130 as nanoseconds.
func zone(b []byte) (int64, bool) {
	switch {
	case len(b) == 0, len(b) == 1 && (b[0] == 'Z' || b[0] == 'z'):
		return 0, true
	case len(b) == 6 && b[3] == ':':
		b = []byte{b[0], b[1], b[2], b[4], b[5]}
	case len(b) != 5:
		return 0, false
	}
	hours, minutes := pair(b, 1), pair(b, 3)
	if hours < 0 || hours > 23 || minutes < 0 || minutes > 59 || b[0] != '+' && b[0] != '-' {
		return 0, false
	}
	offset := int64(hours)*int64(time.Hour) + int64(minutes)*int64(time.Minute)
	if b[0] == '-' {
		offset = -offset
	}
	return offset, true
}

func daysOf(year, month int) int {
	switch {
	case month == 2 && year%4 == 0 && (year%100 != 0 || year%400 == 0):
		return 29
	case month == 2:
		return 28
	case month == 4 || month == 6 || month == 9 || month == 11:
		return 30
	}
	return 31
}

// daysTo is the number of days from 1970-01-01. A year begins with March here, so that a leap day is its
// last.
func daysTo(year, month, day int) int64 {
	if month < 3 {
		year, month = year-1, month+12
	}
	return int64(365*year+year/4-year/100+year/400+(153*(month-3)+2)/5+day-1) - 719468
}
