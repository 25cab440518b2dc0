"""Writes engine/train/testdata/rewards.json: losses of answers with rewards, as trl computes them, and their gradients.

usage: python tests/peers/rewards.py        (needs torch, trl)

Each case has the logarithms of probabilities of the tokens of answers [answers T] now, when they were written, and of a
reference, which tokens count, and rewards; by kind the loss and its gradient by those of now. The loss is that of
GRPOTrainer._compute_loss.
"""
import json
import os
from types import SimpleNamespace
from unittest.mock import MagicMock

import torch
from trl import GRPOTrainer

OUT = os.path.join(os.path.dirname(__file__), "../../engine/train/testdata/rewards.json")
QUESTIONS, GROUP, T = 2, 4, 5
KINDS = {  # kind, steps, beta, clip, high clip
    "grpo": ("grpo", 1, 0.0, 0.2, 0.2),
    "several steps": ("grpo", 4, 0.0, 0.2, 0.2),
    "near the reference": ("grpo", 4, 0.3, 0.1, 0.4),
    "one step near the reference": ("grpo", 1, 0.04, 0.2, 0.2),
    "dr_grpo": ("dr_grpo", 1, 0.0, 0.2, 0.2),
    "dr_grpo, several steps": ("dr_grpo", 2, 0.1, 0.3, 0.3),
}


def advantages(kind, rewards):
    groups = rewards.view(-1, GROUP)
    apart = (groups - groups.mean(1, keepdim=True)).flatten()
    return apart if kind == "dr_grpo" else apart / (groups.std(1).repeat_interleave(GROUP) + 1e-4)


def loss(kind, steps, beta, low, high, now, then, reference, mask, rewards):
    t = MagicMock(name="trainer")
    t._get_per_token_logps_and_entropies = lambda *a, **k: (now, torch.zeros_like(now), None)
    t.args.use_bias_correction_kl, t.args.delta = False, None
    t.aux_loss_enabled = t.use_vllm = t._entropy_bonus_enabled = False
    t.top_entropy_quantile, t.off_policy_mask_threshold, t.importance_sampling_level = 1.0, None, "token"
    t.loss_type, t.beta, t.epsilon_low, t.epsilon_high = kind, beta, low, high
    t.max_completion_length, t.current_gradient_accumulation_steps = T, 1
    t.accelerator.gather = t.accelerator.gather_for_metrics = lambda x: x
    n = now.shape[0]
    inputs = {"prompt_ids": torch.zeros(n, 1, dtype=torch.long), "prompt_mask": torch.ones(n, 1, dtype=torch.long),
              "completion_ids": torch.zeros(n, T, dtype=torch.long), "completion_mask": mask, "advantages": advantages(kind, rewards),
              "ref_per_token_logps": reference, "num_items_in_batch": mask.sum()}
    if steps > 1:
        inputs["old_per_token_logps"] = then
    return GRPOTrainer._compute_loss(t, SimpleNamespace(training=True), inputs)


def main():
    cases = []
    for seed in range(3):
        torch.manual_seed(seed)
        n = QUESTIONS * GROUP
        now, lengths = -torch.rand(n, T) * 3, torch.randint(1, T + 1, (n,))
        then, reference = now + 0.4 * torch.randn(n, T), now + 0.5 * torch.randn(n, T)
        mask = (torch.arange(T) < lengths.unsqueeze(1)).long()
        rewards = torch.randn(n).round(decimals=2)
        rewards[:GROUP] = rewards[:GROUP] if seed else 1.0  # a group that learns nothing
        losses = []
        for name, kind in KINDS.items():
            x = now.clone().requires_grad_()
            y = loss(*kind, x, then, reference, mask, rewards)
            y.backward()
            losses.append({"name": name, "kind": kind[0], "steps": kind[1], "beta": kind[2], "clip": kind[3], "high": kind[4],
                           "loss": y.item(), "gradient": x.grad.tolist()})
        cases.append({"now": now.tolist(), "then": then.tolist(), "reference": reference.tolist(), "mask": mask.tolist(), "rewards": rewards.tolist(), "losses": losses})
    with open(OUT, "w") as f:
        json.dump({"group": GROUP, "tokens": T, "cases": cases}, f)
        f.write("\n")


if __name__ == "__main__":
    main()
