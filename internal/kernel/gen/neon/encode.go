package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// The encodings of vector instructions, which Go's assembler mostly lacks (golang/go issue 41092).

// instruction is the word of an instruction whose registers and immediate number are all 0, and how
// much the word grows with that number. Registers are encoded in their order: Rd, Rn, Rm.
type instruction struct {
	word uint32
	unit int32
}

// instructions holds encodings of the Arm Architecture Reference Manual for A-profile (DDI 0487),
// chapter C7, by name and operands without numbers; name.lanes where all operands have these lanes.
var instructions = func() map[string]instruction {
	table := map[string]instruction{}
	fields := strings.Fields(`
		and.16b 4e201c00 bic.16b 4e601c00 orr.16b 4ea01c00 eor.16b 6e201c00 bsl.16b 6e601c00
		add.4s 4ea08400 sub.4s 6ea08400 addp.4s 4ea0bc00 sshl.4s 4ea04400 cmhi.4s 6ea03400
		fadd.4s 4e20d400 fsub.4s 4ea0d400 fmul.4s 6e20dc00 fdiv.4s 6e20fc00 fmla.4s 4e20cc00 fmls.4s 4ea0cc00
		fmax.4s 4e20f400 fmaxp.4s 6e20f400 faddp.4s 6e20d400 fabd.4s 6ea0d400 fcmge.4s 6e20e400 fcmgt.4s 6ea0e400 fcmeq.4s 4e20e400
		fmin.4s 4ea0f400 fneg.4s 6ea0f800
		fabs.4s 4ea0f800 fcvtns.4s 4e21a800 fsqrt.4s 6ea1f800 frintn.4s 4e218800 scvtf.4s 4e21d800
		uzp1.8h 4e401800 uzp2.8h 4e405800 zip1.8h 4e403800 zip2.8h 4e407800 trn1.4s 4e802800 trn2.4s 4e806800
		fcvtl:v.2d,v.2s 0e617800 fcvtl2:v.2d,v.4s 4e617800 fcvtn:v.2s,v.2d 0e616800 fcvtn2:v.4s,v.2d 4e616800
		sxtl:v.2d,v.2s 0f20a400 sxtl2:v.2d,v.4s 4f20a400 dup:v.4s,v.s[0] 4e040400 dup:v.2d,v.d[0] 4e080400 dup:v.2d,x 4e080c00
		fmul:v.4s,v.4s,v.s[0] 4f809000 fmla:v.4s,v.4s,v.s[0] 4f801000
		smull:v.4s,v.4h,v.4h 0e60c000 smull2:v.4s,v.8h,v.8h 4e60c000 sadalp:v.2d,v.4s 4ea06800 xtn:v.4h,v.4s 0e612800 xtn2:v.8h,v.4s 4e612800
		smlal:v.4s,v.4h,v.h[0] 0f402000 smlal:v.4s,v.4h,v.h[1] 0f502000
		smlal2:v.4s,v.8h,v.h[0] 4f402000 smlal2:v.4s,v.8h,v.h[1] 4f502000
		movi:v.2d,# 6f00e400 cmlt:v.4s,v.4s,# 4ea0a800 cmlt:v.2d,v.2d,# 4ee0a800
		shl:v.4s,v.4s,# 4f205400+65536 sshr:v.4s,v.4s,# 4f400400-65536 shl:v.2d,v.2d,# 4f405400+65536 ushr:v.2d,v.2d,# 6f800400-65536
		scvtf:v.2d,v.2d,# 4f80e400-65536 ucvtf:v.2d,v.2d,# 6f80e400-65536
		ldr:q,[x,#] 3dc00000+64 str:q,[x,#] 3d800000+64 ldr:q,[x],# 3cc00400+4096 str:q,[x],# 3c800400+4096
		ldr:q,[x,x] 3ce06800 str:q,[x,x] 3ca06800 ldr:s,[x,x] bc606800 str:b,[x],# 3c000400+4096
		ldr:d,[x,#] fd400000+128 str:d,[x,#] fd000000+128 ldr:s,[x,#] bd400000+256 str:s,[x,#] bd000000+256
		ld1:{v.s}[2],[x] 4d408000 st1:{v.s}[2],[x] 4d008000`)
	for i := 0; i < len(fields); i += 2 {
		var found instruction
		if n, err := fmt.Sscanf(fields[i+1], "%8x%d", &found.word, &found.unit); n == 0 {
			panic(err)
		}
		table[fields[i]] = found
		if name, alike := strings.CutSuffix(fields[i], ".4s"); alike && !strings.Contains(name, ":") {
			table[name+".2d"] = instruction{word: found.word | 1<<22} // the size of an element
		}
	}
	return table
}()

// numbered finds the registers and immediates of an instruction.
var numbered = regexp.MustCompile(`\b([vqdsbx])(\d+)|#(\d+)`)

// encode returns the word of an instruction. It panics when the table has none of this form.
func encode(text string) uint32 {
	name, operands, _ := strings.Cut(text, " ")
	kinds := strings.ReplaceAll(numbered.ReplaceAllStringFunc(operands, func(s string) string { return s[:1] }), " ", "")
	form := name + ":" + kinds
	if first, _, _ := strings.Cut(kinds, ","); strings.ReplaceAll(kinds+",", first+",", "") == "" {
		form = name + first[1:]
	}
	known, ok := instructions[form]
	if !ok {
		panic(fmt.Sprintf("found no encoding of %q", form))
	}
	word, shift := known.word, 0
	for _, match := range numbered.FindAllStringSubmatch(operands, -1) {
		number, err := strconv.Atoi(match[2] + match[3])
		if err != nil || match[1] != "" && number > 31 || strings.Contains(form, "h[") && shift == 16 && number > 15 {
			panic(fmt.Sprintf("an operand of %q is out of range", text))
		}
		if match[1] == "" {
			word += uint32(int32(number) * known.unit)
			continue
		}
		word |= uint32(number) << shift
		shift = map[int]int{0: 5, 5: 16}[shift]
	}
	return word
}
