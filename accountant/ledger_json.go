package accountant

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// The keys of an entry, part of the format of ledgers on disk like the keys of events.
const (
	keyEvent = "event"
	keyCount = "count"
)

// MarshalJSON writes the ledger as a list of {"event": …, "count": n}, the events
// as MarshalEvent writes them. An empty ledger is [].
func (l *Ledger) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('[')
	for i, entry := range l.entries {
		event, err := MarshalEvent(entry.Event)
		if err != nil {
			return nil, fmt.Errorf("ledger entry %d: %w", i, err)
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{%q:%s,%q:%d}`, keyEvent, event, keyCount, entry.Count)
	}
	b.WriteByte(']')
	return b.Bytes(), nil
}

// UnmarshalJSON reads what MarshalJSON writes, as strictly as UnmarshalEvent: counts are whole
// numbers of at least 1 without exponent. After an error the ledger is as it was.
func (l *Ledger) UnmarshalJSON(data []byte) error {
	if !bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("[")) {
		return fmt.Errorf("%w: ledger is %.20q, want a list of entries", ErrInvalid, data)
	}
	var items []json.RawMessage
	if err := json.Unmarshal(data, &items); err != nil {
		return fmt.Errorf("%w: ledger: %w", ErrInvalid, err)
	}
	var read Ledger
	for i, item := range items {
		if err := read.readEntry(item); err != nil {
			return fmt.Errorf("ledger entry %d: %w", i, err)
		}
	}
	*l = read
	return nil
}

func (l *Ledger) readEntry(data []byte) error {
	o, err := readObject(data, keyEvent, keyCount)
	if err != nil {
		return err
	}
	event, err := UnmarshalEvent(o.Get(keyEvent))
	if err != nil {
		return err
	}
	count, err := strconv.Atoi(string(o.Get(keyCount)))
	if err != nil || count < 1 {
		return fmt.Errorf("%w: count is %.40s, want a whole number of at least 1", ErrInvalid, o.Get(keyCount))
	}
	return l.Add(event, count)
}
