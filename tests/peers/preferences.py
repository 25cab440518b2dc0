"""Writes engine/train/testdata/preferences.json: losses of preferences, as trl computes them, and their gradients.

usage: python tests/peers/preferences.py        (needs torch, trl)

Each case has the scores of a model and of a reference [2·pairs T V], inputs and targets [2·pairs T], and by kind the
loss and its gradient by the scores. The code that runs is trl's own (DPOTrainer._compute_loss, ORPOTrainer's
get_batch_logps and odds_ratio_loss, KTOTrainer._compute_loss, GKDTrainer.generalized_jsd_loss, whose teacher is the reference); conservative DPO, which trl no longer has, is its old line.
"""
import json
import os
from types import SimpleNamespace
from unittest.mock import MagicMock

import torch
import torch.nn.functional as F
from trl import DPOTrainer, KTOTrainer
from trl.experimental.gkd import GKDTrainer
from trl.experimental.orpo import ORPOTrainer

OUT = os.path.join(os.path.dirname(__file__), "../../engine/train/testdata/preferences.json")
PAIRS, T, V = 3, 7, 5


def case(seed):
    torch.manual_seed(seed)
    inputs = torch.randint(0, V, (2 * PAIRS, T))
    targets = torch.full((2 * PAIRS, T), -100)
    for i in range(2 * PAIRS):  # a prompt of 1 to 3 tokens, an answer of 1 to 4
        start, n = 1 + int(torch.randint(0, 3, ())), 1 + int(torch.randint(0, 4, ()))
        targets[i, start:start + n] = torch.cat([inputs[i, start + 1:], torch.randint(0, V, (1,))])[:n]
    return inputs, targets, 2 * torch.randn(2 * PAIRS, T, V), 2 * torch.randn(2 * PAIRS, T, V)


def logps(scores, targets):
    rows = torch.log_softmax(scores, -1).gather(-1, targets.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    return rows * (targets != -100)


def model(scores, targets):
    """What DPOTrainer asks a model: log probabilities of targets that are shifted already."""
    n = targets.shape[1]
    zero = torch.zeros(2 * PAIRS, n)

    def call(**_):
        return SimpleNamespace(log_probs=logps(scores, targets), entropy=zero, mean_logits=zero, is_top1=zero.bool(), log_sum_sq_probs=zero)
    call.training = True
    return call


def dpo(kind, beta, smoothing, scores, reference, targets):
    t = MagicMock(name="trainer")
    t.accelerator.device = torch.device("cpu")
    t.accelerator.gather_for_metrics = t.accelerator.gather = lambda x: x
    t.accelerator.unwrap_model = lambda m: m
    t.model = SimpleNamespace(training=True)
    t.ref_model = model(reference, targets)
    t.aux_loss_enabled = t.precompute_ref_logps = t.use_weighting = False
    t.ld_alpha, t.f_divergence_type, t.beta, t.label_smoothing = None, "reverse_kl", beta, smoothing
    t.loss_types, t.loss_weights = [kind], [1.0]
    t._total_train_tokens, t._tp_size = 0, 1
    mask = torch.cat([torch.zeros(2 * PAIRS, 1, dtype=torch.long), (targets != -100).long()], 1)
    ids = torch.zeros(2 * PAIRS, targets.shape[1] + 1, dtype=torch.long)
    import trl.trainer.dpo_trainer as module
    module.is_peft_model = lambda m: False
    module.disable_gradient_checkpointing = lambda *a: __import__("contextlib").nullcontext()
    return DPOTrainer._compute_loss(t, model(scores, targets), {"input_ids": ids, "attention_mask": mask, "completion_mask": mask}, False)


def kto(beta, desirable, undesirable, scores, reference, targets):
    """The first half are the answers, every other one unwanted, the second half those to other prompts."""
    import trl.trainer.kto_trainer as module
    module.is_peft_model = lambda m: False
    module.disable_gradient_checkpointing = lambda *a: __import__("contextlib").nullcontext()

    zero = torch.zeros(PAIRS, T)

    def of(scores):  # the two halves have other ids
        def call(input_ids=None, **_):
            half = slice(PAIRS, None) if input_ids[0, 0] else slice(0, PAIRS)
            return SimpleNamespace(log_probs=logps(scores[half], targets[half]), entropy=zero, mean_logits=zero, is_top1=zero.bool(), log_sum_sq_probs=zero)
        return call
    t = MagicMock(name="trainer")
    t.accelerator.device = torch.device("cpu")
    t.accelerator.gather_for_metrics = lambda x: x
    t.model = SimpleNamespace(training=True)
    t.ref_model = of(reference)
    t.aux_loss_enabled = t.precompute_ref_logps = False
    t.calculate_KL, t.loss_type, t.beta, t.desirable_weight, t.undesirable_weight = True, "kto", beta, desirable, undesirable
    t._compute_kl_logps = lambda model, batch: KTOTrainer._compute_kl_logps(t, model, batch)
    mask = torch.cat([torch.zeros(2 * PAIRS, 1, dtype=torch.long), (targets != -100).long()], 1)
    ids = torch.zeros(PAIRS, T + 1, dtype=torch.long)
    batch = {"label": torch.arange(PAIRS) % 2 == 0, "input_ids": ids, "attention_mask": mask[:PAIRS], "completion_mask": mask[:PAIRS],
             "KL_input_ids": ids + 1, "KL_attention_mask": mask[PAIRS:], "KL_completion_mask": mask[PAIRS:]}
    return KTOTrainer._compute_loss(t, of(scores), batch, False)


def conservative(beta, smoothing, scores, reference, targets):
    gain = (logps(scores, targets) - logps(reference, targets)).sum(1)
    x = beta * (gain[:PAIRS] - gain[PAIRS:])
    return (-F.logsigmoid(x) * (1 - smoothing) - F.logsigmoid(-x) * smoothing).mean()


def orpo(beta, prompts, scores, inputs, targets):
    shift = lambda x, fill: torch.cat([torch.full((x.shape[0], 1), fill), x], 1)  # trl shifts by itself
    labels = shift(targets, -100)
    rows = torch.cat([scores, scores[:, -1:]], 1)
    each = ORPOTrainer.get_batch_logps(rows, labels, average_log_prob=True)
    t = SimpleNamespace(beta=beta, accelerator=SimpleNamespace(device="cpu"))
    losses = ORPOTrainer.odds_ratio_loss(t, each[:PAIRS], each[PAIRS:])[0]
    said = targets[:PAIRS]
    if prompts:
        said = said.clone()
        for i in range(PAIRS):
            last = max(j for j in range(T) if targets[i, j] != -100)
            for j in range(last + 1):
                if said[i, j] == -100:
                    said[i, j] = inputs[i, j + 1]
    return F.cross_entropy(scores[:PAIRS].reshape(-1, V), said.reshape(-1)) - losses.mean()


def main():
    cases = []
    for seed in range(3):
        inputs, targets, scores, reference = case(seed)
        losses = []
        for name, f in {
            "sigmoid": lambda s: dpo("sigmoid", 0.1, 0.0, s, reference, targets),
            "sigmoid 0.5": lambda s: dpo("sigmoid", 0.5, 0.0, s, reference, targets),
            "smoothed": lambda s: conservative(0.3, 0.2, s, reference, targets),
            "robust": lambda s: dpo("robust", 0.3, 0.2, s, reference, targets),
            "hinge": lambda s: dpo("hinge", 0.2, 0.0, s, reference, targets),
            "ipo": lambda s: dpo("ipo", 0.4, 0.0, s, reference, targets),
            "kto": lambda s: kto(0.1, 1.0, 1.0, s, reference, targets),
            "kto weighted": lambda s: kto(0.3, 1.5, 0.75, s, reference, targets),
            "orpo": lambda s: orpo(0.1, False, s, inputs, targets),
            "orpo with prompts": lambda s: orpo(0.5, True, s, inputs, targets),
            "forward": lambda s: GKDTrainer.generalized_jsd_loss(s, reference, targets, beta=0),
            "reverse": lambda s: GKDTrainer.generalized_jsd_loss(s, reference, targets, beta=1, temperature=2.5),
            "between": lambda s: GKDTrainer.generalized_jsd_loss(s, reference, targets, beta=0.3, temperature=0.7),
            "half hard": lambda s: 0.5 * GKDTrainer.generalized_jsd_loss(s, reference, targets, beta=0.5)
            + 0.5 * F.cross_entropy(s.flatten(0, 1), targets.flatten()),
        }.items():
            s = scores.clone().requires_grad_()
            loss = f(s)
            loss.backward()
            losses.append({"name": name, "loss": loss.item(), "gradient": s.grad.flatten().tolist()})
        cases.append({"inputs": inputs.tolist(), "targets": targets.tolist(), "scores": scores.flatten().tolist(),
                      "reference": reference.flatten().tolist(), "losses": losses})
    with open(OUT, "w") as f:
        json.dump({"vocab": V, "cases": cases}, f)
        f.write("\n")


if __name__ == "__main__":
    main()
