package session

import (
	"strings"
	"testing"
)

// What somebody types by habit who knows transformers, peft, trl and datasets is answered with the Go for it.
// Most of these lines need files, so they are not run: the advice was checked as a cell is.
func TestHabitsOfHuggingFace(t *testing.T) {
	s, _ := newSession(t, Options{})
	run(t, s, "m := llm.New(llm.Config{Vocab: 256, Layers: 1, Width: 32, Heads: 2, KVHeads: 2, Hidden: 64, Seed: 1}); ids := []int{1, 2}")
	for _, tt := range []struct{ typed, want string }{
		{`model = AutoModelForCausalLM.from_pretrained("qwen", torch_dtype="auto", device_map="auto")`, `write model := llm.Load(ctx, "qwen")`},
		{`model = AutoModelForCausalLM.from_pretrained('Qwen/Qwen2.5-0.5B')`,
			`write dir := llm.Download(ctx, "Qwen/Qwen2.5-0.5B", llm.Hub{}); model := llm.Load(ctx, dir)`},
		{`tokenizer = AutoTokenizer.from_pretrained("qwen")`, `write tok := tokenizer.Load("qwen")`},
		{`inputs = tokenizer("Hello", return_tensors="pt")`, `write inputs := m.Tokenizer.Encode("Hello", true)`},
		{`out = m.generate(**ids, max_new_tokens=20, do_sample=True, temperature=0.7)`,
			`write out := m.GenerateTokens(ctx, ids, llm.Sampling{Tokens: 20, Temperature: 0.7})`},
		{`m.generate("Once", max_new_tokens=20)`, `write m.Generate(ctx, "Once", llm.Sampling{Tokens: 20})`},
		{`print(tokenizer.decode(ids[0], skip_special_tokens=True))`, `write fmt.Println(m.Tokenizer.Decode(ids, false))`},
		{`config = LoraConfig(r=8, lora_alpha=16, target_modules=["q_proj", "v_proj"], lora_dropout=0.05, task_type="CAUSAL_LM")`,
			`write config := lora.Config{Rank: 8, Alpha: 16, Targets: "q_proj v_proj", Dropout: 0.05}`},
		{`m = get_peft_model(m, LoraConfig(r=4))`, `write adapter := lora.Inject(m, lora.Config{Rank: 4, Alpha: 8})`},
		{`m.print_trainable_parameters()`, `write fmt.Println(lora.Of(m))`},
		{`m = m.merge_and_unload()`, `write lora.Of(m)[0].Merge()`},
		{`m.save_pretrained("out")`, `write llm.Save("out", m)`},
		{`PeftModel.from_pretrained(m, "adapter")`, `write lora.Load("adapter", m)`},
		{`args = TrainingArguments(output_dir="out", learning_rate=1e-4, num_train_epochs=1)`,
			`write args := train.Options{LR: optim.Constant(1e-4), Epochs: 1}`},
		{`ds = load_dataset("json", data_files="chats.jsonl")`, `write ds := data.ReadRecords("chats.jsonl")`},
		{`trainer = Trainer(model=m, args=args, train_dataset=ds)`, `train.Run(ctx, m, rows.Padded(4), `},
		{`SFTTrainer(model=m, train_dataset=ds)`, `train.Run(ctx, m, rows.Padded(4), `},
		{`DPOTrainer(m, ref_model=None)`, `train.Run(ctx, train.DPO{Model: m}, `},
		{`pipeline("text-generation", model="gpt2")`, `m.Generate(ctx, "Once", `},
		{`BitsAndBytesConfig(load_in_4bit=True)`, `quant.Module(m, quant.Config{Bits: 4})`},
		{`tokenizer.apply_chat_template(messages, tokenize=False)`, `lm.ChatText(`},
		{`set_seed(42)`, `write tensor.Seed(42)`},
		{`SentenceTransformer("minilm")`, `write embed.Load(ctx, "minilm")`},
		{`TextStreamer(tok)`, `m.Stream(ctx, `},
		{`from transformers import AutoTokenizer`, `package llm`},
		{`from peft import LoraConfig`, `package lora`},
		{`from trl import SFTTrainer`, `package train`},
		{`from datasets import load_dataset`, `data.ReadRecords`},
	} {
		r := s.Run(t.Context(), tt.typed)
		if r.Err == nil {
			t.Errorf("%s: runs, want a complaint", tt.typed)
			continue
		}
		_, hint, _ := strings.Cut(firstLine(r.Err), "\x00")
		if exact := strings.HasPrefix(tt.want, "write "); exact && hint != tt.want || !strings.Contains(hint, tt.want) {
			t.Errorf("%s:\n got %s\nwant %s", tt.typed, hint, tt.want)
		}
	}
}
