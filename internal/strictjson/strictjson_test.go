package strictjson

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// An object comes back as it was written, but for space between its fields.
func TestReadKeepsTheText(t *testing.T) {
	const text = ` {"b": 1.50e3, "a":[ 1,2 ],"B":null,"a":"\u0061"} `
	o, err := Read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(o)
	if want := `{"b":1.50e3,"a":[1,2],"B":null,"a":"\u0061"}`; err != nil || string(again) != want {
		t.Errorf("found %s (%v), expected %s", again, err, want)
	}
	if string(o.Get("B")) != "null" || o.Get("c") != nil || len(o.Without("a")) != 2 {
		t.Errorf("found %q, %q and %v", o.Get("B"), o.Get("c"), o.Without("a"))
	}
	if err := o.Distinct(); err == nil || !strings.Contains(err.Error(), `"a" twice`) {
		t.Errorf("found %v, expected an error that names the key", err)
	}
	if err := o.Without("a").Distinct(); err != nil {
		t.Errorf("found %v, expected none: keys differ by their case", err)
	}
}

func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"": `found "", expected a JSON object`, "null": "expected a JSON object", "[1]": "expected a JSON object", strings.Repeat("x", 60): "…, expected",
		"{": "unexpected EOF", `{"a":`: "unexpected EOF", `{"a":1,}`: "found no JSON object", `{a:1}`: "found no JSON object", `{"a":01}`: "found no JSON object",
		"{}{}": ErrMore.Error(), "{} x": ErrMore.Error(),
	} {
		if _, err := Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, ErrMore) != strings.HasPrefix(text, "{}") {
			t.Errorf("%q: found %v, expected %q", text, err, want)
		}
	}
	for _, value := range []string{"", "1", "null", `["a"]`} {
		if text, ok := Text([]byte(value)); ok {
			t.Errorf("%s: found the text %q, expected none", value, text)
		}
	}
}
