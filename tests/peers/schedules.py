"""Writes the learning rates of transformers' schedules, step by step, which package optim is held against.

    pip install torch transformers
    python schedules.py FILE     # engine/optim/testdata/schedules.json
"""

import json
import sys

import torch
from transformers import get_scheduler

STEPS = 60

# name at transformers, warm-up, other arguments
CASES = [
    ("constant", 0, {}),
    ("constant_with_warmup", 7, {}),
    ("linear", 0, {}),
    ("linear", 9, {}),
    ("cosine", 0, {}),
    ("cosine", 12, {}),
    ("cosine_with_min_lr", 5, {"min_lr": 2e-5}),
    ("cosine_with_min_lr", 0, {"min_lr_rate": 0.1}),
    ("warmup_stable_decay", 5, {"num_decay_steps": 20, "decay_type": "linear"}),
    ("warmup_stable_decay", 0, {"num_decay_steps": 20, "decay_type": "cosine", "min_lr_ratio": 0.1}),
    ("warmup_stable_decay", 0, {"num_decay_steps": 55, "decay_type": "1-sqrt", "min_lr_ratio": 0.25}),
]


def rates(name, warmup, arguments):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=2e-4)
    schedule = get_scheduler(name, optimizer, num_warmup_steps=warmup, num_training_steps=STEPS, scheduler_specific_kwargs=arguments)
    list = []
    for _ in range(STEPS + 1):
        list.append(schedule.get_last_lr()[0])
        optimizer.step()
        schedule.step()
    return list


cases = [{"name": name, "warmup": warmup, "arguments": arguments, "rates": rates(name, warmup, arguments)} for name, warmup, arguments in CASES]
with open(sys.argv[1], "w") as f:
    json.dump({"steps": STEPS, "peak": 2e-4, "cases": cases}, f, indent=1)
