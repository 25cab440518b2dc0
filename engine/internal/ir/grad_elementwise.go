package ir

import "math"

// derivative makes the rule of a function of one operand: f gives its derivative at x, where y is the result.
func derivative(f func(x, y *Node) *Node) func(n *Node, dy []*Node) []*Node {
	return func(n *Node, dy []*Node) []*Node {
		return []*Node{mul(dy[0], f(n.Src[0], n))}
	}
}

var (
	gradExp     = derivative(func(x, y *Node) *Node { return y })
	gradExpm1   = derivative(func(x, y *Node) *Node { return plus(y, 1) })
	gradLog     = derivative(func(x, y *Node) *Node { return unary(Recip, x) })
	gradLog1p   = derivative(func(x, y *Node) *Node { return unary(Recip, plus(x, 1)) })
	gradSqrt    = derivative(func(x, y *Node) *Node { return div(like(y, 0.5), y) })
	gradRsqrt   = derivative(func(x, y *Node) *Node { return times(mul(mul(y, y), y), -0.5) })
	gradRecip   = derivative(func(x, y *Node) *Node { return neg(mul(y, y)) })
	gradSin     = derivative(func(x, y *Node) *Node { return unary(Cos, x) })
	gradCos     = derivative(func(x, y *Node) *Node { return neg(unary(Sin, x)) })
	gradTanh    = derivative(func(x, y *Node) *Node { return sub(like(y, 1), mul(y, y)) })
	gradErf     = derivative(func(x, y *Node) *Node { return times(unary(Exp, neg(mul(x, x))), 2/math.Sqrt(math.Pi)) })
	gradSigmoid = derivative(func(x, y *Node) *Node { return mul(y, sub(like(y, 1), y)) })
	gradSilu    = derivative(siluSlope)
	gradGelu    = derivative(func(x, y *Node) *Node {
		if y.Attr.Flags&TanhApprox != 0 {
			return geluTanhSlope(x)
		}
		return geluSlope(x)
	})
)

// siluSlope is s·(1 + x·(1 − s)) with s the sigmoid.
func siluSlope(x, _ *Node) *Node {
	s := unary(Sigmoid, x)
	return mul(s, plus(mul(x, sub(like(x, 1), s)), 1))
}

// geluSlope is Φ(x) + x·φ(x), with Φ and φ the normal distribution and its density.
func geluSlope(x *Node) *Node {
	distribution := times(plus(unary(Erf, times(x, 1/math.Sqrt2)), 1), 0.5)
	density := times(unary(Exp, times(mul(x, x), -0.5)), 1/math.Sqrt(2*math.Pi))
	return add(distribution, mul(x, density))
}

// geluTanhSlope: with t = tanh(c·(x + a·x³)), it is (1 + t)/2 + x/2·(1 − t²)·c·(1 + 3a·x²).
func geluTanhSlope(x *Node) *Node {
	const a = 0.044715
	c := math.Sqrt(2 / math.Pi)
	square := mul(x, x)
	t := unary(Tanh, times(mul(x, plus(times(square, a), 1)), c))
	inner := times(plus(times(square, 3*a), 1), c/2)
	return add(times(plus(t, 1), 0.5), mul(mul(x, inner), sub(like(x, 1), mul(t, t))))
}

func gradNeg(n *Node, dy []*Node) []*Node { return []*Node{neg(dy[0])} }

// gradAbs chooses instead of multiplying by the sign, so that it can be differentiated again.
func gradAbs(n *Node, dy []*Node) []*Node {
	x, zero := n.Src[0], like(n, 0)
	negative := choose(compare(Lt, x, zero), neg(dy[0]), zero)
	return []*Node{choose(compare(Gt, x, zero), dy[0], negative)}
}

func gradCast(n *Node, dy []*Node) []*Node {
	return []*Node{build(Cast, Attr{DType: n.Src[0].DType}, dy[0])}
}

func gradAdd(n *Node, dy []*Node) []*Node { return scalarOr(n, dy[0], dy[0]) }
func gradSub(n *Node, dy []*Node) []*Node { return scalarOr(n, dy[0], neg(dy[0])) }

func gradMul(n *Node, dy []*Node) []*Node {
	x, y := n.Src[0], n.Src[1]
	return scalarOr(n, mul(dy[0], y), mul(dy[0], x))
}

func gradDiv(n *Node, dy []*Node) []*Node {
	dx := div(dy[0], n.Src[1])
	return scalarOr(n, dx, neg(mul(dx, n)))
}

// gradMod: x mod y is x − q·y, where q is constant almost everywhere.
func gradMod(n *Node, dy []*Node) []*Node {
	x, y := n.Src[0], n.Src[1]
	q := div(sub(x, n), y)
	return scalarOr(n, dy[0], neg(mul(dy[0], q)))
}

// gradPow: y·x^(y−1) and xʸ·ln x, but 0 where y is 0 and where x is 0 and y ≥ 0, instead of 0·∞.
func gradPow(n *Node, dy []*Node) []*Node {
	x, y, zero := n.Src[0], n.Src[1], like(n, 0)
	slope := mul(y, build(Pow, Attr{}, x, plus(y, -1)))
	dx := mul(dy[0], choose(compare(Eq, y, zero), zero, slope))
	flat := build(And, Attr{}, compare(Eq, x, zero), compare(Ge, y, zero))
	logx := unary(Log, choose(flat, like(n, 1), x))
	return scalarOr(n, dx, mul(dy[0], mul(n, logx)))
}

// gradChoice makes the rule of Max and Min; wins compares the way that lets the first operand win, and within
// so that it wins ties, too.
func gradChoice(wins, within Op) func(n *Node, dy []*Node) []*Node {
	return func(n *Node, dy []*Node) []*Node {
		x, y, zero := n.Src[0], n.Src[1], like(n, 0)
		if n.Attr.Flags&Bound != 0 {
			return scalarOr(n, choose(compare(within, x, y), dy[0], zero), nil)
		}
		tie := choose(compare(Eq, x, y), times(dy[0], 0.5), zero)
		return scalarOr(n, choose(compare(wins, x, y), dy[0], tie), choose(compare(wins, y, x), dy[0], tie))
	}
}

// gradAtan2 of the angle of (x, y): x/(x²+y²) for y, −y/(x²+y²) for x.
func gradAtan2(n *Node, dy []*Node) []*Node {
	y, x := n.Src[0], n.Src[1]
	g := div(dy[0], add(mul(x, x), mul(y, y)))
	return scalarOr(n, mul(g, x), neg(mul(g, y)))
}

func gradWhere(n *Node, dy []*Node) []*Node {
	cond, zero := n.Src[0], like(n, 0)
	return scalarOr(n, nil, choose(cond, dy[0], zero), choose(cond, zero, dy[0]))
}
