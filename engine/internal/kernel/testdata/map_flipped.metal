// map_4306aa59980e: silu, cast, mul, cast
struct map_4306aa59980e_args {
	device const float* x0;
	device const bfloat* x1;
	float x2;
	device half* y0;
	int n0;
	int n1;
	int n2;
	int n3;
	int n4;
	int x0_1;
	int x0_2;
	int x0_3;
	int x0_4;
	int x1_1;
	int x1_2;
	int x1_3;
	int x1_4;
	int y0_1;
	int y0_2;
	int y0_3;
	int y0_4;
};

[[max_total_threads_per_threadgroup(256)]] kernel void map_4306aa59980e(constant map_4306aa59980e_args* args [[buffer(0)]], uint3 at [[thread_position_in_grid]], uint3 all [[threads_per_grid]]) {
	constant map_4306aa59980e_args& a = *args;
	const float x2 = convert<float>::from(a.x2);
	for (int rest = int(at.z); rest < a.n2 * a.n3 * a.n4; rest += int(all.z)) {
		int left = rest;
		const int i2 = left % a.n2;
		left /= a.n2;
		const int i3 = left % a.n3;
		left /= a.n3;
		const int i4 = left;
		for (int i1 = int(at.y); i1 < a.n1; i1 += int(all.y)) {
			for (int i0 = int(at.x); i0 < a.n0; i0 += int(all.x)) {
				const float x0 = float(loaded(a.x0[i0 + i1 * a.x0_1 + i2 * a.x0_2 + i3 * a.x0_3 + i4 * a.x0_4]));
				const float x1 = float(loaded(a.x1[i0 + i1 * a.x1_1 + i2 * a.x1_2 + i3 * a.x1_3 + i4 * a.x1_4]));
				const float t0 = op_silu(x0);
				const float t1 = convert<float>::from(x1);
				const float t2 = op_mul(t0, t1);
				const float t3 = op_mul(t2, x2);
				const float t4 = round_half(convert<float>::from(t3));
				a.y0[i0 + i1 * a.y0_1 + i2 * a.y0_2 + i3 * a.y0_3 + i4 * a.y0_4] = half(t4);
			}
		}
	}
}
