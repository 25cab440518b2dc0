"""Writes engine/data/testdata/folders.json: which files Hugging Face's datasets reads of a folder, and in which splits.

    python tests/peers/dataset_folders.py          (datasets)

Each file has a record with its own path as the text.
"""
import json
import os
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
import datasets

datasets.disable_progress_bars()
OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "engine", "data", "testdata", "folders.json")

PAIR = ["data/train.jsonl", "data/test.jsonl"]
TWO = ["one/train.jsonl", "one/test.jsonl", "two/train.jsonl", "two/more/a.jsonl"]
SHARDS = ["data/train-00000-of-00002.jsonl", "data/train-00001-of-00002.jsonl", "data/test-00000-of-00001.jsonl"]
CASES = [
    ("", ["train.jsonl", "valid.jsonl", "test.jsonl"], None),
    ("", SHARDS, None),
    ("", ["data/train_sft-00000-of-00001.jsonl", "data/test_sft-00000-of-00001.jsonl"], None),
    ("", ["train/a.jsonl", "dev/b.jsonl", "test/c.jsonl"], None),
    ("", ["a.jsonl", "b.jsonl"], None),
    ("configs:\n- config_name: default\n  data_files: \"data/*.jsonl\"\n", PAIR, None),
    ("configs:\n- config_name: default\n  data_files:\n  - split: train\n    path: \"data/train.jsonl\"\n  - split: test\n    path: data/test.jsonl\n", PAIR, None),
    ("configs:\n  - config_name: default\n    data_files:\n      - split: train\n        path:\n          - one/*.jsonl\n          - 'two/**'\n      - {split: test, path: [one/test.jsonl]}\n", TWO, None),
    ("configs:\n- config_name: one\n  data_dir: one\n- config_name: two\n  data_dir: two\n", TWO, "one"),
    ("configs:\n- config_name: one\n  data_files: one/*\n- config_name: two # the second\n  default: true\n  data_files:\n    - two/*.jsonl\n", TWO, None),
    ("configs:\n- config_name: one\n  data_files: one/*\n- config_name: two\n  data_files:\n  - split: all_of_it\n    path: two/**/*.jsonl\n", TWO, "two"),
    ("license: mit\ntags:\n- text\nconfigs:\n- config_name: default\n  data_files:\n  - split: train\n    path: data/train-*\n  - split: test\n    path: data/test-*\ndataset_info:\n  features:\n  - name: text\n    dtype: string\n", SHARDS, None),
    ("configs:\n- config_name: default\n  data_files:\n  - split: train\n    path: data/train-0000[0-1]-of-0000?.jsonl\n", SHARDS, None),
]


def read(card, files, config):
    with tempfile.TemporaryDirectory() as dir, tempfile.TemporaryDirectory() as cache:
        for f in files:
            os.makedirs(os.path.dirname(os.path.join(dir, f)), exist_ok=True)
            with open(os.path.join(dir, f), "w") as out:
                json.dump({"text": f}, out)
        if card:
            with open(os.path.join(dir, "README.md"), "w") as out:
                out.write("---\n" + card + "---\n# A card\n")
        got = datasets.load_dataset(dir, config, cache_dir=cache)
        return {split: list(d["text"]) for split, d in got.items()}


def main():
    cases = [{"card": card, "files": files, "config": config or "", "splits": read(card, files, config)} for card, files, config in CASES]
    with open(OUT, "w") as f:
        json.dump(cases, f, indent=1)


if __name__ == "__main__":
    main()
