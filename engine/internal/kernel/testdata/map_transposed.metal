// map_58cdb3291e65: silu, cast, mul, cast
struct map_58cdb3291e65_args {
	device const float* x0;
	device const bfloat* x1;
	float x2;
	device half* y0;
	int n0;
	int n1;
	int x0_1;
	int x1_0;
	int x1_1;
	int y0_1;
};

[[max_total_threads_per_threadgroup(256)]] kernel void map_58cdb3291e65(constant map_58cdb3291e65_args* args [[buffer(0)]], uint3 at [[thread_position_in_grid]], uint3 all [[threads_per_grid]]) {
	constant map_58cdb3291e65_args& a = *args;
	const float x2 = convert<float>::from(a.x2);
	for (int i1 = int(at.y); i1 < a.n1; i1 += int(all.y)) {
		for (int i0 = int(at.x); i0 < a.n0; i0 += int(all.x)) {
			const float x0 = float(loaded(a.x0[i0 + i1 * a.x0_1]));
			const float x1 = float(loaded(a.x1[i0 * a.x1_0 + i1 * a.x1_1]));
			const float t0 = op_silu(x0);
			const float t1 = convert<float>::from(x1);
			const float t2 = op_mul(t0, t1);
			const float t3 = op_mul(t2, x2);
			const float t4 = round_half(convert<float>::from(t3));
			a.y0[i0 + i1 * a.y0_1] = half(t4);
		}
	}
}
