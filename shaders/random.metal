// random.metal: numbers by counter (Philox4x32-10: Salmon, Moraes, Dror, Shaw: Parallel random numbers, as easy as
// 1, 2, 3; SC 2011).
//
// Elements 4b to 4b+3 of a tensor come from block b. So every backend gives the same bits, whichever thread computes them.
//
// There is no tile. A block takes ten rounds of two products of 32 by 32 bits, some 120 operations, and a thread keeps one
// of its four words: 120 for 4 bytes that are written, in whose time an M-series GPU does some 140. So arithmetic and
// memory are about equal; normal numbers, with a root, a logarithm and a wave, are limited by arithmetic.
inline uint4 philox(ulong block, ulong counter, ulong key) {
	uint4 c = uint4(uint(block), uint(block >> 32), uint(counter), uint(counter >> 32));
	uint k0 = uint(key), k1 = uint(key >> 32);
	for (int round = 0; round < 10; round++) {
		const ulong a = ulong(0xD2511F53u) * ulong(c.x), b = ulong(0xCD9E8D57u) * ulong(c.z);
		c = uint4(uint(b >> 32) ^ c.y ^ k0, uint(b), uint(a >> 32) ^ c.w ^ k1, uint(a));
		k0 += 0x9E3779B9u;
		k1 += 0xBB67AE85u;
	}
	return c;
}

// uniform is in [0, 1), in steps of 2^-24.
inline float uniform(uint word) { return float(word >> 8) * 5.9604644775390625e-08f; }

// word is one of the four words of a block.
inline uint word(uint4 block, int i) { return i == 0 ? block.x : i == 1 ? block.y : i == 2 ? block.z : block.w; }

inline float random_uniform(ulong at, ulong counter, ulong key) { return uniform(word(philox(at / 4, counter, key), int(at % 4))); }

// random_normal is Box and Muller's transform of a block's first or second pair of words.
inline float random_normal(ulong at, ulong counter, ulong key) {
	const uint4 block = philox(at / 4, counter, key);
	const bool second = at % 4 >= 2;
	const float u = uniform(second ? block.z : block.x), angle = 6.283185307179586f * uniform(second ? block.w : block.y);
	const float r = precise::sqrt(-2.0f * precise::log(1.0f - u));
	return at % 2 == 0 ? r * precise::cos(angle) : r * precise::sin(angle);
}
