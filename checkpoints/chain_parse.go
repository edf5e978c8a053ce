package checkpoints

import (
	"bytes"
	"fmt"
	"io"
	"strconv"

	"dpsgd/accountant"
)

// parseHeader begins the chain with line 1, without its newline.
func (c *chain) parseHeader(line []byte) error {
	rest, registered := bytes.CutPrefix(line, []byte(headerRegistered))
	if !registered {
		var alone bool
		if rest, alone = bytes.CutPrefix(line, []byte(headerAlone)); !alone {
			return fmt.Errorf("found %.60q, expected the header %s…", line, headerRegistered)
		}
	}
	rest, ended := bytes.CutSuffix(rest, []byte(headerEnd))
	run, datasets, named := bytes.Cut(rest, []byte(headerDatasets))
	if !ended || !isHex(run, runSize) || named != registered || registered && !isHex(datasets, runSize) {
		return fmt.Errorf("found %.160q, expected identifiers of %d hexadecimal digits", line, 2*runSize)
	}
	c.run, c.datasets, c.head = string(run), string(datasets), digestOf(line)
	c.note()
	return nil
}

// parse returns the record in one of the other lines, without its newline, and checks that it
// continues the chain. It does not add the record.
func (c *chain) parse(line []byte) (record, error) {
	if len(line) < len(stepKey)+1+len(eventKey)+noncePart+linkPart || !bytes.HasPrefix(line, []byte(stepKey)) {
		return record{}, fmt.Errorf("found %.60q, expected an entry %s…", line, stepKey)
	}
	content, hash, err := unlink(line, c.head)
	if err != nil {
		return record{}, err
	}
	split := len(content) - noncePart
	nonce, key := bytes.CutPrefix(content[split:], []byte(nonceKey))
	if nonce, ended := bytes.CutSuffix(nonce, []byte(`"`)); !key || !ended || !isHex(nonce, nonceSize) {
		return record{}, fmt.Errorf("found %.40q, expected %s and %d hexadecimal digits", content[split:], nonceKey, 2*nonceSize)
	}
	digits, text, ok := bytes.Cut(content[len(stepKey):split], []byte(eventKey))
	step, err := strconv.Atoi(string(digits))
	if !ok || err != nil || strconv.Itoa(step) != string(digits) {
		return record{}, fmt.Errorf("found step %.40q, expected a number and an event", digits)
	}
	if err := c.checkStep(step); err != nil {
		return record{}, err
	}
	if c.eventText == nil || !bytes.Equal(text, c.eventText) {
		event, err := accountant.UnmarshalEvent(text)
		if err != nil {
			return record{}, err
		}
		c.event, c.eventText = event, bytes.Clone(text)
	}
	return record{step, c.event, hash}, nil
}

// unlink checks a line's hashes, given the hash of the line above (head), and cuts them off.
func unlink(line []byte, head digest) (content []byte, hash digest, err error) {
	split, end := len(line)-linkPart, len(line)-hashPart
	if split < 0 {
		return nil, hash, fmt.Errorf("found %.60q, expected a line that ends with its hashes", line)
	}
	hash = digestOf(line[:end])
	if want := previousKey + head.String() + `"`; string(line[split:end]) != want {
		return nil, hash, fmt.Errorf("found previous hash %q, expected %s (a line is missing or was changed)", line[split:end], want)
	}
	if want := hashKey + hash.String() + recordEnd; string(line[end:]) != want {
		return nil, hash, fmt.Errorf("found hash %q, expected %s from the content of the line", line[end:], want)
	}
	return line[:split], hash, nil
}

// isHex reports whether b is size bytes in lower-case hexadecimal.
func isHex(b []byte, size int) bool {
	return len(b) == 2*size && len(bytes.Trim(b, "0123456789abcdef")) == 0
}

// read adds what a ledger file says to an empty chain, up to the given number of entries, or to the
// file's end if limit is negative.
func (c *chain) read(r io.Reader, limit int) (extent, error) {
	return readLines(r, 1, maxLine, []string{stepKey}, func(number int, content []byte) error {
		if err := c.addLine(number, content); err != nil {
			return err
		}
		if limit >= 0 && c.entries >= limit {
			return errEnough
		}
		return nil
	})
}

func (c *chain) addLine(number int, content []byte) error {
	if number == 1 {
		return c.parseHeader(content)
	}
	r, err := c.parse(content)
	if err != nil {
		return err
	}
	return c.add(r)
}
