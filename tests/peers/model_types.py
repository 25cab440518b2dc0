"""Writes engine/llm/testdata/model_types.txt: the model_types whose models write texts, as transformers has them, each with that of its part for text.

usage: python tests/peers/model_types.py        (needs transformers)
"""
import os
import warnings

from transformers.models.auto import modeling_auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

OUT = os.path.join(os.path.dirname(__file__), "../../engine/llm/testdata/model_types.txt")


def inner(name):
    try:
        return getattr(getattr(CONFIG_MAPPING[name](), "text_config", None), "model_type", "")
    except Exception:  # one that cannot be made of nothing
        return ""


def main():
    warnings.filterwarnings("ignore")
    names = set(modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES) | set(modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES)
    with open(OUT, "w") as f:
        f.writelines(f"{name} {inner(name)}".strip() + "\n" for name in sorted(names))


if __name__ == "__main__":
    main()
