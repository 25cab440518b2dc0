"""Writes what PyTorch's modules, losses and optimizers answer, to hold engine/nn and engine/train against.

    pip install torch safetensors
    python nn_modules.py write FOLDER    # engine: writes nn/testdata and train/testdata below it
    python nn_modules.py check FILE      # load_state_dict takes a file that the Go test TestPyTorchReads wrote

All is in safetensors files. In nn/testdata/torch.safetensors a case NAME has its inputs NAME/x (and NAME/target), its
weights NAME/weight/…, the output NAME/y, and for the sum of element k of the output times (k%7 - 3)/2 the gradients
NAME/dx and NAME/grad/…. In train/testdata/torch.safetensors a run NAME has the losses of its 50 steps, NAME/loss, and
the weights after them; inputs and targets are x and y or class, and model.safetensors has the weights before.
"""

import pathlib
import sys

import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn import functional as F


def modules():
    yield "linear", nn.Linear(5, 4, bias=False), torch.randn(2, 3, 5)
    yield "linear_bias", nn.Linear(5, 4), torch.randn(2, 3, 5)
    yield "embedding", nn.Embedding(7, 4), torch.tensor([[0, 6, 3], [3, 3, 1]])
    yield "layer_norm", nn.LayerNorm(6), torch.randn(2, 3, 6)
    yield "rms_norm", nn.RMSNorm(6, eps=1e-6), torch.randn(2, 3, 6)
    yield "mlp", mlp(), torch.randn(4, 3)
    for name, f in {
        "relu": nn.ReLU(), "leaky_relu": nn.LeakyReLU(0.1), "elu": nn.ELU(0.7), "gelu": nn.GELU(), "gelu_tanh": nn.GELU("tanh"),
        "silu": nn.SiLU(), "sigmoid": nn.Sigmoid(), "tanh": nn.Tanh(), "softplus": nn.Softplus(), "softmax": nn.Softmax(-1),
        "log_softmax": nn.LogSoftmax(1), "flatten": nn.Flatten(),
    }.items():
        yield name, f, torch.randn(3, 4, 5) * 3


def losses():
    x, y = torch.randn(4, 5) * 2, torch.randn(4, 5)
    yield "mse", nn.MSELoss(), x, y
    yield "l1", nn.L1Loss(), x, y
    yield "huber", nn.HuberLoss(delta=0.7), x, y
    yield "bce_with_logits", nn.BCEWithLogitsLoss(), x, torch.rand(4, 5)
    classes, some = torch.tensor([4, 0, 2, 2]), torch.tensor([4, -100, 2, -100])
    yield "cross_entropy", nn.CrossEntropyLoss(), x, classes
    yield "cross_entropy_ignored", nn.CrossEntropyLoss(), x, some
    yield "cross_entropy_ignore_2", nn.CrossEntropyLoss(ignore_index=2), x, classes
    yield "cross_entropy_smoothed", nn.CrossEntropyLoss(label_smoothing=0.1), x, some
    yield "cross_entropy_rows", nn.CrossEntropyLoss(reduction="none"), x, some


def mlp():
    return nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2))


def backward(y):
    (y * ((torch.arange(y.numel()) % 7 - 3) / 2).reshape(y.shape)).sum().backward()


def write_modules(folder):
    torch.manual_seed(12)
    out = {}
    for name, m, x in modules():
        for p in m.parameters():
            p.data = torch.randn_like(p)
        x.requires_grad = x.is_floating_point()
        y = m(x)
        backward(y)
        out |= {f"{name}/x": x, f"{name}/y": y} | ({f"{name}/dx": x.grad} if x.requires_grad else {})
        for key, p in m.named_parameters():
            out |= {f"{name}/weight/{key}": p, f"{name}/grad/{key}": p.grad}
    for name, loss, x, target in losses():
        x = x.clone().requires_grad_()
        y = loss(x, target)
        backward(y) if y.ndim else y.backward()
        out |= {f"{name}/x": x, f"{name}/target": target, f"{name}/y": y, f"{name}/dx": x.grad}
    save_file({k: v.detach().contiguous().clone() for k, v in out.items()}, folder / "torch.safetensors", {"format": "pt"})


def write_training(folder):
    torch.manual_seed(13)
    m, x = mlp(), torch.randn(32, 3)
    y, classes = torch.stack([x[:, 0] * x[:, 1], x.sin().sum(1)], 1), (x.sum(1) > 0).long()
    start = {k: v.clone() for k, v in m.state_dict().items()}
    save_file(start, folder / "model.safetensors", {"format": "pt"})
    out = {"x": x, "y": y, "class": classes}
    smoothed = lambda a, b: F.cross_entropy(a, b, label_smoothing=0.1)
    for name, make, loss, target in [
        ("sgd", lambda p: torch.optim.SGD(p, 0.05), F.mse_loss, y),
        ("momentum", lambda p: torch.optim.SGD(p, 0.02, momentum=0.9, weight_decay=0.01), F.mse_loss, y),
        ("nesterov", lambda p: torch.optim.SGD(p, 0.02, momentum=0.9, nesterov=True), F.mse_loss, y),
        ("adam", lambda p: torch.optim.Adam(p, 0.01), F.mse_loss, y),
        ("adamw", lambda p: torch.optim.AdamW(p, 0.01, betas=(0.8, 0.99), weight_decay=0.1), F.mse_loss, y),
        ("classes", lambda p: torch.optim.AdamW(p, 0.01, weight_decay=0), smoothed, classes),
    ]:
        m.load_state_dict(start)
        opt, list_ = make(m.parameters()), []
        for _ in range(50):
            opt.zero_grad()
            l = loss(m(x), target)
            list_.append(l.detach())
            l.backward()
            opt.step()
        out |= {f"{name}/loss": torch.stack(list_)} | {f"{name}/{k}": v.clone() for k, v in m.state_dict().items()}
    save_file({k: v.contiguous() for k, v in out.items()}, folder / "torch.safetensors", {"format": "pt"})


def check(path):
    tensors = load_file(path)
    x, y = tensors.pop("test.x"), tensors.pop("test.y")
    m = nn.Sequential(nn.Embedding(7, 3), nn.Linear(3, 16), nn.LayerNorm(16), nn.Tanh(), nn.Linear(16, 2))
    m.load_state_dict(tensors, strict=True)
    torch.testing.assert_close(m(x), y, rtol=1e-5, atol=1e-6)


if __name__ == "__main__":
    torch.set_num_threads(1)
    if sys.argv[1] == "check":
        check(sys.argv[2])
    else:
        folder = pathlib.Path(sys.argv[2])
        for package, write in [("nn", write_modules), ("train", write_training)]:
            (folder / package / "testdata").mkdir(exist_ok=True)
            write(folder / package / "testdata")
