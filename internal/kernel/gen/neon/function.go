package main

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
)

// vec is a vector register: one of the machine's below 32, otherwise one that allocate chooses.
type vec int

const virtual vec = 32

// line is a line of assembly: a format, and the registers and numbers that it takes.
type line struct {
	format string
	args   []any
	vector bool // an instruction for encode, not one of Go's assembler
	loop   int  // the line where the loop begins that this one ends; 0 if it ends none
}

// function is a function being written.
type function struct {
	name, doc, signature string
	arguments, kinds     map[string]string // places and types of arguments and results
	frame                int               // bytes of these
	general              map[string]int    // general registers by name
	lines                []line
	made                 vec // the last register
	labels               int
	pooled               bool // whether there are constants
}

// functions are those of the file being written, constants its values of 16 bytes, in their order.
var (
	functions []*function
	constants [][2]uint64
)

// begin begins a function whose parameters, but for numbers of floating point, are in the general
// registers of their names.
func begin(name, signature, doc string) *function {
	f := &function{name: name, doc: doc, signature: signature, made: virtual - 1, arguments: map[string]string{},
		kinds: map[string]string{}, general: map[string]int{}}
	functions = append(functions, f)
	parameters, results, _ := strings.Cut(signature, ") (")
	for _, name := range f.declare(parameters) {
		if !strings.HasPrefix(f.kinds[name], "float") {
			f.register(name)
			f.x("MOVD " + f.arguments[name] + ", {" + name + "}")
		}
	}
	if results != "" {
		f.frame = (f.frame + 7) &^ 7
		f.declare(results)
	}
	return f
}

// declared finds the names of a list of parameters or results, and the type after the last of a kind.
var declared = regexp.MustCompile(`(\w+)(?: ([^,()]+))?`)

// declare lays out a list of parameters or results and returns their names.
func (f *function) declare(list string) (names []string) {
	undecided := 0 // the first name without a type
	for _, match := range declared.FindAllStringSubmatch(list, -1) {
		names = append(names, match[1])
		if match[2] == "" {
			continue
		}
		size := 8
		if match[2] == "float32" {
			size = 4
		}
		for ; undecided < len(names); undecided++ {
			name := names[undecided]
			f.frame = (f.frame + size - 1) &^ (size - 1)
			f.kinds[name], f.arguments[name] = match[2], fmt.Sprintf("%s+%d(FP)", name, f.frame)
			f.frame += size
		}
	}
	return names
}

// register names the next free general register. R18 belongs to the system, R26 points to the
// constants, R27 and those above belong to Go.
func (f *function) register(names ...string) {
	for _, name := range names {
		n := len(f.general)
		if n >= 18 {
			n++
		}
		if n > 25 {
			panic(f.name + " has no general register left")
		}
		f.general[name] = n
	}
}

var braces = regexp.MustCompile(`\{([a-z]\w*)\}`)

// v writes a vector instruction, x one of Go's assembler. Names in braces are general registers.
func (f *function) v(format string, args ...any) { f.write("x", true, format, args) }
func (f *function) x(format string, args ...any) { f.write("R", false, format, args) }

func (f *function) write(letter string, vector bool, format string, args []any) {
	format = braces.ReplaceAllStringFunc(format, func(s string) string {
		n, ok := f.general[s[1:len(s)-1]]
		if !ok {
			panic(f.name + " has no register " + s)
		}
		return fmt.Sprint(letter, n)
	})
	f.lines = append(f.lines, line{format, args, vector, 0})
}

// loop repeats body until the register counter, which is positive, is 0.
func (f *function) loop(counter string, body func()) {
	f.labels++
	label, from := f.labels, len(f.lines)
	f.x("loop%d:", label)
	body()
	f.x("SUBS $1, {" + counter + "}, {" + counter + "}")
	f.x("BNE loop%d", label)
	f.lines[len(f.lines)-1].loop = from
}

// while repeats body while the register counter is at least step, and takes step from it each time.
func (f *function) while(counter string, step int, body func()) {
	f.labels++
	label, from := f.labels, len(f.lines)
	f.x("loop%d:", label)
	f.x("SUBS $%d, {"+counter+"}, {"+counter+"}", step)
	f.x("BLT end%d", label)
	body()
	f.x("B loop%d", label)
	f.lines[len(f.lines)-1].loop = from
	f.x("end%d:", label)
	f.x("ADD $%d, {"+counter+"}", step)
}

// bytes makes strides, which count values of four bytes, count bytes.
func (f *function) bytes(strides ...string) {
	for _, s := range strides {
		f.x("LSL $2, {" + s + "}, {" + s + "}")
	}
}

func (f *function) vec() vec { f.made++; return f.made }

// everywhere returns a register with a number of floating point in all lanes.
func (f *function) everywhere(parameter string) vec {
	y, move, all := f.vec(), "FMOVS ", "dup v%d.4s, v%d.s[0]"
	if f.kinds[parameter] == "float64" {
		move, all = "FMOVD ", "dup v%d.2d, v%d.d[0]"
	}
	f.x(move+f.arguments[parameter]+", F%d", y)
	f.v(all, y, y)
	return y
}

// count returns a register with a general register in both lanes.
func (f *function) count(register string) vec {
	y := f.vec()
	f.v("dup v%d.2d, {"+register+"}", y)
	return y
}

// pool returns a register with 64 bits and another 64, bits with the same twice.
func (f *function) pool(low, high uint64) vec {
	value := [2]uint64{low, high}
	at := slices.Index(constants, value)
	if at < 0 {
		at = len(constants)
		constants = append(constants, value)
	}
	f.pooled = true
	y := f.vec()
	f.v("ldr q%d, [x26, #%d]", y, 16*at)
	return y
}

func (f *function) bits(word uint64) vec     { return f.pool(word, word) }
func (f *function) double(value float64) vec { return f.bits(math.Float64bits(value)) }

// s returns the result of an operation on four numbers of 32 bits, d on two of 64, b on bits.
func (f *function) s(name string, operands ...vec) vec {
	return f.into(f.vec(), name, "4s", operands...)
}
func (f *function) d(name string, operands ...vec) vec {
	return f.into(f.vec(), name, "2d", operands...)
}
func (f *function) b(name string, operands ...vec) vec {
	return f.into(f.vec(), name, "16b", operands...)
}

// into writes an operation whose result is y.
func (f *function) into(y vec, name, lanes string, operands ...vec) vec {
	format, args := name+" v%d."+lanes, []any{y}
	for _, operand := range operands {
		format, args = format+", v%d."+lanes, append(args, operand)
	}
	f.v(format, args...)
	return y
}

// zero returns a register of zeros, load one from memory at a general register and an offset.
func (f *function) zero() vec {
	y := f.vec()
	f.v("movi v%d.2d, #0", y)
	return y
}

func (f *function) load(from string, offset int) vec {
	y := f.vec()
	f.v("ldr q%d, [{"+from+"}, #%d]", y, offset)
	return y
}

func (f *function) store(y vec, to string, offset int) { f.v("str q%d, [{"+to+"}, #%d]", y, offset) }

// advance moves pointers by so many bytes.
func (f *function) advance(bytes int, pointers ...string) {
	for _, p := range pointers {
		f.x("ADD $%d, {"+p+"}", bytes)
	}
}

// allocate gives every register that is not the machine's one that nothing else needs from its
// first line to its last. What was made before a loop and is used in it is needed to its end.
func (f *function) allocate() {
	first, last, free := map[vec]int{}, map[vec]int{}, slices.Repeat([]bool{true}, int(virtual))
	for i, l := range f.lines {
		for _, arg := range l.args {
			v, ok := arg.(vec)
			if ok && v < virtual {
				free[v] = false
			} else if _, seen := first[v]; ok && !seen {
				first[v] = i
			}
			last[v] = i
		}
		for v := range last {
			if first[v] < l.loop && l.loop <= last[v] {
				last[v] = i
			}
		}
	}
	chosen := map[vec]vec{}
	for i, l := range f.lines {
		// An operand that ends here leaves its register to the result, which stands first.
		for j, arg := range slices.Backward(l.args) {
			v, ok := arg.(vec)
			if !ok || v < virtual {
				continue
			}
			if _, has := chosen[v]; !has {
				n := slices.Index(free, true)
				if n < 0 {
					panic(f.name + " has no vector register left")
				}
				chosen[v], free[n] = vec(n), false
			}
			l.args[j] = chosen[v]
			free[chosen[v]] = free[chosen[v]] || last[v] == i
		}
	}
}
