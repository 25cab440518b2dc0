// Command mcs is a notebook in a terminal for experiments with tensors, LoRA and training.
package main

func main() {}
