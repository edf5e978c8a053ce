package data

import (
	"slices"
	"strings"

	"dpsgd/internal/kernel"
)

// The set "sentences" needs no files: the program draws its texts. Each praises a thing by one
// adjective and denies another one of the other sort ("the film was not dull but quite clever"), and
// its class is the sort of the one that holds. Both sorts stand in every text, and all words are as
// frequent in either class, so only their order tells the class: a bag of words tells nothing.
//
// A text depends on the seed, its part and its number alone, on every platform. Seeds are public.
var drawnSentences = Dataset{
	Name: "sentences", Doc: "drawn by the program itself; the order of words matters", Drawn: true, Aliases: []string{"text", "texts"},
	Shape: Sequence(12, len(sentenceWords)+1), Classes: []string{"bad", "good"},
	Train: 20000, Test: 2000, Words: sentenceWords,
	Load: func(set *Dataset, _ string, seed uint64) (*Split, error) {
		return splitOf("", func(part int) (*Texts, error) {
			n := [2]int{set.Train, set.Test}[part]
			labels, texts := make([]uint8, n), make([]string, n)
			_ = kernel.Each(n, func(i int) error { // which does not fail
				texts[i], labels[i] = Sentence(seed, part, i)
				return nil
			})
			return NewTexts(wordList(set.Words), set.Shape.Length(), set.Classes, labels, texts)
		})
	},
}

// The words of the sentences.
var (
	things  = []string{"film", "book", "meal", "room", "song", "trip", "game", "talk"}
	praises = [2][]string{
		{"dull", "bland", "noisy", "slow", "cheap", "stale"},
		{"clever", "tasty", "calm", "lively", "fresh", "bright"},
	}
	degrees   = []string{"very", "quite", "rather", "truly"}
	sentences = []string{"the T was not D but H", "the T was H , not D", "not D but H was the T", "H , and not D , was the T"}

	sentenceWords = slices.Concat([]string{"the", "was", "not", "but", "and", ","}, things, praises[0], praises[1], degrees)
)

// Sentence returns text i of a part (0 is training, 1 is test) and its class.
func Sentence(seed uint64, part, i int) (text string, label uint8) {
	var d dice
	stream := scramble(seed ^ scramble(uint64(part+1)) ^ scramble(0x73656e74))
	d.pcg.Seed(stream, scramble(stream+uint64(i)))
	label = uint8(d.below(2))
	said := func(sort uint8) string {
		word := praises[sort][d.below(len(praises[sort]))]
		if d.below(3) == 0 {
			word = degrees[d.below(len(degrees))] + " " + word
		}
		return word
	}
	form := sentences[d.below(len(sentences))]
	return strings.NewReplacer("T", things[d.below(len(things))], "D", said(1-label), "H", said(label)).Replace(form), label
}
