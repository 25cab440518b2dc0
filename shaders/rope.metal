// rope.metal: rotary positions (Su and others: RoFormer, 2021).
//
// rope_turn is the cosine and sine of an angle of position·rate turns. The rate is the sum of two floats, high and low:
// with one float the angle of position p would be wrong by p units in the last place. Whole turns are dropped before
// the multiplication by 2π.
//
// A quarter of a turn only changes the places and signs of both, so the polynomials are those of Cephes for angles of up to
// π/4: with the device's own cosine and sine, which go through angles of any size, the angles took longer than the memory.
inline float2 rope_turn(long position, float2 rate) {
	const float p = float(position);
	const float turns = p * rate.x;
	const float rest = fma(p, rate.x, -turns) + p * rate.y;
	const float part = (turns - rint(turns)) + rest;
	const float quarters = rint(4.0f * part);
	const float x = 6.283185307179586f * fma(-0.25f, quarters, part), z = x * x;
	const float s = fma(x * z, fma(z, fma(z, -1.9515295891e-4f, 8.3321608736e-3f), -1.6666654611e-1f), x);
	const float c = fma(z * z, fma(z, fma(z, 2.443315711809948e-5f, -1.388731625493765e-3f), 4.166664568298827e-2f), fma(z, -0.5f, 1.0f));
	const int n = int(quarters);
	const float2 v = (n & 1) == 0 ? float2(c, s) : float2(s, c);
	return float2((n + 1 & 2) == 0 ? v.x : -v.x, (n & 2) == 0 ? v.y : -v.y);
}
