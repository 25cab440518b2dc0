package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	fs := flag.NewFlagSet("wc", flag.ContinueOnError)
	fs.SetOutput(os.Stdout)
	lines := fs.Bool("l", false, "count lines")
	min := fs.Int("min", 0, "shortest word to count")
	var sep string
	fs.StringVar(&sep, "sep", " ", "what stands between words")
	fmt.Println(fs.Parse([]string{"-l", "-min=3", "-sep", ",", "rest", "-x"}), *lines, *min, sep, fs.Args())
	fmt.Println(fs.Parse([]string{"-min", "x"}))
	fmt.Println(len(os.Args))
	in := bufio.NewScanner(os.Stdin)
	n, words := 0, map[string]int{}
	for in.Scan() {
		n++
		for _, w := range strings.Fields(in.Text()) {
			words[strings.ToLower(w)]++
		}
	}
	fmt.Println(n, len(words), words["the"])
	fmt.Fprintln(os.Stderr, "done")
	defer fmt.Println("not printed")
	os.Exit(3)
}
