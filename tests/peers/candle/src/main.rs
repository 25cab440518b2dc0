//! candle's side of the comparison: it answers the requests that worker.py describes. Forward work only.
use candle_core::{DType, Device, Result, Tensor};
use serde_json::{json, Value};
use std::io::{BufRead, Write};
use std::time::Instant;

type Work = Box<dyn Fn() -> Result<Tensor>>;

/// The numbers that every side makes from seed and index (inputs.py has the same formula).
fn values(seed: u32, shape: &[usize]) -> Result<Tensor> {
    let count: usize = shape.iter().product();
    let numbers: Vec<f32> = (0..count as u32)
        .map(|i| {
            let mut h = i.wrapping_mul(0x9E3779B1).wrapping_add(seed.wrapping_mul(0x7F4A7C15));
            h = (h ^ (h >> 16)).wrapping_mul(0x85EBCA6B);
            h = (h ^ (h >> 13)).wrapping_mul(0xC2B2AE35);
            h ^= h >> 16;
            (h >> 8) as f32 / (1 << 23) as f32 - 1.0
        })
        .collect();
    Tensor::from_vec(numbers, shape, &Device::Cpu)
}

/// Builds the function of a work, or None for what this side does not do.
fn prepare(w: &Value) -> Result<Option<Work>> {
    let size = |name: &str| w[name].as_u64().unwrap_or(0) as usize;
    let (m, n, k, r) = (size("m"), size("n"), size("k"), size("r"));
    if w["grad"] == true {
        return Ok(None);
    }
    let dtype = if w["dtype"] == "bf16" { DType::BF16 } else { DType::F32 };
    Ok(Some(match w["kind"].as_str().unwrap_or("") {
        "lora" => {
            let (x, weight) = (values(1, &[m, n])?, values(2, &[n, n])?);
            let (a, b) = (values(3, &[n, r])?, values(4, &[r, n])?);
            Box::new(move || x.matmul(&weight)? + (x.matmul(&a)?.matmul(&b)? * 2.0)?)
        }
        "softmax" => {
            let x = values(1, &[m, n])?;
            Box::new(move || candle_nn::ops::softmax_last_dim(&x))
        }
        "layer_norm" => {
            let (x, weight, bias) = (values(1, &[m, n])?, values(2, &[n])?, values(3, &[n])?);
            Box::new(move || candle_nn::ops::layer_norm(&x, &weight, &bias, 1e-5))
        }
        "rms_norm" => {
            let (x, weight) = (values(1, &[m, n])?, values(2, &[n])?);
            Box::new(move || candle_nn::ops::rms_norm(&x, &weight, 1e-5))
        }
        "matmul" => {
            let (a, b) = (values(1, &[n, n])?.to_dtype(dtype)?, values(2, &[n, n])?.to_dtype(dtype)?);
            Box::new(move || a.matmul(&b))
        }
        "matvec" => {
            let (x, weight) = (values(1, &[1, k])?.to_dtype(dtype)?, values(2, &[n, k])?.to_dtype(dtype)?);
            Box::new(move || x.matmul(&weight.t()?))
        }
        "chain" => {
            let (x, y) = (values(1, &[m, n])?, values(2, &[m, n])?);
            Box::new(move || (((&x * &y)? + 0.5)?.tanh()? * candle_nn::ops::sigmoid(&x)?)? - &y)
        }
        "small" => {
            let (x, y) = (values(1, &[4, 4])?, values(2, &[4, 4])?);
            Box::new(move || {
                let sum = (&x + &y)?;
                sum.to_vec2::<f32>()?;
                Ok(sum)
            })
        }
        _ => return Ok(None),
    }))
}

/// Some numbers of a result, the same ones on every side.
fn samples(t: &Tensor) -> Result<Vec<f32>> {
    let flat = t.to_dtype(DType::F32)?.flatten_all()?.to_vec1::<f32>()?;
    let count = flat.len().min(509);
    Ok((0..count).map(|i| flat[i * flat.len() / count]).collect())
}

fn run(work: &Option<Work>, n: u64) -> Result<f64> {
    let Some(f) = work else { candle_core::bail!("nothing is prepared") };
    let start = Instant::now();
    for _ in 0..n {
        f()?;
    }
    Ok(start.elapsed().as_secs_f64())
}

fn main() {
    let answer = |v: Value| {
        println!("{v}");
        std::io::stdout().flush().expect("standard output is open");
    };
    answer(json!({"ok": true, "version": "0.9"}));
    let mut work = None;
    for line in std::io::stdin().lock().lines().map_while(std::io::Result::ok) {
        let request: Value = serde_json::from_str(&line).expect("a request is JSON");
        if let Some(n) = request["run"].as_u64() {
            match run(&work, n) {
                Ok(seconds) => answer(json!({"seconds": seconds})),
                Err(e) => answer(json!({"absent": format!("failed: {e}")})),
            }
            continue;
        }
        work = None;
        let first = prepare(&request["prepare"]).and_then(|w| {
            work = w;
            work.as_ref().map(|f| samples(&f()?)).transpose()
        });
        match first {
            Ok(Some(result)) => answer(json!({"ok": true, "result": [result]})),
            Ok(None) => answer(json!({"absent": "not done on this side"})),
            Err(e) => answer(json!({"absent": format!("failed: {e}")})),
        }
    }
}
