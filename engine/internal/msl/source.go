package msl

// A Source is a text with kernels.
type Source struct {
	Name      string // what messages call it
	Text      string
	Kernels   []*Kernel
	Constants []FunctionConstant

	tokens    []token
	code      []int // of tokens, those that are neither space nor part of a directive
	partner   map[int]int
	functions []*function
	structs   []string         // the names of the text's types
	variables [][2]int         // where the variables outside of functions are declared, from and to in code
	values    map[string]int64 // the constants of the text that are whole numbers
	defined   []string         // the macros of the text
	edits     map[int]string   // tokens that both dialects leave out or replace
}

// A Kernel is a function that a host can launch; one that is a template is launched by its instances.
type Kernel struct {
	Name       string // in the text
	Pos        Pos
	Arguments  []Argument
	Parameters []Parameter // of a template
	Instances  []Instance  // of a kernel that is no template, one with its name
	MaxThreads int         // what max_total_threads_per_threadgroup says, or 0

	function *function
}

// A Parameter is one of a template.
type Parameter struct {
	Type    string // "typename", "int", "bool"
	Name    string
	Default string
}

// Typename says whether it is a type.
func (p *Parameter) Typename() bool { return p.Type == "typename" || p.Type == "class" }

// An Instance is a kernel as the host knows it.
type Instance struct {
	Name string   // by which a library finds it
	Args []string // what stands for the template's parameters
	Pos  Pos
}

// An ArgumentKind says how an argument reaches a kernel.
type ArgumentKind uint8

const (
	Buffer      ArgumentKind = iota // the address of device memory: device T*, constant T*, device T&
	Constant                        // bytes that the launch carries: constant T&
	Threadgroup                     // memory of the group, of a size that the launch says: threadgroup T*
	Attribute                       // what the device knows: the thread's position
)

var argumentKinds = [...]string{"buffer", "constant", "threadgroup", "attribute"}

// String returns the kind in lower case.
func (k ArgumentKind) String() string { return argumentKinds[k] }

// An Argument is one that a kernel takes.
type Argument struct {
	Kind      ArgumentKind
	Name      string
	Type      string // without its name: "device const T*", "uint2"
	Index     int    // n of [[buffer(n)]] or [[threadgroup(n)]]; -1 for an attribute
	Attribute string // "thread_position_in_grid"; empty for the other kinds
	Written   bool   // the kernel may write there
	Pos       Pos

	tokens []int // of its type, in code
}

// A FunctionConstant is a constant of the text that gets its value when a pipeline is made.
type FunctionConstant struct {
	Name  string
	Type  string
	Index int
	Pos   Pos

	token int // of its name
}

// A function is one that the text defines.
type function struct {
	name     string
	at       int // of its name, in code
	start    int // of its declaration, in code
	template []Parameter
	open     int // the bracket before its parameters, in code
	body     int // its opening brace, in code
	end      int // its closing brace, in code
	kernel   *Kernel
	result   []int // the words before its name, in code
}

// text returns the token at place i of the code, or nothing behind its end.
func (s *Source) text(i int) string {
	if i < 0 || i >= len(s.code) {
		return ""
	}
	return s.tokens[s.code[i]].text
}

func (s *Source) kind(i int) kind {
	if i < 0 || i >= len(s.code) {
		return space
	}
	return s.tokens[s.code[i]].kind
}

// pos is where the token at place i of the code stands; behind the end it is that of the last one.
func (s *Source) pos(i int) Pos {
	if len(s.code) == 0 {
		return Pos{s.Name, 1, 1}
	}
	return s.tokens[s.code[max(0, min(i, len(s.code)-1))]].pos
}

// join writes the tokens at the places list of the code, with a space where two words meet.
func (s *Source) join(list []int) string {
	var out []byte
	for n, i := range list {
		t := s.text(i)
		if n > 0 && (s.kind(i) == name || s.kind(i) == number) {
			if last := s.text(list[n-1]); letter(last[len(last)-1]) || digit(last[len(last)-1]) || last == "*" || last == "&" || last == ">" || last == "," {
				out = append(out, ' ')
			}
		}
		out = append(out, t...)
	}
	return string(out)
}

// places lists the places from i up to j.
func places(i, j int) []int {
	var list []int
	for ; i < j; i++ {
		list = append(list, i)
	}
	return list
}
