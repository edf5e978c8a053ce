package tokenizer

import (
	"container/heap"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// pairs is byte-pair encoding: of the symbols of a word, the two that the file joins first become
// one, until none is left that it joins.
type pairs struct {
	vocabulary
	joins          map[[2]int32]join
	unknown        int32 // below 0 where characters that are unknown have no token
	prefix, suffix string
	fuseUnknown    bool
	byteFallback   bool
	whole          bool // a word of the vocabulary is one token, whatever its pairs are
}

type join struct {
	rank int
	id   int32 // of the symbol that it makes
}

func newPairs(p part) (model, error) {
	if p.Dropout != 0 {
		return nil, fmt.Errorf("found dropout %g, expected none: a text has the same tokens each time", p.Dropout)
	}
	v, err := p.vocabulary()
	m := &pairs{v, make(map[[2]int32]join, len(p.Merges)), -1, p.Prefix, p.Suffix, p.FuseUnknown, p.ByteFallback, p.IgnoreMerges}
	if p.Unknown != "" {
		_, m.unknown, err = p.withUnknown()
	}
	if err != nil {
		return nil, err
	}
	for rank, content := range p.Merges {
		if err := m.addJoin(rank, content); err != nil {
			return nil, fmt.Errorf("merge %d: %w", rank, err)
		}
	}
	return m, nil
}

// addJoin takes in a pair, written as a list of two or, in older files, with a space between.
func (m *pairs) addJoin(rank int, content json.RawMessage) error {
	var two []string
	var text string
	if json.Unmarshal(content, &two) != nil {
		if err := json.Unmarshal(content, &text); err != nil {
			return err
		}
		two = strings.Split(text, " ")
	}
	if len(two) != 2 {
		return errors.New("found no two symbols, expected them")
	}
	a, knownA := m.vocabulary[two[0]]
	b, knownB := m.vocabulary[two[1]]
	whole, known := m.vocabulary[two[0]+strings.TrimPrefix(two[1], m.prefix)]
	if !knownA || !knownB || !known {
		return errors.New("found a symbol that is not in the vocabulary, expected both and the one that they make")
	}
	m.joins[[2]int32{a, b}] = join{rank, whole}
	return nil
}

func (m *pairs) tokens(to []int32, word string) []int32 {
	if id, known := m.vocabulary[word]; m.whole && known {
		return append(to, id)
	}
	return m.joined(to, m.symbols(word))
}

// symbols returns the tokens of the characters of a word.
func (m *pairs) symbols(word string) (s []int32) {
	held := false // a character that is unknown, which is not in s yet
	flush := func() {
		if held {
			s, held = append(s, m.unknown), false
		}
	}
	for i, r := range word {
		end := i + utf8.RuneLen(r)
		text := word[i:end]
		if i > 0 {
			text = m.prefix + text
		}
		if end == len(word) {
			text += m.suffix
		}
		id, known := m.vocabulary[text]
		if known {
			flush()
			s = append(s, id)
			continue
		}
		if m.byteFallback {
			if all, ok := m.ofBytes(s, text); ok {
				s = all
				continue
			}
		}
		if m.unknown >= 0 {
			if !m.fuseUnknown {
				flush()
			}
			held = true
		}
	}
	flush()
	return s
}

// candidate is a pair of symbols that could be joined, by the place of the first one.
type candidate struct {
	join
	at int
}

// candidates is a heap: what the file joins first, and of equal ones the first in the word.
type candidates []candidate

func (c candidates) Len() int { return len(c) }
func (c candidates) Less(i, j int) bool {
	return c[i].rank < c[j].rank || c[i].rank == c[j].rank && c[i].at < c[j].at
}
func (c candidates) Swap(i, j int) { c[i], c[j] = c[j], c[i] }
func (c *candidates) Push(x any)   { *c = append(*c, x.(candidate)) }
func (c *candidates) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}

// joined appends the symbols after all joins, in time n·log(n).
func (m *pairs) joined(to, symbols []int32) []int32 {
	n := len(symbols)
	next, before := make([]int, n), make([]int, n) // the places of neighbours; n and -1 at the ends
	for i := range symbols {
		next[i], before[i] = i+1, i-1
	}
	var queue candidates
	consider := func(at int) {
		if at < 0 || next[at] >= n {
			return
		}
		if j, ok := m.joins[[2]int32{symbols[at], symbols[next[at]]}]; ok {
			heap.Push(&queue, candidate{j, at})
		}
	}
	for i := range symbols {
		consider(i)
	}
	for len(queue) > 0 {
		c := heap.Pop(&queue).(candidate)
		if symbols[c.at] < 0 || next[c.at] >= n {
			continue // it is part of another one, or the last
		}
		gone := next[c.at]
		if j, ok := m.joins[[2]int32{symbols[c.at], symbols[gone]}]; !ok || j.id != c.id {
			continue // another pair stands there now
		}
		symbols[c.at], symbols[gone] = c.id, -1
		if next[c.at] = next[gone]; next[c.at] < n {
			before[next[c.at]] = c.at
		}
		consider(before[c.at])
		consider(c.at)
	}
	for _, s := range symbols {
		if s >= 0 {
			to = append(to, s)
		}
	}
	return to
}
