// dynamic.metal: numbers from -1 to 1 (sign) or from 0 to 1 in 8 bits, by the dynamic maps of Dettmers 2015. The op
// adamw8 keeps its moments in them; ir.DynamicMap says what a code means.
//
// Codes are computed, not looked up: lanes of a simdgroup would read as many places of a table as they are.

// tenth_to is 10^-n, n from 0 to 7.
inline float tenth_to(int n) {
	return ((n & 1) != 0 ? 0.1f : 1.0f) * ((n & 2) != 0 ? 0.01f : 1.0f) * ((n & 4) != 0 ? 0.0001f : 1.0f);
}

// dynamic_number is the number of a code.
template <bool sign> inline float dynamic_number(uint code) {
	const int k = int(code) - (sign ? 127 : 0), rank = k < 0 ? -k : k, least = sign ? 0 : 1;
	if (rank == 0) return 0.0f;
	if (rank == (sign ? 128 : 255)) return 1.0f;
	const int at = rank + least, e = 31 - int(clz(uint(at))), steps = 1 << e;
	const float share = as_type<float>(uint(127 - e) << 23); // 1/steps
	const float size = (0.1f + 0.9f * (float(at - steps) + 0.5f) * share) * tenth_to(6 + least - e);
	return k < 0 ? -size : size;
}

// dynamic_rank is the place above 0 of the number that is nearest to x, which is not negative. A number
// 10⁻ⁿ·u is step (u − 0.1)/0.9·steps of its decade; the border to the decade below lies in the middle between
// that one's last step and the first of this one. All threads do the same, without a branch or a division.
template <bool sign> inline int dynamic_rank(float x) {
	const int least = sign ? 0 : 1;
	const float most = 1.0f - 0.225f / float(64 << least); // between the last step and 1
	float steps = float(64 << least), tens = 1.0f / 0.9f, unit = 1.0f, ten = 1.0f / 0.9f;
	UNROLL for (int e = 6 + least; e > least; e--) {
		const bool below = x < (0.1f + 0.18f / float(1 << e)) * unit;
		unit *= 0.1f;
		ten *= 10.0f;
		steps = below ? float(1 << (e - 1)) : steps;
		tens = below ? ten : tens;
	}
	const int rank = int(min(fma(x, tens, 8.0f / 9.0f) * steps, 2.0f * steps - 1.0f)) - least;
	if (!(x < most)) return sign ? 128 : 255;
	return x < 0.5e-6f * (sign ? 0.55f : 0.325f) ? 0 : rank; // nearer to 0 than to the first step
}

// dynamic_code is the code of the number that is nearest to x. -1 has none.
template <bool sign> inline uint dynamic_code(float x) {
	const int rank = dynamic_rank<sign>(abs(x));
	if (!sign) return uint(rank);
	return uint(x < 0.0f ? 127 - min(rank, 127) : 127 + rank);
}
