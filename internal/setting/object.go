package setting

import (
	"bytes"
	"encoding/json"
)

// Object is a JSON object that keeps the order of its members: keys and values in turn.
type Object []any

// MarshalJSON writes the members in their order.
func (o Object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for i, v := range o {
		switch {
		case i%2 == 1:
			b.WriteByte(':')
		case i > 0:
			b.WriteByte(',')
		}
		if err := e.Encode(v); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
