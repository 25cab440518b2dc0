package python

import (
	"strings"

	"github.com/mcs-notebook/mcs/internal/lazy"
)

// implied are arguments of transformers, peft and datasets that say what is so here in any case.
var implied = map[string]bool{
	"return_tensors": true, "skip_special_tokens": true, "padding": true, "truncation": true, "device_map": true, "torch_dtype": true,
	"trust_remote_code": true, "do_sample": true, "pad_token_id": true, "eos_token_id": true, "task_type": true, "attn_implementation": true,
	"use_fast": true, "low_cpu_mem_usage": true, "use_cache": true, "inference_mode": true, "report_to": true, "logging_steps": true,
	"output_dir": true, "per_device_train_batch_size": true, "fp16": true, "bf16": true, "save_strategy": true, "streamer": true,
}

// settings maps arguments with another name here to the fields that they are.
var settings = map[string]string{
	"label_smoothing": "Smoothing", "max_new_tokens": "Tokens", "repetition_penalty": "Repetition", "r": "Rank", "lora_alpha": "Alpha",
	"lora_dropout": "Dropout", "target_modules": "Targets", "use_rslora": "RankStabilized", "use_dora": "DoRA", "exclude_modules": "Exclude", "modules_to_save": "Train",
	"ignore_index": "Ignore", "num_train_epochs": "Epochs", "max_steps": "Steps",
	"learning_rate": "LR", "gradient_accumulation_steps": "Accumulate", "max_grad_norm": "Clip", "save_steps": "CheckpointEvery", "eval_steps": "EvalEvery",
}

// setting returns the value of an argument that settings names: names of layers are one text, and a learning
// rate is a schedule.
func setting(a argument) value {
	switch {
	case a.name == "learning_rate":
		return simple("optim.Constant(%s)", a.goText())
	case a.name == "ignore_index":
		return simple("[]int{%s}", a.goText())
	case (strings.HasSuffix(a.name, "_modules") || a.name == "modules_to_save") && a.items != nil:
		names := make([]string, len(a.items))
		for i, item := range a.items {
			names[i] = strings.Trim(item.text, `"`)
		}
		return simple("%q", strings.Join(names, " "))
	case a.text == `"all-linear"`:
		return simple("lora.AllLinear")
	}
	return a.value
}

// repository matches the load of a repository of Hugging Face, which is downloaded first.
var repository = lazy.Regexp(`^(llm|tokenizer|embed)\.Load\((ctx, )?("[\w.-]+/[\w.-]+")\)$`)

// downloaded puts the download of a repository before its load.
func (p *reader) downloaded(v value) value {
	m := repository().FindStringSubmatch(v.text)
	if m == nil {
		return v
	}
	dir := p.fresh("dir")
	p.first("%s := llm.Download(ctx, %s, llm.Hub{})", dir, m[3])
	return simple("%s.Load(%s%s)", m[1], m[2], dir)
}

// dataset is load_dataset("json", data_files="x.jsonl"), or of a folder.
func dataset(args []argument) value {
	path := args[0].value
	for _, a := range args[1:] {
		if a.name == "data_files" || a.name == "data_dir" {
			path = a.value
		}
	}
	return simple("data.ReadRecords(%s)", path.goText())
}
