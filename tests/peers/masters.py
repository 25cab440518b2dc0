"""Writes engine/optim/testdata/masters.safetensors: steps of parameters in bf16 and f16 with masters in f32.

usage: python tests/peers/masters.py        (needs torch, safetensors)

PyTorch's optimizers step a copy in f32, with the gradients of the narrow parameter, which is then the copy, rounded. For each TYPE (bf16, f16)

  TYPE/start, TYPE/grads      a parameter [200] and 30 gradients of it [30 200]
  TYPE/RULE, TYPE/RULE/f32    the parameter and its master after them
  x, y, w                     a linear layer w [24 8] in bf16 is to make y of x
  loss.f32, loss.master, loss.plain   its losses over 300 steps of AdamW at a rate of 1e-4: w in f32, in bf16 with a master, and in bf16 alone
"""
import os

import torch
from safetensors.torch import save_file

OUT = os.path.join(os.path.dirname(__file__), "../../engine/optim/testdata/masters.safetensors")
TYPES = {"bf16": torch.bfloat16, "f16": torch.float16}
RULES = {
    "adamw": lambda p: torch.optim.AdamW(p, lr=1e-3, weight_decay=0.1),
    "sgd": lambda p: torch.optim.SGD(p, lr=1e-3, weight_decay=0.1),
    "momentum": lambda p: torch.optim.SGD(p, lr=1e-3, momentum=0.9),
    "nesterov": lambda p: torch.optim.SGD(p, lr=1e-3, momentum=0.9, nesterov=True, weight_decay=0.01),
}


def steps(p, grads, rule):
    master = p.float().requires_grad_()
    optimizer = rule([master])
    for g in grads:
        master.grad = g.float()
        optimizer.step()
        p = master.detach().to(p.dtype)
    return p, master.detach()


def curve(w, x, y, master):
    w = w.clone().requires_grad_()
    stepped = w.detach().float().requires_grad_() if master else w
    optimizer = torch.optim.AdamW([stepped], lr=1e-4, weight_decay=0)
    losses = []
    for _ in range(300):
        w.grad = None
        loss = torch.nn.functional.mse_loss(x @ w.float(), y)
        loss.backward()
        if master:
            stepped.grad = w.grad.float()
        optimizer.step()
        if master:
            w.data.copy_(stepped.data)
        losses.append(loss.detach())
    return torch.stack(losses)


def main():
    torch.manual_seed(5)
    out = {}
    for name, dt in TYPES.items():
        start, grads = torch.randn(200).to(dt), torch.randn(30, 200).to(dt)
        out[f"{name}/start"], out[f"{name}/grads"] = start, grads
        for rule, make in RULES.items():
            out[f"{name}/{rule}"], out[f"{name}/{rule}/f32"] = steps(start, grads, make)
    x, w = torch.randn(64, 24), torch.randn(24, 8).bfloat16()
    y = x @ (w.float() + 0.05 * torch.randn(24, 8))
    out |= {"x": x, "y": y, "w": w, "loss.f32": curve(w.float(), x, y, False), "loss.master": curve(w, x, y, True), "loss.plain": curve(w, x, y, False)}
    save_file(out, OUT)
    print([(k, v[0].item(), v[100].item(), v[-1].item()) for k, v in out.items() if k.startswith("loss")])


if __name__ == "__main__":
    main()
