// rope.metal: rotary positions (Su and others: RoFormer, 2021).
//
// rope_turn is the cosine and sine of an angle of position·rate turns. The rate is the sum of two floats, high and low:
// with one float the angle of position p would be wrong by p units in the last place. Whole turns are dropped before
// the multiplication by 2π.
//
// A thread turns one pair: 16 bytes of f32 are read and written, and 16 of the position and the rate, which the caches
// hold, for some 60 operations, most of them the cosine and the sine. An M-series GPU does ten times that in the time of
// the bytes, so memory is the limit.
inline float2 rope_turn(long position, float2 rate) {
	const float p = float(position);
	const float turns = p * rate.x;
	const float rest = fma(p, rate.x, -turns) + p * rate.y;
	const float angle = 6.283185307179586f * ((turns - rint(turns)) + rest);
	return float2(precise::cos(angle), precise::sin(angle));
}
